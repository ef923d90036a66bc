import { describe, expect, test } from "vitest";
import { sampleOf, WHOLE_BYTES } from "./upload";

const text = async (b: Blob) => new TextDecoder().decode(await b.arrayBuffer());

describe("what is sent to be looked at", () => {
  test("of a text its beginning, in whole lines", async () => {
    const long = await sampleOf(new Blob(["a,b\n", "1,2\n".repeat(100_000)]));
    expect([long.cut, long.parquet, long.data.size, long.text.endsWith("1,2\n")]).toEqual([true, false, 256 << 10, true]);
    const short = await sampleOf(new Blob(["a,b\n1,2"]));
    expect([short.cut, short.text, await text(short.data)]).toEqual([false, "a,b\n1,2", "a,b\n1,2"]);
  });

  test("of a Parquet file all of it, or the end with its schema", async () => {
    const short = await sampleOf(new Blob(["PAR1....PAR1"]));
    expect([short.parquet, short.fileSize, short.data.size]).toEqual([true, null, 12]);
    const length = new Uint8Array([6, 0, 0, 0]);
    const long = await sampleOf(new Blob(["PAR1", new Uint8Array(WHOLE_BYTES), "schema", length, "PAR1"]));
    expect([long.parquet, long.fileSize, (await text(long.data)).slice(0, 6), long.data.size]).toEqual([true, WHOLE_BYTES + 18, "schema", 14]);
  });
});
