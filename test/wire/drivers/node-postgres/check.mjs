// The driver matrix over node-postgres: node check.mjs SCENARIO [CHECK...]; SCENARIO is ../scenario.mjs.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import copy from "pg-copy-streams";
import Cursor from "pg-cursor";
import QueryStream from "pg-query-stream";

const S = await import(process.argv[2]);
const { prefix, equal, refused, SLOW } = S;
pg.types.setTypeParser(1114, (text) => text); // a timestamp has no zone and more digits than a Date

/** A client for the length of a function. */
async function using(body, options = {}) {
  const client = new pg.Client({ ssl: false, ...options });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

const values = async (client, ...query) => (await client.query(...query)).rows.map((row) => Object.values(row)[0]);
const all = async (client, statements) => {
  for (const sql of statements) await client.query(sql);
};

async function connect() {
  await using(async (c) => equal(Number((await values(c, "show server_version"))[0].split(".")[0]) >= 14, true, "server_version"));
  await refused("28P01", "a wrong password", using(() => {}, { password: "wrong" }));
  await refused("28P01", "an unknown user", using(() => {}, { user: "nobody" }));
}

async function tls() {
  const ca = readFileSync(process.env.PGSSLROOTCERT, "utf8");
  for (const ssl of [{ rejectUnauthorized: false }, { ca }])
    for (const enableChannelBinding of [false, true])
      await using(async (c) => {
        equal(c.connection.stream.encrypted, true, "encrypted");
        equal(await values(c, "select sum(x)::int from long_sequence(1000)"), [500500], "over TLS");
      }, { ssl, enableChannelBinding });
  await refused("SELF_SIGNED_CERT_IN_CHAIN", "another authority", using(() => {}, { ssl: true })).catch(() =>
    refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE", "another authority", using(() => {}, { ssl: true })));
}

async function select() {
  await using(async (c) => {
    const r = await c.query("select 1 a, 'it''s \\ \u00fc \u{1F600}' b, null c, 1.5 d, true e");
    equal(r.rows, [{ a: 1, b: "it's \\ \u00fc \u{1F600}", c: null, d: 1.5, e: true }], "a row");
    equal([r.command, r.rowCount, r.fields.map((f) => f.name).join("")], ["SELECT", 1, "abcde"], "names");
    equal((await c.query("select x from long_sequence(0)")).rows, [], "no rows");
    equal((await c.query("select 1 a; select 2 b")).map((one) => one.rows), [[{ a: 1 }], [{ b: 2 }]], "two results");
    equal((await c.query({ text: "select 1, 2", rowMode: "array" })).rows, [[1, 2]], "rows as arrays");
    equal((await c.query("")).rows, [], "an empty statement");
  });
}

async function types() {
  await using(async (c) => {
    await all(c, [`drop table if exists ${S.table}`, S.create]);
    for (let row = 0; row < 3; row++) equal((await c.query(S.insert, [row, ...S.COLUMNS.map((k) => k[3][row])])).rowCount, 1, "an insert");
    const r = await c.query(`select * from ${S.table} order by n`);
    equal(r.fields.slice(1).map((f) => f.dataTypeID), S.COLUMNS.map((k) => k[2]), "types of columns");
    r.rows.forEach((got, row) => S.COLUMNS.forEach(([name, type, , v]) => equal(got[name], v[row], `${type} of row ${row}`)));
    await binary(c);
    for (const [name, type, , v] of S.COLUMNS.filter((k) => !S.NOT_COMPARED.includes(k[1])))
      for (let row = 0; row < 3; row++) equal(await values(c, `select n from ${S.table} where ${name} = $1`, [v[row]]), [row], `where ${type} = ${v[row]}`);
    await c.query(`insert into ${S.table} (n, ts, da, ns, l, de) values ($1, $2, $2, $2, $3, $4)`, [9, new Date("1969-07-20T20:17:40.123Z"), -5n, 7.25]);
    equal((await c.query({ text: `select ts, da, ns, l, de from ${S.table} where n = 9`, rowMode: "array" })).rows,
          [["1969-07-20 20:17:40.123000", "1969-07-20 20:17:40.123", "1969-07-20 20:17:40.123000", "-5", "7.2500"]], "a Date, a BigInt and a number");
    equal(await values(c, "select '2024-03-01T09:00:00.123456789Z'::timestamp_ns"), ["2024-03-01 09:00:00.123456"], "nanoseconds are cut");
  });
}

/** Results in binary. The driver takes their bytes for UTF-8, so that only values whose bytes are all below 128 arrive whole. */
async function binary(c) {
  const text = "select true a, 300::short b, 16909060 c, 4294967297 d, cast(2 as float) e, 2.0 f, 'text' g, 12.25m h where $1 = 1";
  equal((await c.query({ text, values: [1], binary: true })).rows.map((r) => ({ ...r, d: Number(r.d) })),
        [{ a: true, b: 300, c: 16909060, d: 4294967297, e: 2, f: 2, g: "text", h: 12.25 }], "binary");
}

async function nulls() {
  await using(async (c) => {
    await all(c, [`drop table if exists ${S.table}`, S.create]);
    await c.query(S.insert, [1, ...S.COLUMNS.map(() => null)]);
    for (const [name, type] of S.COLUMNS) equal(await values(c, `select ${name} from ${S.table} where n = $1`, [1]), [S.nullOf(type)], `null of ${type}`);
    for (const [, type] of S.COLUMNS.filter((k) => k[1] !== "binary")) equal(await values(c, `select $1::${type}`, [null]), [S.nullOf(type)], `null as ${type}`);
  });
}

async function parameters() {
  await using(async (c) => {
    await all(c, [`drop table if exists ${S.P}`, S.createP]);
    for (let i = 1; i <= 10; i++) await c.query(S.insertP, S.rowP(i));
    for (const [what, text, params, want] of S.QUERIES)
      for (const more of [{}, { binary: true }, { name: `parameters ${what}` }]) {
        const got = await values(c, { text, values: params, ...more });
        equal(got, want, what);
      }
  });
}

async function prepared() {
  const t = prefix + "prep";
  await using(async (c) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (a int, b varchar)`, `insert into ${t} values (1, 'x'), (2, 'y')`]);
    const some = { name: "some", text: `select b from ${t} where a = $1` };
    const star = { name: "star", text: `select * from ${t} where a = $1` };
    for (let i = 0; i < 100; i++) equal(await values(c, { ...some, values: [1 + (i % 2)] }), [i % 2 ? "y" : "x"], `turn ${i}`);
    equal((await c.query({ ...star, values: [1] })).rows, [{ a: 1, b: "x" }], "all columns");
    await all(c, [`alter table ${t} add column z double`, `insert into ${t} values (3, 'z', 1.5)`]);
    equal(await values(c, { ...some, values: [3] }), ["z"], "the same shape after ALTER TABLE");
    const e = await refused("0A000", "another shape", c.query({ ...star, values: [3] }));
    equal(e.routine, "RevalidateCachedQuery", "routine");
    equal((await c.query({ ...star, name: "star again", values: [3] })).rows, [{ a: 3, b: "z", z: 1.5 }], "prepared anew");
    await refused("26000", "a statement that was dropped", c.query("deallocate some").then(() => c.query({ ...some, values: [3] })));
    equal(await values(c, some.text, [3]), ["z"], "after the error");
  });
}

const BATCH = prefix + "batch";
const row = (i, bad) => [new Date(Date.UTC(2024, 0, 1, 0, i)), i === bad ? "no number" : i, `t${i}`];
const insertMany = (c, n, bad) => Promise.all([...Array(n).keys()].map((i) => c.query({ name: "batch", text: `insert into ${BATCH} values ($1, $2, $3)`, values: row(i, bad) })));
const count = async (c) => (await c.query(`select count()::int n, sum(a)::int s from ${BATCH}`)).rows[0];

async function batch() {
  for (const pipelined of [false, true])
    await using(async (c) => {
      await all(c, [`drop table if exists ${BATCH}`, `create table ${BATCH} (ts timestamp, a int, s varchar) timestamp(ts) partition by day`, "begin"]);
      await insertMany(c, 1000, -1);
      await c.query("commit");
      equal(await count(c), { n: 1000, s: 499500 }, "rows of a batch");
      await c.query("begin");
      await refused("22P02", "an error in the middle", insertMany(c, 1000, 500));
      await c.query("commit").catch(() => {});
      equal(await count(c), { n: 1000, s: 499500 }, "nothing of a batch that failed");
      const rows = [...Array(1000).keys()];
      await c.query(`insert into ${BATCH} values ${rows.map((i) => `($${3 * i + 1}, $${3 * i + 2}, $${3 * i + 3})`)}`, rows.flatMap((i) => row(i, -1)));
      equal(await count(c), { n: 2000, s: 999000 }, "many rows in one statement");
    }, { pipeline: pipelined });
}

/** The heap of the program cannot hold the million rows. */
async function fetch() {
  equal(process.execArgv.some((a) => a.startsWith("--max-old-space-size=")), true, "a bounded heap");
  const sql = "select x, 'row ' || x as t, x * 0.5 as h from long_sequence($1)";
  await using(async (c) => {
    const cursor = c.query(new Cursor(sql, [1000000]));
    let [n, sum] = [0, 0];
    for (let rows; (rows = await cursor.read(10000)).length > 0; n += rows.length) for (const r of rows) sum += Number(r.x) + 2 * r.h;
    equal([n, sum], [1000000, 1000001000000], "sum by a cursor");
    [n, sum] = [0, 0];
    for await (const r of c.query(new QueryStream(sql, [1000000], { batchSize: 5000, highWaterMark: 5000 }))) {
      n++;
      sum += Number(r.x) + 2 * r.h;
    }
    equal([n, sum], [1000000, 1000001000000], "sum by a stream");
    const left = c.query(new Cursor(sql, [1000000]));
    equal((await left.read(3)).map((r) => r.x), ["1", "2", "3"], "three rows");
    await left.close();
    equal(await values(c, "select 1"), [1], "after a cursor that was closed early");
  });
}

async function large() {
  const t = prefix + "large";
  const text = "\u00fc0123456789abcdef".repeat(2 ** 21 / 18 + 1);
  const bytes = Buffer.from(Array.from({ length: 2 ** 21 }, (_, i) => (i * 31) % 256));
  await using(async (c) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (v varchar, s string, b binary)`]);
    await c.query(`insert into ${t} values ($1, $2, $3)`, [text, text, bytes]);
    const [got] = (await c.query(`select * from ${t}`)).rows;
    equal([got.v === text, got.s === text, bytes.equals(got.b)], [true, true, true], "2 MiB");
    const { rows } = await c.query({ text: "select x, x::varchar, x * 0.5 from long_sequence(100000)", rowMode: "array" });
    equal([rows.length, rows.reduce((sum, r) => sum + Number(r[0]) + Number(r[1]) + 2 * r[2], 0)], [100000, 15000150000], "100,000 rows");
  });
}

async function transaction() {
  const t = prefix + "tx";
  const list = `select a from ${t} order by a`;
  await using((c) => using(async (other) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (a int)`, "begin", `insert into ${t} values (1)`]);
    equal([await values(c, list), await values(other, list)], [[1], []], "seen by its own transaction alone");
    await all(c, ["rollback", "begin", `insert into ${t} values (2)`, "savepoint s", `insert into ${t} values (3)`, "rollback to s", `insert into ${t} values (4)`, "commit"]);
    equal(await values(other, list), [2, 4], "commit, rollback, savepoint");
    await all(c, ["begin", `insert into ${t} values (5)`]);
    await refused("42703", "a bad statement", c.query(`select nope from ${t}`));
    await refused("25P02", "a failed block", c.query("select 1"));
    equal((await c.query("commit")).command, "ROLLBACK", "COMMIT of a failed block");
    equal(await values(c, list), [2, 4], "nothing of it");
  }));
}

async function copyIn() {
  const t = prefix + "copy_in";
  await using(async (c) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, a int, b varchar) timestamp(ts) partition by day`]);
    await pipeline(Readable.from(["2024-01-01,1,x\n2024-01-02,,\"y,", "z\"\n"]), c.query(copy.from(`copy ${t} from stdin csv`)));
    function* rows() {
      for (let i = 0; i < 50000; i++) yield `2024-01-05T00:00:00\t${i}\tmany\n`;
    }
    const many = c.query(copy.from(`copy ${t} from stdin`));
    await pipeline(Readable.from(rows()), many);
    equal(many.rowCount, 50000, "rows of a copy");
    await refused("22P02", "a bad value", pipeline(Readable.from(["2024-01-04\t1\tx\n2024-01-04\tx\ty\n"]), c.query(copy.from(`copy ${t} from stdin`))));
    equal((await c.query(`select count()::int n, sum(a)::int s from ${t}`)).rows, [{ n: 50002, s: 1249975001 }], "rows after all");
  });
}

async function copyOut() {
  const t = prefix + "copy_out";
  const read = async (c, sql) => Buffer.concat(await c.query(copy.to(sql)).toArray());
  await using(async (c) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, a int, b varchar) timestamp(ts) partition by day`,
                  `insert into ${t} values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y,"z"')`]);
    equal(String(await read(c, `copy (select a, b from ${t}) to stdout`)), "1\tx\n\\N\ty,\"z\"\n", "text");
    equal(String(await read(c, `copy ${t} (a, b) to stdout with (format csv, header)`)), "a,b\n1,x\n,\"y,\"\"z\"\"\"\n", "CSV");
    const packed = await read(c, `copy ${t} to stdout binary`);
    await pipeline(Readable.from([packed]), c.query(copy.from(`copy ${t} from stdin binary`)));
    equal(await values(c, `select count()::int from ${t}`), [4], "binary, back in");
    equal((await read(c, "copy (select x from long_sequence(200000)) to stdout")).length, 1288895, "many rows");
  });
}

async function errors() {
  await using(async (c) => {
    for (const [sql, code, position] of S.ERRORS)
      for (const params of [undefined, []]) {
        const e = await refused(code, sql, c.query({ text: sql, values: params, queryMode: params && "extended" }));
        equal([e.severity, position ?? Number(e.position) > 0], ["ERROR", position === null ? true : e.position], `position in ${sql}`);
      }
    equal(await values(c, "select 1"), [1], "after the errors");
    const notices = [];
    c.on("notice", (n) => notices.push(n.code));
    await all(c, ["begin", "begin", "rollback"]);
    equal(notices, ["25001"], "a warning");
  });
}

async function cancel() {
  await using(async (c) => {
    for (const by of ["request", "function"]) {
      const query = new pg.Query(SLOW);
      const done = new Promise((resolve, reject) => query.on("end", resolve).on("error", reject));
      c.query(query);
      await Promise.all([refused("57014", `a query cancelled by ${by}`, done), S.sleep(200).then(() =>
        by === "request" ? new pg.Client().cancel(c, query) : using((other) => other.query("select pg_cancel_backend($1)", [c.processID])))]);
      equal(await values(c, "select 1"), [1], "after the cancel");
    }
  });
}

async function timeout() {
  await using(async (c) => {
    await c.query("set statement_timeout = 200");
    await refused("57014", "SET statement_timeout", c.query(SLOW));
    equal(await values(c, "select 1"), [1], "after the time-out");
  });
  for (const options of [{ statement_timeout: 200 }, { options: "-c statement_timeout=200" }])
    await using((c) => refused("57014", "statement_timeout at the start", c.query(SLOW)), options);
}

async function metadata() {
  const t = prefix + "meta";
  await using(async (c) => {
    await all(c, [`drop table if exists ${t}`, `create table ${t} (ts timestamp, y symbol index, de decimal(10,2)) timestamp(ts) partition by day`]);
    const { fields } = await c.query(`select * from ${t}`);
    equal(fields.map((f) => [f.name, f.dataTypeID, f.dataTypeSize, f.dataTypeModifier, f.format]),
          [["ts", 1114, 8, -1, "text"], ["y", 1043, -1, -1, "text"], ["de", 1700, -1, 655366, "text"]], "fields of a result");
    const columns = await c.query("select column_name, data_type from information_schema.columns where table_schema = $1 and table_name = $2 order by ordinal_position", ["public", t]);
    equal(columns.rows.map((r) => Object.values(r).join(" ")), ["ts timestamp without time zone", "y character varying", "de numeric"], "columns");
    const indexes = await c.query("select i.relname as name, array_agg(a.attname::text) as columns from pg_class t join pg_index x on t.oid = x.indrelid "
      + "join pg_class i on i.oid = x.indexrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0] where t.relname = $1 group by i.relname", [t]);
    equal(indexes.rows, [{ name: `${t}_y_idx`, columns: ["y"] }], "indexes");
    equal((await c.query("select 1 from information_schema.table_constraints where table_name = $1", [t])).rows, [], "no keys");
    equal((await c.query("select current_schemas(false) as s")).rows, [{ s: ["public"] }], "a list of names");
  });
}

async function pool() {
  const p = new pg.Pool({ ssl: false, max: 4, idleTimeoutMillis: 500 });
  try {
    const sums = await Promise.all([...Array(8).keys()].map(async (t) => {
      let sum = 0;
      for (let i = 0; i < 100; i++) sum += (await p.query("select $1::int + 1 as n", [t * 1000 + i])).rows[0].n;
      return sum;
    }));
    equal(sums.reduce((a, b) => a + b), 100 * 28000 + 8 * 4950 + 800, "sum over all");
    equal([p.totalCount <= 4, p.waitingCount], [true, 0], "clients of the pool");
    const dirty = await p.connect();
    await dirty.query("begin");
    await refused("42703", "a bad statement", dirty.query("select nope"));
    dirty.release(true); // the way of this pool: a client that is not clean is thrown away
    equal((await p.query("select 1 as n")).rows, [{ n: 1 }], "a clean client");
  } finally {
    await p.end();
  }
}

async function timeSeries() {
  await using(async (c) => {
    await all(c, S.SERIES);
    for (const name of [undefined, "series"])
      for (const [what, text, params, want] of S.SERIES_QUERIES)
        equal((await c.query({ text, values: params, rowMode: "array", name: name && `${name} ${what}` })).rows, want, what);
  });
}

console.log(`driver node-postgres ${createRequire(import.meta.url)("pg/package.json").version}`);
await S.runAll({ connect, tls, select, types, nulls, parameters, prepared, batch, fetch, large, transaction, copy_in: copyIn, copy_out: copyOut, errors, cancel, timeout, metadata, pool,
                 time_series: timeSeries });
