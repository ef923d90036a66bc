// What node's pg does with the server: node check.js HOST PORT. The last line is "node: all well".
"use strict";
const assert = require("assert");
const { Client, Pool } = require("pg");

const [host, port] = process.argv.slice(2);
const options = { host, port: Number(port), user: "admin", password: "quest", database: "qdb" };

async function types(client) {
  await client.query("drop table if exists nt");
  await client.query("create table nt (ts timestamp, bo boolean, i int, l long, d double, v varchar, y symbol index, u uuid, "
    + "de decimal(10,2), a double[]) timestamp(ts) partition by day");
  await client.query("insert into nt values ($1, $2, $3, $4, $5, $6, $7, $8, '1.25'::decimal(10,2), array[1.0, 2.5])",
    ["2024-03-01T09:00:00.123Z", true, 7, "10000000001", 1.5, "it's \u00fc", "a", "11111111-2222-3333-4444-555555555555"]);
  const { rows, fields } = await client.query("select * from nt where i = $1 and y = $2", [7, "a"]);
  assert.strictEqual(rows.length, 1);
  const r = rows[0];
  assert.strictEqual(r.bo, true);
  assert.strictEqual(r.i, 7);
  assert.strictEqual(r.l, "10000000001"); // 64 bits come as texts
  assert.strictEqual(r.d, 1.5);
  assert.strictEqual(r.v, "it's \u00fc");
  assert.strictEqual(r.u, "11111111-2222-3333-4444-555555555555");
  assert.strictEqual(r.de, "1.25");
  assert.deepStrictEqual(r.a, [1, 2.5]);
  assert.deepStrictEqual(fields.map((f) => f.dataTypeID), [1114, 16, 23, 20, 701, 1043, 1043, 2950, 1700, 1022]);
}

async function statements(client) {
  const named = { name: "by number", text: "select $1::long * 2 as twice", values: ["21"] };
  for (let turn = 0; turn < 3; turn++)
    assert.strictEqual((await client.query(named)).rows[0].twice, "42");
  await assert.rejects(client.query("select nope from nt"), (e) => e.code === "42703" && Number(e.position) === 8);
  const nulls = await client.query({ text: "select $1::double as x, null as y", values: [null], rowMode: "array" });
  assert.deepStrictEqual(nulls.rows, [[null, null]]);
  const lists = await client.query("select array_agg(v order by v) as l, current_schemas(false) as s from nt");
  assert.deepStrictEqual(lists.rows[0], { l: ["it's \u00fc"], s: ["public"] });
}

async function catalogue(client) {
  const columns = await client.query("select column_name, data_type from information_schema.columns where table_schema = $1 "
    + "and table_name = $2 order by ordinal_position", ["public", "nt"]);
  assert.strictEqual(columns.rows[6].column_name + " " + columns.rows[6].data_type, "y character varying");
  const indexes = await client.query("select i.relname as name, array_agg(a.attname::text) as columns from pg_class t "
    + "join pg_index x on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid "
    + "join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0] where t.relname = 'nt' group by i.relname");
  assert.deepStrictEqual(indexes.rows, [{ name: "nt_y_idx", columns: ["y"] }]);
}

async function main() {
  const client = new Client(options);
  await client.connect();
  await types(client);
  await statements(client);
  await catalogue(client);
  await client.end();
  const pool = new Pool({ ...options, max: 4 });
  const all = await Promise.all([...Array(20).keys()].map((i) => pool.query("select $1::int as i", [i])));
  assert.deepStrictEqual(all.map((a) => a.rows[0].i), [...Array(20).keys()]);
  await pool.end();
  console.log("node: all well");
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
