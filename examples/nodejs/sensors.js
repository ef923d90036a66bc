// Sensor readings with node-postgres: a table, a batch of rows, time buckets, a large result in pieces, an error.
//
//     npm ci
//     node sensors.js
import pg from "pg";
import Cursor from "pg-cursor";

// A TIMESTAMP has no zone and is UTC; without this the driver takes it for local time.
pg.types.setTypeParser(1114, (text) => new Date(text.replace(" ", "T") + "Z"));

const client = new pg.Client({
  host: process.env.PGHOST ?? "127.0.0.1",
  port: Number(process.env.PGPORT ?? 8812),
  user: process.env.PGUSER ?? "admin",
  password: process.env.PGPASSWORD ?? "quest",
  database: process.env.PGDATABASE ?? "qdb",
});
await client.connect();

await client.query("DROP TABLE IF EXISTS node_sensors");
await client.query(`
  CREATE TABLE node_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE)
  TIMESTAMP(ts) PARTITION BY DAY`);

// A batch: many rows in one INSERT, each value a parameter.
const start = new Date("2026-01-06T10:00:00Z");
for (let at = 0; at < 3600; at += 600) {
  const rows = Array.from({ length: 600 }, (_, i) => [new Date(+start + (at + i) * 1000), `s${i % 2}`, 20 + (i % 10)]);
  const places = rows.map((_, i) => `($${3 * i + 1}, $${3 * i + 2}, $${3 * i + 3})`);
  await client.query(`INSERT INTO node_sensors VALUES ${places}`, rows.flat());
}
console.log("inserted", (await client.query("SELECT count()::int AS n FROM node_sensors")).rows[0].n, "rows");

// Buckets of time, with parameters. A name makes it a prepared statement. 64-bit numbers come as texts.
const buckets = await client.query({
  name: "buckets",
  text: "SELECT ts, count() AS n, avg(temperature) AS mean FROM node_sensors WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m",
  values: ["s1", start],
});
for (const row of buckets.rows) console.log(row.ts.toISOString(), row.n, row.mean);

// A large result in pieces: a cursor reads 10,000 rows at a time, whatever the result has.
const cursor = client.query(new Cursor("SELECT x FROM long_sequence(1000000)"));
let sum = 0;
for (let rows; (rows = await cursor.read(10000)).length > 0; ) for (const row of rows) sum += Number(row.x);
await cursor.close();
console.log("sum of a million rows:", sum);

// An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
try {
  await client.query("SELECT nope FROM node_sensors");
} catch (error) {
  console.log(error.code, error.message, "at", error.position);
}

await client.query("DROP TABLE node_sensors");
await client.end();
