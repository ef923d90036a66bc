#!/usr/bin/env python3
"""Real trades, loaded through /imp by the documented command, against answers recorded from the
reference server (test/oracle/trades.json). The CSV files stand beside the project, in
../shared/data; where they are absent the test says so and is skipped."""
import json, subprocess, sys

from lib.answers import same_value
from lib.checks import print_again
from lib.server import Server, TOP

DATA = TOP.parent / "shared" / "data"


def check_answers(s, passed, failed, when):
    for case in json.loads((TOP / "test/oracle/trades.json").read_text()):
        got = s.exec(case["sql"])
        names = [[c["name"], c["type"]] for c in got["columns"]]
        rows = got["dataset"]
        if names == case["columns"] and len(rows) == len(case["rows"]) and all(map(same_value, rows, case["rows"])):
            passed += 1
        else:
            failed += 1
            print(f"{when}: {case['sql']}\n  got {names} {str(rows)[:300]}\n  want {case['columns']} {str(case['rows'])[:300]}")
            print_again()
    return passed, failed


def main():
    if not DATA.is_dir():
        print("skipped: data: ../shared/data is not there")
        print("0 passed, 0 failed")
        return
    passed = failed = 0
    s = Server().start()
    try:
        for table in ("btc_trades", "nasdaq_trades"):
            out = subprocess.run(["curl", "-sS", "-F", f"data=@{DATA / (table + '.csv')}",
                                  f"{s.url}/imp?name={table}&timestamp=timestamp&partitionBy=DAY&fmt=json"],
                                 capture_output=True, text=True, check=True).stdout
            report = json.loads(out)
            ok = report["status"] == "OK" and report["rowsRejected"] == 0 and all(c["errors"] == 0 for c in report["columns"])
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                print(out)
        passed, failed = check_answers(s, passed, failed, "loaded")
        s.stop()
        s.start()
        passed, failed = check_answers(s, passed, failed, "after a restart")
        s.__exit__(None, None, None)
    finally:
        if s.process is not None:
            s.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
