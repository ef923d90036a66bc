// The driver matrix over postgres.js: node check.mjs SCENARIO [CHECK...]; SCENARIO is ../scenario.mjs.
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import postgres from "postgres";

const S = await import(process.argv[2]);
const { prefix, equal, refused, SLOW } = S;
// a timestamp has no zone and more digits than a Date: it stays a text
const timestamp = { to: 1184, from: [1114], serialize: (x) => (x instanceof Date ? x.toISOString() : x), parse: (x) => x };

/** A client of so many connections for the length of a function. */
async function using(body, options = {}) {
  const sql = postgres({ ssl: false, max: 1, onnotice: () => {}, types: { timestamp }, ...options });
  try {
    return await body(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Several statements in one text, one after the other. */
const all = async (sql, statements) => {
  for (const text of statements) await sql.unsafe(text);
};
/** The first column of a statement with $1 ... */
const values = async (sql, text, params = [], options = {}) => (await sql.unsafe(text, params, options).values()).map((row) => row[0]);

async function connect() {
  await using(async (sql) => {
    equal(Number((await sql`show server_version`)[0].server_version.split(".")[0]) >= 14, true, "server_version");
    equal(sql.parameters?.server_version !== "", true, "parameters of the server");
  });
  await refused("28P01", "a wrong password", using((sql) => sql`select 1`, { password: "wrong" }));
  await refused("28P01", "an unknown user", using((sql) => sql`select 1`, { user: "nobody" }));
}

async function tls() {
  const ca = readFileSync(process.env.PGSSLROOTCERT, "utf8");
  for (const ssl of ["require", "prefer", "allow", { ca }])
    await using(async (sql) => equal(await values(sql, "select sum(x)::int from long_sequence(1000)"), [500500], "over TLS"), { ssl });
  const e = await using((sql) => sql`select 1`, { ssl: "verify-full" }).then(() => ({}), (error) => error);
  equal(["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"].includes(e.code), true, `another authority (${e.code})`);
}

async function select() {
  await using(async (sql) => {
    const r = await sql`select 1 a, 'it''s \\ \u00fc \u{1F600}' b, null c, 1.5 d, true e`;
    equal([...r], [{ a: 1, b: "it's \\ \u00fc \u{1F600}", c: null, d: 1.5, e: true }], "a row");
    equal([r.command, r.count, r.columns.map((c) => c.name).join("")], ["SELECT", 1, "abcde"], "names");
    equal([...(await sql`select x from long_sequence(0)`)], [], "no rows");
    const two = await sql`select 1 a; select 2 b`.simple();
    equal(two.map((one) => [...one]), [[{ a: 1 }], [{ b: 2 }]], "two results");
    equal([...(await sql`select 1, 2`.values())], [[1, 2]], "rows as arrays");
    equal(String((await sql`select 'a', 1`.raw())[0]), "a,1", "rows as bytes");
  });
}

/** How a value is given to the driver: an array of numbers by its type, as it takes one with a null at its head for texts. */
const given = (sql, value) => (Array.isArray(value) ? sql.array(value, 701) : value);

/** The driver reads a null in an array as NaN. */
const nan = (value) => (Array.isArray(value) ? value.map(nan) : Number.isNaN(value) ? null : value);

async function types() {
  for (const prepare of [true, false])
    await using(async (sql) => {
      await all(sql, [`drop table if exists ${S.table}`, S.create]);
      for (let row = 0; row < 3; row++) await sql.unsafe(S.insert, [row, ...S.COLUMNS.map((k) => given(sql, k[3][row]))], { prepare });
      const r = await sql`select * from ${sql(S.table)} order by n`;
      equal(r.columns.slice(1).map((c) => c.type), S.COLUMNS.map((k) => k[2]), "types of columns");
      r.forEach((got, row) => S.COLUMNS.forEach(([name, type, , v]) => equal(nan(got[name]), v[row], `${type} of row ${row}`)));
      for (const [name, type, , v] of S.COLUMNS.filter((k) => !S.NOT_COMPARED.includes(k[1])))
        for (let row = 0; row < 3; row++)
          equal(await values(sql, `select n from ${S.table} where ${name} = $1`, [v[row]], { prepare }), [row], `where ${type} = ${v[row]}`);
    }, { prepare });
  await using(async (sql) => {
    const at = new Date("1969-07-20T20:17:40.123Z");
    await sql`insert into ${sql(S.table)} ${sql({ n: 9, ts: at, da: at, ns: at, l: -5n, de: 7.25, bo: true })}`;
    equal([...(await sql`select ts, da, ns, l, de, bo from ${sql(S.table)} where n = 9`.values())],
          [["1969-07-20 20:17:40.123000", "1969-07-20 20:17:40.123", "1969-07-20 20:17:40.123000", -5n, "7.2500", true]], "a Date, a BigInt and a number");
    equal(await values(sql, `select l from ${S.table} where n = 2`), [9223372036854775807n], "a BigInt");
  }, { types: { timestamp, bigint: postgres.BigInt } });
}

async function nulls() {
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${S.table}`, S.create]);
    await sql.unsafe(S.insert, [1, ...S.COLUMNS.map(() => null)]);
    for (const [name, type] of S.COLUMNS) equal(await values(sql, `select ${name} from ${S.table} where n = $1`, [1]), [S.nullOf(type)], `null of ${type}`);
    for (const [, type] of S.COLUMNS.filter((k) => k[1] !== "binary")) equal(await values(sql, `select $1::${type}`, [null]), [S.nullOf(type)], `null as ${type}`);
  });
}

async function parameters() {
  for (const prepare of [true, false])
    await using(async (sql) => {
      await all(sql, [`drop table if exists ${S.P}`, S.createP]);
      for (let i = 1; i <= 10; i++) await sql.unsafe(S.insertP, S.rowP(i), { prepare });
      for (let turn = 0; turn < 2; turn++)
        for (const [what, text, params, want] of S.QUERIES) equal(await values(sql, text, params, { prepare }), want, what);
      // the helpers of the driver
      equal(await values(sql, `select count()::int from ${S.P}`), [10], "rows");
      equal((await sql`select id from ${sql(S.P)} where s in ${sql(["s0", "s2"])} order by id limit ${3}`).map((r) => r.id), [2, 3, 5], "a list");
      equal((await sql`select id from ${sql(S.P)} where id = any(${[2, 4]}) order by id`).map((r) => r.id), [2, 4], "an array");
      equal((await sql`select ${sql(["id", "v"])} from ${sql(S.P)} where id = ${4}`)[0], { id: 4, v: "V4" }, "columns by name");
      equal((await sql`update ${sql(S.P)} set ${sql({ v: "new", d: 9.5 })} where id = ${4}`).count, 1, "UPDATE");
      equal((await sql`select v, d from ${sql(S.P)} where id = ${sql.typed(4, 23)}`)[0], { v: "new", d: 9.5 }, "a typed value");
    }, { prepare });
}

async function prepared() {
  const t = prefix + "prep";
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (a int, b varchar)`, `insert into ${t} values (1, 'x'), (2, 'y')`]);
    const some = (a) => sql`select b from ${sql(t)} where a = ${a}`.values();
    const star = (a) => sql`select * from ${sql(t)} where a = ${a}`.values();
    for (let i = 0; i < 100; i++) equal([...(await some(1 + (i % 2)))], [[i % 2 ? "y" : "x"]], `turn ${i}`);
    equal([...(await star(1))], [[1, "x"]], "all columns");
    const text = `select a from ${t} where b = $1`;
    equal((await sql.unsafe(text, ["x"], { prepare: true }).describe()).types, [1043], "types of a described statement");
    await all(sql, [`alter table ${t} add column z double`, `insert into ${t} values (3, 'z', 1.5)`]);
    equal([...(await some(3))], [["z"]], "the same shape after ALTER TABLE");
    // the driver sees the error, prepares anew and says nothing
    equal([...(await star(3))], [[3, "z", 1.5]], "another shape");
    await all(sql, [`drop table ${t}`, `create table ${t} (a int, b varchar)`, `insert into ${t} values (1, 'new')`]);
    equal([...(await some(1))], [["new"]], "a new table of the same shape");
    equal([...(await star(1))], [[1, "new"]], "the shape it had at first");
    await sql.begin(async (tx) => {
      const inBlock = (a) => tx`select * from ${tx(t)} where a = ${a}`.values();
      equal([...(await inBlock(1))], [[1, "new"]], "in a block");
      await using((other) => other.unsafe(`alter table ${t} add column z double`));
      await refused("0A000", "another shape in a block", inBlock(1));
    }).catch((e) => equal(e.code, "0A000", `the end of the block (${e.message})`));
    equal([...(await star(1))], [[1, "new", null]], "after the error");
  });
}

const BATCH = prefix + "batch";
const row = (i, bad) => ({ ts: new Date(Date.UTC(2024, 0, 1, 0, i)), a: i === bad ? "no number" : i, s: `t${i}` });
const count = async (sql) => (await sql`select count()::int n, sum(a)::int s from ${sql(BATCH)}`)[0];

async function batch() {
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${BATCH}`, `create table ${BATCH} (ts timestamp, a int, s varchar) timestamp(ts) partition by day`]);
    const insertMany = (bad) => sql.begin((tx) => [...Array(1000).keys()].map((i) => tx`insert into ${tx(BATCH)} ${tx(row(i, bad))}`));
    await insertMany(-1); // the driver sends them in one go
    equal(await count(sql), { n: 1000, s: 499500 }, "rows of a pipeline");
    await refused("22P02", "an error in the middle", insertMany(500));
    equal(await count(sql), { n: 1000, s: 499500 }, "nothing of a pipeline that failed");
    await sql`insert into ${sql(BATCH)} ${sql([...Array(1000).keys()].map((i) => row(i, -1)))}`;
    equal(await count(sql), { n: 2000, s: 999000 }, "many rows in one statement");
  });
}

/** The heap of the program cannot hold the million rows. */
async function fetch() {
  equal(process.execArgv.some((a) => a.startsWith("--max-old-space-size=")), true, "a bounded heap");
  await using(async (sql) => {
    const query = () => sql`select x, 'row ' || x as t, x * 0.5 as h from long_sequence(${1000000})`;
    let [n, sum] = [0, 0];
    const add = (rows) => {
      n += rows.length;
      for (const r of rows) sum += Number(r.x) + 2 * r.h;
    };
    await query().cursor(10000, add);
    equal([n, sum], [1000000, 1000001000000], "sum by a cursor");
    [n, sum] = [0, 0];
    for await (const rows of query().cursor(10000)) add(rows);
    equal([n, sum], [1000000, 1000001000000], "sum by a loop over a cursor");
    [n, sum] = [0, 0];
    await query().forEach((r) => add([r]));
    equal([n, sum], [1000000, 1000001000000], "sum row by row");
    let seen = 0;
    await query().cursor(3, (rows) => {
      seen += rows.length;
      return sql.CLOSE;
    });
    equal([seen, await values(sql, "select 1")], [3, [1]], "after a cursor that was closed early");
  });
}

async function large() {
  const t = prefix + "large";
  const text = "\u00fc0123456789abcdef".repeat(2 ** 21 / 18 + 1);
  const bytes = Buffer.from(Array.from({ length: 2 ** 21 }, (_, i) => (i * 31) % 256));
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (v varchar, s string, b binary)`]);
    await sql`insert into ${sql(t)} values (${text}, ${text}, ${bytes})`;
    const [got] = await sql`select * from ${sql(t)}`;
    equal([got.v === text, got.s === text, bytes.equals(got.b)], [true, true, true], "2 MiB");
    const rows = await sql`select x, x::varchar, x * 0.5 from long_sequence(100000)`.values();
    equal([rows.length, rows.reduce((sum, r) => sum + Number(r[0]) + Number(r[1]) + 2 * r[2], 0)], [100000, 15000150000], "100,000 rows");
  });
}

async function transaction() {
  const t = prefix + "tx";
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (a int)`]);
    const list = async () => (await sql`select a from ${sql(t)} order by a`).map((r) => r.a);
    await sql.begin(async (tx) => {
      await tx`insert into ${tx(t)} values (1)`;
      equal([(await tx`select a from ${tx(t)}`).length, await list()], [1, []], "seen by its own transaction alone");
      await tx.savepoint(async (sp) => {
        await sp`insert into ${sp(t)} values (2)`;
        throw new Error("back");
      }).catch((e) => equal(e.message, "back", "a savepoint"));
      await tx.savepoint("named", (sp) => sp`insert into ${sp(t)} values (3)`);
    });
    equal(await list(), [1, 3], "commit, savepoints");
    await sql.begin("read write", async (tx) => {
      await tx`insert into ${tx(t)} values (4)`;
      throw new Error("no");
    }).catch((e) => equal(e.message, "no", "rollback"));
    equal(await list(), [1, 3], "rollback");
    await refused("42703", "a failed block", sql.begin(async (tx) => {
      await tx`insert into ${tx(t)} values (5)`;
      await tx.unsafe(`select nope from ${t}`).catch((e) => equal(e.code, "42703", "a bad statement"));
      await tx`select 1`.catch(async (e) => {
        equal(e.code, "25P02", "a failed block");
        equal([(await tx.unsafe("commit")).command, await list()], ["ROLLBACK", [1, 3]], "COMMIT of a failed block");
        throw e;
      });
    }));
    equal(await list(), [1, 3], "nothing of it");
  }, { max: 2 });
}

async function copyIn() {
  const t = prefix + "copy_in";
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, a int, b varchar) timestamp(ts) partition by day`]);
    await pipeline(Readable.from(["2024-01-01,1,x\n2024-01-02,,\"y,", "z\"\n"]), await sql`copy ${sql(t)} from stdin csv`.writable());
    function* rows() {
      for (let i = 0; i < 50000; i++) yield `2024-01-05T00:00:00\t${i}\tmany\n`;
    }
    await pipeline(Readable.from(rows()), await sql`copy ${sql(t)} from stdin`.writable());
    async function* bad() { // an error that comes after the last row is lost in the driver
      yield "2024-01-04\tx\ty\n";
      for (let i = 0; i < 2000; i++, await S.sleep(1)) yield "2024-01-04\t1\tx\n".repeat(1000);
    }
    await refused("22P02", "a bad value", sql`copy ${sql(t)} from stdin`.writable().then((to) => pipeline(Readable.from(bad()), to)));
    equal((await sql`select count()::int n, sum(a)::int s from ${sql(t)}`)[0], { n: 50002, s: 1249975001 }, "rows after all");
  });
}

async function copyOut() {
  const t = prefix + "copy_out";
  await using(async (sql) => {
    const read = async (text) => Buffer.concat(await (await sql.unsafe(text).readable()).toArray());
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, a int, b varchar) timestamp(ts) partition by day`,
                    `insert into ${t} values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y,"z"')`]);
    equal(String(await read(`copy (select a, b from ${t}) to stdout`)), "1\tx\n\\N\ty,\"z\"\n", "text");
    equal(String(await read(`copy ${t} (a, b) to stdout with (format csv, header)`)), "a,b\n1,x\n,\"y,\"\"z\"\"\"\n", "CSV");
    const packed = await read(`copy ${t} to stdout binary`);
    await pipeline(Readable.from([packed]), await sql`copy ${sql(t)} from stdin binary`.writable());
    equal(await values(sql, `select count()::int from ${t}`), [4], "binary, back in");
    equal((await read("copy (select x from long_sequence(200000)) to stdout")).length, 1288895, "many rows");
  });
}

async function errors() {
  const notices = [];
  await using(async (sql) => {
    for (const [text, code, position] of S.ERRORS)
      for (const query of [() => sql.unsafe(text), () => sql.unsafe(text, [], { prepare: true })]) {
        const e = await refused(code, text, query());
        equal([e.severity, position ?? Number(e.position) > 0], ["ERROR", position === null ? true : e.position], `position in ${text}`);
      }
    equal(await values(sql, "select 1"), [1], "after the errors");
    const c = await sql.reserve();
    await all(c, ["begin", "begin", "rollback"]);
    c.release();
    equal(notices, ["25001"], "a warning");
  }, { onnotice: (n) => notices.push(n.code) });
}

async function cancel() {
  await using(async (sql) => {
    for (let turn = 0; turn < 3; turn++) {
      const query = sql.unsafe(SLOW);
      await Promise.all([refused("57014", "a cancelled query", query.execute()), S.sleep(200).then(() => query.cancel())]);
      equal(await values(sql, "select 1"), [1], "after the cancel");
    }
  });
}

async function timeout() {
  await using(async (sql) => {
    await sql`set statement_timeout = 200`.simple();
    await refused("57014", "SET statement_timeout", sql.unsafe(SLOW));
    equal(await values(sql, "select 1"), [1], "after the time-out");
  });
  await using(async (sql) => {
    await refused("57014", "statement_timeout at the start", sql.unsafe(SLOW));
    equal(await values(sql, "select 1"), [1], "after the time-out");
  }, { connection: { statement_timeout: 200, application_name: "checks" } });
}

async function metadata() {
  const t = prefix + "meta";
  await using(async (sql) => {
    await all(sql, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, y symbol index, de decimal(10,2), a double[]) timestamp(ts) partition by day`]);
    const described = await sql`select * from ${sql(t)} where ts > ${"2024-01-01"} and de = ${"1.5"}`.describe();
    equal([described.types.slice(0, 2).length, described.columns.map((c) => [c.name, c.type])], [2, [["ts", 1114], ["y", 1043], ["de", 1700], ["a", 1022]]], "describe");
    const columns = await sql`select column_name, data_type from information_schema.columns where table_name = ${t} order by ordinal_position`.values();
    equal([...columns].map((r) => r.join(" ")), ["ts timestamp without time zone", "y character varying", "de numeric", "a ARRAY"], "columns");
    equal([...(await sql`select 1 from information_schema.table_constraints where table_name = ${t}`)], [], "no keys");
    equal((await sql`select current_schemas(false) as s, array_agg(table_name) as t from information_schema.tables where table_name = ${t}`)[0], { s: ["public"], t: [t] }, "lists by the types of the catalogue");
  });
}

async function pool() {
  await using(async (sql) => {
    const sums = await Promise.all([...Array(8).keys()].map(async (t) => {
      let sum = 0;
      for (let i = 0; i < 100; i++) sum += (await sql`select ${t * 1000 + i}::int + 1 as n`)[0].n;
      return sum;
    }));
    equal(sums.reduce((a, b) => a + b), 100 * 28000 + 8 * 4950 + 800, "sum over all");
    for (let i = 0; i < 20; i++) await sql.begin((tx) => tx`select nope`).catch((e) => equal(e.code, "42703", "a bad statement"));
    equal((await Promise.all([...Array(16).keys()].map((i) => sql`select ${i}::int as n`))).map((r) => r[0].n), [...Array(16).keys()], "clean connections");
  }, { max: 4, idle_timeout: 1 });
}

async function timeSeries() {
  for (const prepare of [true, false])
    await using(async (sql) => {
      await all(sql, S.SERIES);
      for (let turn = 0; turn < 2; turn++)
        for (const [what, text, params, want] of S.SERIES_QUERIES) equal([...(await sql.unsafe(text, params, { prepare }).values())], want, what);
    }, { prepare });
}

const version = JSON.parse(readFileSync("node_modules/postgres/package.json", "utf8")).version;
console.log(`driver postgres.js ${version}`);
await S.runAll({ connect, tls, select, types, nulls, parameters, prepared, batch, fetch, large, transaction, copy_in: copyIn, copy_out: copyOut, errors, cancel, timeout, metadata, pool,
                 time_series: timeSeries });
