"""Libraries in C that are preloaded into a server under test: faults, clocks, counts. The head of each C file says what it does."""
import pathlib, struct, subprocess

HERE = pathlib.Path(__file__).resolve().parent


def preloaded(folder, source):
    """Compiles one of the C files into a folder; the path for LD_PRELOAD."""
    so = f"{folder}/{source}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", so, str(HERE / f"{source}.c"), "-ldl"], check=True)
    return so


class Clock:
    def __init__(self, d):
        self.path = pathlib.Path(d) / "clock"
        self.path.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": preloaded(d, "clock_jump"), "CLOCK_JUMP_FILE": str(self.path)}

    def jump(self, seconds):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=q", seconds))
