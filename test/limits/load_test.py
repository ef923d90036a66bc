#!/usr/bin/env python3
"""Many clients at once: every kind of request over a thousand connections, and ten thousand that say nothing.

No request may fail, rows that were acknowledged are there at the end, memory and descriptors are bounded and come back. Prints the
99th percentile of each kind of request; nothing is asserted about times.

    load_test.py [--nightly] [--connections N] [--seconds S] [--preset P]
"""
import argparse, asyncio, collections, json, os, random, resource, struct, time, urllib.parse

from lib.checks import Suite, ensure
from lib.pgclient import bind, execute, msg, parse, query, startup, SYNC
from lib.server import Server

MB = 1 << 20
SYMBOLS = [f"S{i:02}" for i in range(40)]


# ------------------------------------------------------------------------------------------------------ clients
class Client:
    """One connection that is opened anew now and then; `once` is one request, its kind the class's name."""
    rows = 0  # acknowledged

    def __init__(self, world, number):
        self.world, self.number, self.random, self.left, self.writer = world, number, random.Random(number), 0, None

    async def run(self, until, think):
        await asyncio.sleep(self.random.random() * think)
        while time.monotonic() < until:
            if self.left == 0:
                await self.close()
                await self.open()
                self.left = self.random.randrange(20, 200)
            self.left -= 1
            start = time.perf_counter()
            await asyncio.wait_for(self.once(), 60)
            self.world.seen[type(self).__name__].append(time.perf_counter() - start)
            await asyncio.sleep(think * (0.5 + self.random.random()))
        await self.close()

    async def connect(self, address):
        host, port = address.rsplit(":", 1)
        self.reader, self.writer = await asyncio.open_connection(host, int(port), limit=4 * MB)

    async def close(self):
        if self.writer is not None:
            self.writer.close()
            try:
                await self.writer.wait_closed()
            except OSError:
                pass
            self.writer = None


class Http(Client):
    async def open(self):
        await self.connect(self.world.server.http)

    async def ask(self, method, path, body=b""):
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n" + (f"Content-Length: {len(body)}\r\n" if method == "POST" else "") + "\r\n"
        self.writer.write(head.encode() + body)
        status = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        fields = {k.lower(): v for k, v in (line.split(": ", 1) for line in status.split("\r\n")[1:-2])}
        out = b""
        if fields.get("transfer-encoding") == "chunked":
            while True:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
                piece = await self.reader.readexactly(size + 2)
                if size == 0:
                    break
                out += piece[:-2]
        else:
            out = await self.reader.readexactly(int(fields.get("content-length", 0)))
        code = int(status.split(" ", 2)[1])
        ensure(code in (200, 204), f"{path[:200]}: {status.splitlines()[0]} {out[:300]!r}")
        return out

    async def sql(self, text, **more):
        return json.loads(await self.ask("GET", "/exec?" + urllib.parse.urlencode({"query": text, **more})))["dataset"]


class HttpPoint(Http):
    async def once(self):
        s = self.random.choice(SYMBOLS)
        rows = await self.sql(f"select ts, symbol, price from seed where symbol = '{s}' order by ts desc limit 5")
        ensure(len(rows) == 5 and all(r[1] == s for r in rows), f"{s}: {rows}")


class HttpAggregate(Http):
    async def once(self):
        rows = await self.sql("select ts, count(), avg(price) from seed sample by 1h")
        ensure(sum(r[1] for r in rows) == self.world.seed_rows, "the sum of the samples")


class HttpExport(Http):
    async def once(self):
        out = await self.ask("GET", "/exp?" + urllib.parse.urlencode({"query": "select * from seed", "limit": "5000", "nm": "true"}))
        ensure(out.count(b"\r\n") == 5000, "lines of the export")


class HttpLines(Http):
    async def once(self):
        now = time.time_ns()
        body = "".join(f"load,symbol={self.random.choice(SYMBOLS)} price={i}.5,who={self.number}i {now + i * 1000}\n" for i in range(20))
        await self.ask("POST", "/write", body.encode())
        Client.rows += 20


class Wire(Client):
    async def open(self):
        await self.connect(self.world.server.pg)
        self.writer.write(startup([("user", "admin"), ("database", "qdb")]))
        kind, body = await self.read()
        ensure(kind == "R" and body == struct.pack("!I", 3), f"login: {kind} {body!r}")
        self.writer.write(msg(b"p", b"quest\0"))
        await self.answer()
        await self.prepare()

    async def prepare(self):
        pass

    async def read(self):
        head = await self.reader.readexactly(5)
        return chr(head[0]), await self.reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)

    async def answer(self):
        """Messages up to ReadyForQuery."""
        out = collections.Counter()
        while True:
            kind, body = await self.read()
            ensure(kind != "E", f"{body!r}")
            out[kind] += 1
            if kind == "Z":
                return out


class PgSimple(Wire):
    async def once(self):
        self.writer.write(query(f"select count() from seed where symbol = '{self.random.choice(SYMBOLS)}'; select 1"))
        seen = await self.answer()
        ensure(seen["D"] == 2, f"{seen}")


class PgPrepared(Wire):
    async def prepare(self):
        self.writer.write(parse("p", "select ts, price from seed where symbol = $1 and price > $2 limit 10", [1043, 701]) + SYNC)
        await self.answer()

    async def once(self):
        self.writer.write(bind(statement="p", values=[self.random.choice(SYMBOLS).encode(), b"10.5"]) + execute() + SYNC)
        seen = await self.answer()
        ensure(seen["D"] == 10, f"{seen}")


class PgInsert(Wire):
    async def prepare(self):
        self.writer.write(parse("i", "insert into load values ($1, $2, $3, $4)", [1043, 701, 20, 20]) + SYNC)
        await self.answer()

    async def once(self):
        values = [self.random.choice(SYMBOLS).encode(), b"1.5", str(self.number).encode(), str(time.time_ns() // 1000).encode()]
        self.writer.write(bind(statement="i", values=values) + execute() + SYNC)
        await self.answer()
        Client.rows += 1


class PgTransaction(Wire):
    async def once(self):
        ends = self.random.choice(("commit", "commit", "rollback"))
        for text in ("begin", *[f"insert into load values ('S01', {i}, {self.number}, {time.time_ns() // 1000})" for i in range(3)], ends):
            self.writer.write(query(text))
            await self.answer()
        Client.rows += 3 * (ends == "commit")


MIX = [(HttpPoint, 25), (HttpAggregate, 4), (HttpExport, 3), (HttpLines, 10), (PgSimple, 18), (PgPrepared, 25), (PgInsert, 11), (PgTransaction, 4)]


# --------------------------------------------------------------------------------------------------------- load
class World:
    def __init__(self, server):
        self.server, self.seen, self.memory, self.seed_rows = server, collections.defaultdict(list), [], 200_000

    def fill(self):
        s = self.server
        s.exec("create table seed (symbol symbol, price double, ts timestamp) timestamp(ts) partition by day")
        s.exec(f"insert into seed select 'S' || lpad((x % {len(SYMBOLS)})::string, 2, '0'), (x % 1000)::double, dateadd('s', x::int, '2026-01-01') from long_sequence({self.seed_rows})")
        s.exec("create table load (symbol symbol, price double, who long, timestamp timestamp) timestamp(timestamp) partition by day")

    async def watch(self, until):
        while time.monotonic() < until:
            self.memory.append(self.server.resident_bytes()[1])
            await asyncio.sleep(0.5)


async def all_clients(world, connections, seconds, think):
    until = time.monotonic() + seconds
    total = sum(n for _, n in MIX)
    kinds = [kind for kind, n in MIX for _ in range(max(1, round(n * connections / total)))]
    async with asyncio.TaskGroup() as group:
        group.create_task(world.watch(until))
        for i, kind in enumerate(kinds):
            group.create_task(kind(world, i).run(until, think))


def descriptors(s):
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def settle(s, want, what, seconds=30):
    """Until descriptors are as few as before: connections end a moment after their clients."""
    end = time.monotonic() + seconds
    while descriptors(s) > want + 8:
        ensure(time.monotonic() < end, f"{what}: {descriptors(s)} descriptors, {want} before")
        time.sleep(0.1)


def mixed_load(s, connections, seconds):
    world = World(s)
    world.fill()
    before = descriptors(s)
    # a request a second of each connection is what the client of one process can ask for
    asyncio.run(all_clients(world, connections, seconds, max(0.2, connections / 1000)))
    counted = s.rows("select count() from load")[0][0]
    ensure(counted == Client.rows, f"{Client.rows} rows were acknowledged, {counted} are there")
    settle(s, before, "after the load")
    for kind, took in world.seen.items():
        took.sort()
        print(f"{kind:16}{len(took):8} requests  p50 {took[len(took) // 2] * 1e3:7.2f} ms  p99 {took[int(len(took) * 0.99)] * 1e3:8.2f} ms  longest {took[-1] * 1e3:8.2f} ms")
    first, last = world.memory[len(world.memory) // 3], world.memory[-1]
    print(f"anonymous memory: {max(world.memory) // MB} MB at most, {first // MB} after a third, {last // MB} at the end; {Client.rows} rows written")
    ensure(max(world.memory) < 768 * MB, f"memory: {max(world.memory) // MB} MB")
    ensure(last < first + 128 * MB, f"memory grew from {first // MB} to {last // MB} MB")


# --------------------------------------------------------------------------------------------------------- idle
async def open_all(kind, world, count):
    clients = [kind(world, i) for i in range(count)]
    for i in range(0, count, 200):
        await asyncio.gather(*(c.open() for c in clients[i:i + 200]))
    for i in range(0, count, 200):
        await asyncio.gather(*(c.once() for c in clients[i:i + 200]))
    return clients


async def idle_connections(s, count):
    world, everybody, before = World(s), [], descriptors(s)
    for kind in (HttpPoint, PgPrepared):
        anonymous = s.resident_bytes()[1]
        everybody += await open_all(kind, world, count // 2)
        ensure(descriptors(s) >= before + len(everybody) - 8, f"{descriptors(s)} descriptors")
        for _ in range(20):  # what they used goes back to the system by and by, later where other work takes the processors
            await asyncio.sleep(1)
            each = (s.resident_bytes()[1] - anonymous) / (count // 2)
            if each < 24 << 10:
                break
        print(f"{count // 2} idle connections of {kind.__name__}: {each / 1024:.1f} kB each")
        ensure(each < 32 << 10, f"an idle connection of {kind.__name__} takes {each / 1024:.0f} kB")
    start = time.perf_counter()
    await asyncio.gather(*(c.once() for c in everybody[::count // 100]))  # they are alive
    print(f"100 of {len(everybody)} idle ones at once: {(time.perf_counter() - start) * 1e3:.1f} ms")
    await asyncio.gather(*(c.close() for c in everybody))
    await asyncio.to_thread(settle, s, before, "after the idle ones")


async def beyond_the_limit(s, count):
    """With limits as they come, all but a few are refused, each with the reason."""
    before = descriptors(s)

    async def one(address, said):
        host, port = address.rsplit(":", 1)
        r, w = await asyncio.open_connection(host, int(port))
        try:
            if address == s.pg:
                w.write(startup([("user", "admin"), ("database", "qdb")]))
            said.append(await asyncio.wait_for(r.read(400), 1))
        except (asyncio.TimeoutError, ConnectionError):
            said.append(b"")
        return w

    for address, reason in ((s.http, b"503"), (s.pg, b"53300")):
        said, open_ones = [], []
        for i in range(0, count // 2, 100):
            open_ones += await asyncio.gather(*(one(address, said) for _ in range(100)))
        refused = sum(reason in text for text in said)
        print(f"{len(said)} connections where some hundred may be: {refused} refused with {reason.decode()}")
        ensure(refused > count // 2 - 400, f"{refused} of {len(said)} refused with {reason!r}")
        for w in open_ones:
            w.close()
        await asyncio.to_thread(settle, s, before, "after those beyond the limit")


def checks(o):
    many = {"ALMANAC_PG_AUTH_CLEARTEXT": "true", "ALMANAC_PG_NET_CONNECTION_LIMIT": "20000", "ALMANAC_HTTP_NET_CONNECTION_LIMIT": "20000"}
    yield "mixed_load", many, lambda s: (mixed_load(s, o.connections, o.seconds))
    yield "idle_connections", many, lambda s: (World(s).fill(), asyncio.run(idle_connections(s, o.idle)))
    yield "beyond_the_limit", {}, lambda s: asyncio.run(beyond_the_limit(s, 4000 if o.nightly else 1200))


def add_options(parser):
    parser.add_argument("--connections", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--idle", type=int)


def with_server(check, env, preset):
    with Server(preset=preset, env=env) as s:
        check(s)


def main():
    suite = Suite(__doc__, add=add_options)
    o = argparse.Namespace(**vars(suite.o))
    o.connections = o.connections or (1000 if o.nightly else 200)
    o.seconds = o.seconds or (300 if o.nightly else 8)
    o.idle = o.idle or (10_000 if o.nightly else 2000)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit < o.idle + 500:
        print(f"only {limit} descriptors: {o.idle} idle connections are {limit - 500}")
        o.idle = limit - 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for name, env, check in checks(o):
        if suite.wants(name):
            suite.one(name, with_server, check, env, o.preset)
    suite.close()


if __name__ == "__main__":
    main()
