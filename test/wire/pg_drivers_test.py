#!/usr/bin/env python3
"""pgjdbc as the system has it, with a program of its own; all other drivers: drivers/ (the matrix).

    pg_drivers_test.py [--preset NAME] [--nightly] [CHECK...]
"""
import os, pathlib, shutil, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pg_test  # noqa: E402
from pg_test import HERE, Skip, check, expect  # noqa: E402

pg_test.CHECKS.clear()
JAR = "/usr/share/java/postgresql.jar"


@check
def pgjdbc_program(s):
    if shutil.which("javac") is None or not os.path.exists(JAR):
        raise Skip("a JDK (default-jdk-headless) or pgjdbc (libpostgresql-jdbc-java) is missing")
    p = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-cp", JAR, str(HERE / "pg" / "JdbcCheck.java"), s.pg], capture_output=True, text=True, timeout=300)
    expect(p.stdout.strip().splitlines()[-1:], ["jdbc: all well"], p.stdout[-3000:] + p.stderr[-3000:])


if __name__ == "__main__":
    pg_test.main()
