/* The first records of a CSV file, for a look at them: the server is who reads it. Pure. */

export interface CsvRecord {
  line: number; /* on which it begins, from 1 */
  values: string[];
}

/* RFC 4180; what is not finished at the end of the text is left out if `cut`. */
export function readRecords(text: string, delimiter: string, max: number, cut: boolean): CsvRecord[] {
  const out: CsvRecord[] = [];
  let line = 1;
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length && out.length < max) {
    const record: CsvRecord = { line, values: [] };
    let ended = false;
    while (!ended) {
      let value = "";
      if (text[at] === '"') {
        at++;
        for (;;) {
          const end = text.indexOf('"', at);
          if (end < 0) {
            value += text.slice(at);
            at = text.length;
            break;
          }
          value += text.slice(at, end);
          at = end + 1;
          if (text[at] !== '"') break;
          value += '"';
          at++;
        }
        line += value.split("\n").length - 1;
      }
      const rest = at;
      while (at < text.length && text[at] !== delimiter && text[at] !== "\n") at++;
      record.values.push(value + text.slice(rest, at).replace(/\r$/, ""));
      if (at >= text.length && cut) return out;
      ended = at >= text.length || text[at] === "\n";
      at++;
    }
    line++;
    if (record.values.length > 1 || record.values[0] !== "") out.push(record);
  }
  return out;
}

const DELIMITERS = [",", "\t", ";", "|"];
/* The one that cuts the first record into so many values, perhaps with one behind the last, else the comma. */
export function delimiterOf(text: string, columns: number): string {
  const fits = (d: string) => {
    const values = readRecords(text, d, 1, false)[0]?.values ?? [];
    return values.length === columns || (values.length === columns + 1 && values[columns] === "");
  };
  return DELIMITERS.find(fits) ?? ",";
}

/* The table's name from that of the file: "/a/Trades 2026.csv" is Trades_2026. */
export function tableNameOf(file: string): string {
  const stem = file
    .replace(/^.*[\\/]/, "")
    .replace(/(\.csv|\.tsv|\.txt|\.parquet|\.ndjson|\.jsonl|\.json|\.gz|\.zst)+$/i, "");
  return (
    stem
      .replace(/[^\p{L}\p{N}_]+/gu, "_")
      .replace(/^_+|_+$/g, "")
      .slice(0, 127) || "imported"
  );
}

export interface Fault {
  line: number;
  column: string | null;
  text: string;
}

/*
 * "line 3, column a: ..." of the report, or "row 3, ..." of a Parquet file; null: another sentence, such as how many
 * more there are.
 */
export function readFault(text: string): Fault | null {
  const found = /^(?:line|row) (\d+)(?:, column (.*?))?: (.*)$/s.exec(text);
  return found === null ? null : { line: Number(found[1]), column: found[2] ?? null, text };
}
