"""The demo table of the documentation (tools/demo_trades.c), and its Parquet file."""
import subprocess

from lib.server import TOP

BUILD = TOP / "build" / "release"
DEMO_SCHEMA = 'schema=[{"name":"symbol","type":"SYMBOL"},{"name":"side","type":"SYMBOL"}]'


def put_demo_files(server):
    """What the cases of own_seed_parquet read: the demo table as a Parquet file, and a file that is none."""
    folder = server.root / "import"
    program = TOP / "build" / "release" / "demo_trades"
    folder.mkdir(exist_ok=True)
    if not program.exists():  # suites of another build
        subprocess.run(["./dev", "build", "release", "demo_trades"], cwd=TOP, check=True)
    with open(folder / "demo_trades.parquet", "wb") as f:
        subprocess.run([str(program), "--parquet"], check=True, stdout=f)
    (folder / "readme.txt").write_text("This is no Parquet file.\n")


def load_demo(server):
    (server.root / "import").mkdir(exist_ok=True)
    with open(server.root / "import" / "trades.parquet", "wb") as f:
        subprocess.run([str(BUILD / "demo_trades"), "--parquet"], check=True, stdout=f)
    rows = subprocess.run([str(BUILD / "demo_trades")], check=True, capture_output=True).stdout
    run = subprocess.run(["curl", "-fsS", "-o", "/dev/null", "-F", DEMO_SCHEMA, "-F", "data=@-;filename=trades",
                          f"{server.url}/imp?name=trades&timestamp=timestamp&partitionBy=DAY&forceHeader=true"],
                         input=rows, capture_output=True)
    if run.returncode:
        raise RuntimeError(f"the demo table cannot be loaded: {run.stderr.decode()}")
