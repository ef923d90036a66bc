// Writes the same three rows by every protocol version over HTTP, and by the oldest over TCP.
// node ingest.mjs HTTP_ADDRESS TCP_ADDRESS TCP_LOGIN
import { Sender } from "@questdb/nodejs-client";

const [http, tcp, login] = process.argv.slice(2);
const START_NS = 1709283600000000000n;

async function ingest(config, table, version) {
  const sender = await Sender.fromConfig(config);
  if (config.startsWith("tcp")) await sender.connect();
  for (let i = 0; i < 3; i++) {
    sender.table(table).symbol("symbol", "ETH USD").symbol("side", "a,b=c")
      .floatColumn("price", 2615.54).intColumn("n", i).booleanColumn("ok", true)
      .stringColumn("note", 'hé "q" \\ , =').timestampColumn("at", 1709283600000000n, "us");
    if (version >= 2) sender.arrayColumn("book", [[1, 2], [3, 4]]);
    if (version >= 3) sender.decimalColumnText("cost", "12.50");
    await sender.at(START_NS + BigInt(i) * 1000000000n, "ns");
  }
  await sender.flush();
  await sender.close();
}

for (const version of [1, 2, 3]) {
  await ingest(`http::addr=${http};protocol_version=${version};auto_flush=off`, `http${version}`, version);
}
await ingest(`http::addr=${http};auto_flush=off`, "http_auto", 2);
await ingest(`tcp::addr=${tcp};protocol_version=1;auto_flush=off;${login}`, "tcp1", 1);

// what the server refuses must reach the caller
const sender = await Sender.fromConfig(`http::addr=${http};auto_flush=off`);
await sender.table("http1").stringColumn("price", "text").atNow();
try {
  await sender.flush();
  process.exitCode = 1;
} catch (e) {
  console.log(`refused: ${e.message}`);
}
await sender.close();
