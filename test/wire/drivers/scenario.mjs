// What the programs of Node share: the lines of the checks, the values of every type, statements.
import assert from "node:assert";

export const prefix = process.env.TABLE_PREFIX ?? "node_";
export const SLOW = "select sum(x % 7) from long_sequence(1000000000000)";
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** A feature that the driver does not have. */
export class None extends Error {}

/** Runs the checks, {name: function}; names on the command line: those alone. */
export async function runAll(checks, names = process.argv.slice(3)) {
  for (const [name, body] of Object.entries(checks)) {
    if (names.length > 0 && !names.includes(name)) continue;
    try {
      await body();
      console.log(`ok ${name}`);
    } catch (e) {
      const at = (e.stack ?? "").split("\n").filter((l) => l.includes("check.mjs")).map((l) => l.replace(/.*check\.mjs:(\d+).*/, "$1"));
      const text = `${e.message ?? e}${e.code ? ` [${e.code}]` : ""}`.replace(/\s+/g, " ").slice(0, 1500);
      console.log(e instanceof None ? `none ${name}: ${e.message}` : `fail ${name}: ${text} at lines ${at.join(", ")}`);
    }
  }
}

export const equal = (got, want, what) => assert.deepStrictEqual(got, want, `${what}: got ${show(got)}, want ${show(want)}`);
const show = (x) => JSON.stringify(x, (_, v) => (typeof v === "bigint" ? `${v}n` : v))?.slice(0, 300);

/** The promise must fail with this SQLSTATE; the error. */
export async function refused(code, what, promise) {
  const e = await promise.then(() => new Error("no error"), (error) => error);
  equal(e.code, code, `${what} (${e.message})`);
  return e;
}

const QUOTES = "it's \"q\" \\ \u00fc \u6f22\u5b57 \u{1F600} $1 ? -- /*";
const every = Buffer.from([...Array(256).keys()]);

/** [name, type, OID, values of three rows: usual, least, greatest]. Times are texts, as both drivers can be told to leave them. */
export const COLUMNS = [
  ["bo", "boolean", 16, [true, false, true]],
  ["b", "byte", 21, [7, -128, 127]],
  ["sh", "short", 21, [-7, -32768, 32767]],
  ["i", "int", 23, [12, -2147483647, 2147483647]],
  ["l", "long", 20, ["1099511627776", "-9223372036854775807", "9223372036854775807"]],
  ["f", "float", 700, [0.1, -3.4028235e38, 1e-45]],
  ["d", "double", 701, [0.1, -Number.MAX_VALUE, Number.MIN_VALUE]],
  ["c", "char", 1042, ["x", "\u00fc", "\u6f22"]],
  ["s", "string", 1043, [QUOTES, "", "a\nb\tc"]],
  ["v", "varchar", 1043, [QUOTES, "", "a\nb\tc"]],
  ["sy", "symbol", 1043, [QUOTES, "", "a\nb\tc"]],
  ["da", "date", 1114, ["2024-01-02 03:04:05.123", "1969-12-31 23:59:59.999", "0001-01-01 00:00:00.000"]],
  ["ts", "timestamp", 1114, ["2024-03-01 09:00:00.123456", "1969-07-20 20:17:40.000001", "9999-12-31 23:59:59.999999"]],
  ["ns", "timestamp_ns", 1114, ["2024-03-01 09:00:00.123456", "1969-07-20 20:17:40.000001", "2262-01-01 00:00:00.999999"]],
  ["u", "uuid", 2950, ["11111111-2222-3333-4444-555555555555", "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000001"]],
  ["ip", "ipv4", 1043, ["192.168.0.1", "0.0.0.1", "255.255.255.255"]],
  ["w", "long256", 1043, ["0xff", "0x01", "0x7" + "f".repeat(63)]],
  ["g", "geohash(5c)", 1043, ["u33db", "00000", "zzzzz"]],
  ["gb", "geohash(7b)", 1043, ["0110101", "0000000", "1111111"]],
  ["de", "decimal(20,4)", 1700, ["12.5000", "-9999999999999999.9999", "0.0001"]],
  ["dw", "decimal(76,10)", 1700, ["0.0000000000", `-${"9".repeat(66)}.${"9".repeat(10)}`, `${"9".repeat(66)}.${"9".repeat(10)}`]],
  ["bi", "binary", 17, [Buffer.from([0, 1, 255, 39, 92]), Buffer.alloc(0), every]],
  ["a", "double[]", 1022, [[1.5, null, -2], [], [Number.MAX_VALUE]]],
  ["m", "double[][]", 1022, [[[1, 2], [null, 4]], [[7]], [[1], [2], [3]]]],
];
export const table = prefix + "types";
export const create = `create table ${table} (n int, ${COLUMNS.map(([name, type]) => `${name} ${type}`).join(", ")})`;
export const insert = `insert into ${table} values (${[0, ...COLUMNS].map((_, i) => `$${i + 1}`).join(", ")})`;
/** The types that cannot stand in WHERE x = $1, or whose values are not unique. */
export const NOT_COMPARED = ["boolean", "binary", "double[]", "double[][]", "geohash(7b)"];
/** What null reads as. */
export const nullOf = (type) => (type === "boolean" ? false : type === "byte" || type === "short" ? 0 : null);

/** The table of the parameters: ten rows, one each hour. */
export const P = prefix + "params";
export const createP = `create table ${P} (ts timestamp, id int, n long, d double, s symbol, v varchar) timestamp(ts) partition by day`;
export const insertP = `insert into ${P} (ts, id, n, d, s, v) values ($1, $2, $3, $4, $5, upper($6))`;
export const rowP = (i) => [`2024-01-01T${String(i).padStart(2, "0")}:00:00Z`, i, i % 2 === 0 ? null : i * 10, i / 10, `s${i % 3}`, `v${i}`];
/** [what, statement, values, the ids or texts that come] */
export const QUERIES = [
  ["WHERE", `select id from ${P} where id = $1 and s = $2`, [4, "s1"], [4]],
  ["a long", `select id from ${P} where n = $1`, [50], [5]],
  ["BETWEEN", `select id from ${P} where d between $1 and $2`, [0.25, 0.45], [3, 4]],
  ["times", `select id from ${P} where ts >= $1 and ts < $2`, [new Date("2024-01-01T09:00:00Z"), "2024-01-01T12:00:00+02:00"], [9]],
  ["IN, LIMIT", `select id from ${P} where s in ($1, $2) order by id limit $3`, ["s0", "s2", 3], [2, 3, 5]],
  ["LIMIT from, to", `select id from ${P} order by id limit $1, $2`, [2, 4], [3, 4]],
  ["OFFSET", `select id from ${P} order by id limit $1 offset $2`, [2, 7], [8, 9]],
  ["ANY of integers", `select id from ${P} where id = any($1::int[]) order by id`, [[2, 4, 99]], [2, 4]],
  ["ANY of longs", `select id from ${P} where n = any($1) order by id`, [[10, 30]], [1, 3]],
  ["ANY of texts", `select id from ${P} where s = any($1) and id < $2 order by id`, [["s1", "it's, {\"x\"}"], 6], [1, 4]],
  ["casts", "select $1::int + 1", [41], [42]],
  ["a text", "select $1::varchar || 'x'", ["a"], ["ax"]],
  ["no type", "select $1", ["plain"], ["plain"]],
  ["a boolean", `select count()::int from ${P} where n is null and $1`, [true], [5]],
  ["LIKE", `select id from ${P} where v like $1 order by id`, ["V1%"], [1, 10]],
];

/** Trades of two symbols, one a minute, and quotes of one, each ten minutes. */
export const [T, Q] = [prefix + "trades", prefix + "quotes"];
export const SERIES = [
  `drop table if exists ${T}`, `drop table if exists ${Q}`,
  `create table ${T} (ts timestamp, sym symbol, price double) timestamp(ts) partition by day`,
  `create table ${Q} (ts timestamp, sym symbol, bid double) timestamp(ts) partition by day`,
  `insert into ${T} select timestamp_sequence('2024-01-01', 60000000), case when x % 2 = 0 then 'A' else 'B' end, x::double from long_sequence(240)`,
  `insert into ${Q} select timestamp_sequence('2024-01-01', 600000000), 'A', x * 10.0 from long_sequence(24)`,
];
export const SERIES_QUERIES = [
  ["SAMPLE BY", `select ts, sum(price) s, count()::int n from ${T} where ts >= $1 and ts < $2 and sym = $3 sample by 1h`,
   ["2024-01-01T01:00:00Z", "2024-01-01T03:00:00Z", "A"], [["2024-01-01 01:00:00.000000", 2730, 30], ["2024-01-01 02:00:00.000000", 4530, 30]]],
  ["LATEST ON", `select sym, price from ${T} where sym in ($1, $2) and ts < $3 latest on ts partition by sym order by sym`, ["A", "B", "2024-01-01T00:10:00Z"], [["A", 10], ["B", 9]]],
  ["ASOF JOIN", `select t.ts, t.price, q.bid from ${T} t asof join ${Q} q on (sym) where t.sym = $1 and t.ts > $2 limit $3`, ["A", "2024-01-01T00:15:00Z", 2],
   [["2024-01-01 00:17:00.000000", 18, 20], ["2024-01-01 00:19:00.000000", 20, 20]]],
];

/** [statement, SQLSTATE, position or null: any] */
export const ERRORS = [
  ["select 1 +", "42601", null], ["create tabel x (a int)", "42601", "8"], [`select * from ${prefix}nope`, "42P01", "15"],
  ["select 'it''s \u00fc', nope from long_sequence(1)", "42703", "19"], ["select cast('x1' as uuid)", "22P02", "13"],
  ["select nofunction(1)", "42883", "8"],
];
