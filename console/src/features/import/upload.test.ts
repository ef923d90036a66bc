import { describe, expect, test } from "vitest";
import { GROUP_BYTES, type ImportReport, sampleOf, WHOLE_BYTES, withRows } from "./upload";

const text = async (b: Blob) => new TextDecoder().decode(await b.arrayBuffer());

describe("what is sent to be looked at", () => {
  test("of a text its beginning, in whole lines", async () => {
    const long = await sampleOf(new Blob(["a,b\n", "1,2\n".repeat(100_000)]));
    expect([long.cut, long.parquet, long.data.size, long.text.endsWith("1,2\n")]).toEqual([
      true,
      false,
      256 << 10,
      true,
    ]);
    const short = await sampleOf(new Blob(["a,b\n1,2"]));
    expect([short.cut, short.text, await text(short.data)]).toEqual([false, "a,b\n1,2", "a,b\n1,2"]);
  });

  test("of a packed file its first bytes, as they are", async () => {
    for (const magic of [
      [0x1f, 0x8b, 8, 10],
      [0x28, 0xb5, 0x2f, 0xfd],
    ]) {
      const sample = await sampleOf(new Blob([new Uint8Array(magic), new Uint8Array(300_000)]));
      expect([sample.packed, sample.parquet, sample.text, sample.cut, sample.data.size]).toEqual([
        true,
        false,
        "",
        true,
        256 << 10,
      ]);
    }
    expect((await sampleOf(new Blob(["a,b\n"]))).packed).toBe(false);
  });

  test("of a Parquet file all of it, or the end with its schema", async () => {
    const short = await sampleOf(new Blob(["PAR1....PAR1"]));
    expect([short.parquet, short.fileSize, short.data.size]).toEqual([true, null, 12]);
    const length = new Uint8Array([6, 0, 0, 0]);
    const long = await sampleOf(new Blob(["PAR1", new Uint8Array(WHOLE_BYTES), "schema", length, "PAR1"]));
    expect([long.parquet, long.fileSize, (await text(long.data)).slice(0, 6), long.data.size]).toEqual([
      true,
      WHOLE_BYTES + 18,
      "schema",
      14,
    ]);
    /* with the row group that the server names, unless it is long */
    const file = new Blob(["PAR1", "rows", new Uint8Array(WHOLE_BYTES), "indexschema", length, "PAR1"]);
    const sample = await sampleOf(file);
    const report = (groupBytes: number) =>
      ({ firstRows: { groupFrom: 4, groupBytes, tail: WHOLE_BYTES + 8 } }) as ImportReport;
    const more = withRows(file, sample, report(4));
    expect((await text(more?.data ?? new Blob())).slice(0, 15)).toBe("rowsindexschema");
    expect([
      more?.group?.groupFrom,
      withRows(file, sample, report(GROUP_BYTES)),
      withRows(file, more ?? sample, report(4)),
      withRows(file, sample, {} as ImportReport),
    ]).toEqual([4, null, null, null]);
  });
});
