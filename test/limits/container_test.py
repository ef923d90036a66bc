#!/usr/bin/env python3
"""In a container the limits of the container count: in a control group of 1 GB, and under limits of the process, statements that want more get an
error, the kernel kills nobody, and threads follow the quota of processors. Needs the right to make control groups, for that part."""
import http.client, json, os, pathlib, re, shutil, stat, tempfile, threading, time, urllib.request

from lib.checks import Skip, Suite, check, expect
from lib.server import Server, TOP

MB, GB = 1 << 20, 1 << 30
seconds = 8  # of load in each control group; the main program sets it


# ------------------------------------------------------------------------- control groups
class Group:
    """One control group per hierarchy that is needed; version 1 or 2, whichever has the controller here."""

    def __init__(self, memory=None, processors=None):
        self.folders, self.name = [], f"almanac-test-{os.getpid()}"
        try:
            if memory:
                self.memory = self.make("memory", {"memory.limit_in_bytes": memory}, {"memory.max": memory, "memory.swap.max": 0})
            if processors:
                self.cpu = self.make("cpu", {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": int(processors * 100000)},
                                     {"cpu.max": f"{int(processors * 100000)} 100000"})
        except OSError as e:
            self.remove()
            raise Skip(f"no control group can be made here: {e}")

    def make(self, controller, of_v1, of_v2):
        v1 = pathlib.Path("/sys/fs/cgroup") / controller
        folder = (v1 if (v1 / "cgroup.procs").exists() else pathlib.Path("/sys/fs/cgroup")) / self.name
        settings = of_v1 if folder.parent == v1 else of_v2
        if not (folder.parent / "cgroup.procs").exists():
            raise OSError("no control groups")
        if not folder.exists():
            folder.mkdir()
            self.folders.append(folder)
        for name, value in settings.items():
            if name == "memory.swap.max" and not (folder / name).exists():
                continue
            (folder / name).write_text(str(value))
        return folder

    def kills(self):
        """Processes that the kernel killed for memory."""
        for name in ("memory.oom_control", "memory.events"):
            path = self.memory / name
            if path.exists():
                return int(re.search(r"^oom_kill (\d+)", path.read_text(), re.M)[1])
        raise Skip("no count of kills")

    def peak(self):
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if (self.memory / name).exists():
                return int((self.memory / name).read_text())
        return 0

    def remove(self):
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)


class Within:
    """A server that a line of shell is run before."""

    def __init__(self, binary, before, env=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="almanac-container-"))
        program = self.folder / "almanac"
        program.write_text(f"#!/bin/sh\n{before}\nexec {binary} \"$@\"\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.server = Server(binary=program, root=self.folder / "root", log=self.folder / "log", env={"ALMANAC_METRICS_ENABLED": "true", "ALMANAC_QUERY_TEXT_BYTES_MAX": "2147483648", **(env or {})})

    def __enter__(self):
        return self.server.start()

    def __exit__(self, kind, value, trace):
        if self.server.process is not None:
            self.server.process.kill()
            self.server.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def in_group(group):
    return "\n".join(f"echo $$ > {folder}/cgroup.procs" for folder in group.folders)


def metrics(s):
    with urllib.request.urlopen(f"http://{s.health}/metrics", timeout=60) as r:
        text = r.read().decode()
    out = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            out[name] = float(value)
    return out


# Each wants gigabytes.
HUNGRY = ["select count() from (select x from long_sequence(300000000) order by x % 1000, x desc)",
          "select count() from long_sequence(90000000) a join long_sequence(90000000) b on a.x = b.x",
          "select count(), sum(c) from (select x k, count() c from long_sequence(200000000) group by k)",
          "select count_distinct(x) from long_sequence(200000000)",
          "select count() from (select x, row_number() over (partition by x % 7 order by x desc) from long_sequence(100000000))",
          "select length(string_agg(x::varchar, ',')) from long_sequence(200000000)",
          "select count() from (select distinct x from long_sequence(200000000))",
          # each step doubles the rows: memory ends it long before sql.recursion.max does
          "with recursive r as (select 1L n, rpad('x', 1000, 'y') t union all select n + 1, t || s.x from r cross join long_sequence(2) s where n < 40) select count() from r order by 1"]


def ask_all(s, n, seconds):
    """(errors of memory, other errors, answers) of n statements at a time, for so long."""
    told = {"memory": 0, "other": [], "answers": 0}
    end = time.monotonic() + seconds

    def run(i):
        while time.monotonic() < end:
            sql = HUNGRY[i % len(HUNGRY)]
            i += 3
            try:
                status, _, body = s.get("/exec", query=sql, timeout=120, headers={"Statement-Timeout": "15000"})
                text = body.decode()
                if status == 200:
                    told["answers"] += 1
                elif "memory" in text or "query.spill.max" in text:
                    told["memory"] += 1
                elif "timeout" not in text and "time limit" not in text:
                    told["other"].append(f"{sql[:60]}: {text[:200]}")
            except OSError as e:
                told["other"].append(f"{sql[:60]}: {e}")
                return

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return told


def write_meanwhile(s, seconds):
    """Rows of lines, by four writers; how many were acknowledged."""
    done, refused, end = {}, [], time.monotonic() + seconds

    def run(i):
        n = 0
        host, port = s.http.rsplit(":", 1)
        c = http.client.HTTPConnection(host, int(port), timeout=60)
        while time.monotonic() < end:
            text = "".join(f"w{i},tag=t{n % 50} x={n + k}i,y=\"{'z' * 50}\" {(n + k) * 1000000000}\n" for k in range(5000))
            c.request("POST", "/write", text)
            r = c.getresponse()
            body = r.read()
            if r.status == 204:
                n += 5000
            else:
                refused.append(f"{r.status} {body[:300]}")
        done[i] = n

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return done, refused


def one_query_is_told(s, limit):
    status, _, body = s.get("/exec", query=HUNGRY[1], timeout=120)
    text = json.loads(body).get("error", "")
    expect((status, "query.memory.max" in text, str(limit) in text), (400, True, True), text)


# -------------------------------------------------------------------------------- checks
@check
def a_group_of_1_gb(binary):
    group = Group(memory=GB)
    try:
        with Within(binary, in_group(group)) as s:
            written, refused = {}, []

            def write():
                n, told = write_meanwhile(s, seconds)
                written.update(n)
                refused.extend(told)

            writers = threading.Thread(target=write)
            writers.start()
            told = ask_all(s, 12, seconds)
            writers.join()
            expect((group.kills(), s.process.poll()), (0, None), f"the kernel; {s.tail()[-300:]}")
            expect(told["other"], [], "other errors")
            one_query_is_told(s, GB // 4)
            expect(len(written) == 4 and min(written.values()) > 0, True, f"writers {written}")
            for i, n in written.items():
                there = s.rows(f"select count() from w{i}")[0][0]
                # what was refused may be there, whole
                expect(there == n or (refused and there > n and there % 5000 == 0), True, f"writer {i}: {there} of {n}; {refused[:2]}")
            expect(metrics(s)["almanac_memory_available_bytes"], float(GB), "memory")
            expect("1024 MB of memory (cgroup)" in s.log_path.read_text(), True, s.tail())
    finally:
        group.remove()


@check
def a_group_of_256_mb(binary):
    group = Group(memory=256 * MB)
    try:
        with Within(binary, in_group(group)) as s:
            told = ask_all(s, 6, seconds / 2)
            expect((group.kills(), s.process.poll()), (0, None), f"the kernel; {s.tail()[-300:]}")
            expect(told["other"], [], "other errors")
            one_query_is_told(s, 64 * MB)
    finally:
        group.remove()


@check
def a_quota_of_processors(binary):
    group = Group(processors=1)
    try:
        with Within(binary, in_group(group)) as s:
            expect(metrics(s)["almanac_processors_available"], 1.0, "processors")
            expect(len(threads_named(s, "worker")) <= 1, True, "worker threads")
    finally:
        group.remove()


def threads_named(s, word):
    tasks = pathlib.Path(f"/proc/{s.process.pid}/task")
    return [t for t in tasks.iterdir() if word in (t / "comm").read_text()]


@check
def affinity_is_obeyed(binary):
    with Within(binary, f"command -v taskset > /dev/null && taskset -p -c {min(os.sched_getaffinity(0))} $$ > /dev/null") as s:
        expect(metrics(s)["almanac_processors_available"], 1.0, "processors")


@check
def limits_of_the_process(binary):
    with Within(binary, f"ulimit -v {4 * GB // 1024}") as s:
        told = ask_all(s, 6, seconds / 2)
        expect((s.process.poll(), told["other"]), (None, []), s.tail()[-300:])
        one_query_is_told(s, GB)
        expect(metrics(s)["almanac_memory_available_bytes"], float(4 * GB), "memory")


@check
def settings_stay_as_they_are_set(binary):
    """What somebody sets holds, whatever the machine has; what nobody sets follows the memory there is."""
    with Within(binary, f"ulimit -v {4 * GB // 1024}", {"ALMANAC_QUERY_MEMORY_MAX": "100m", "ALMANAC_STORAGE_HEAD_BYTES_MAX": "700m"}) as s:
        one_query_is_told(s, 100 * MB)


def main():
    global seconds
    suite = Suite(__doc__)
    seconds = 20 if suite.o.nightly else seconds
    suite.checks(os.path.abspath(suite.o.binary or TOP / "build/release/almanac"))
    suite.close()


if __name__ == "__main__":
    main()
