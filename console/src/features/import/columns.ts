/* What the user corrects of the columns of a file, as the part `schema` of /imp has it. Pure. */
import type { ImportReport, ImportSettings } from "./upload";

export interface ColumnChange {
  name?: string;
  type?: string;
  pattern?: string; /* "": none */
  unit?: string; /* of numbers as times; "": that of the type */
}

type Schema = ImportSettings["schema"];

/*
 * The schema after a change of one column of the report. Where the file names its columns, entries go by these names
 * and say what a column is called instead; where it does not, all of them stand there, in order.
 */
export function withColumn(schema: Schema, report: ImportReport, at: number, change: ColumnChange): Schema {
  const next: Schema = [];
  report.columns.forEach((c, i) => {
    const inFile = c.source ?? c.name;
    const before = report.header ? schema.find((s) => s.name === inFile) : schema[i];
    if (i !== at) {
      if (before !== undefined || !report.header) next.push(before ?? { name: c.name, type: c.type });
      return;
    }
    const pattern = change.pattern ?? before?.pattern ?? "";
    const entry: Schema[number] = {
      name: report.header ? inFile : (change.name ?? before?.name ?? c.name),
      type: change.type ?? before?.type ?? c.type,
    };
    if (pattern !== "") entry.pattern = pattern;
    const unit = change.unit ?? before?.unit ?? "";
    if (unit !== "" && pattern === "" && /^(TIMESTAMP|DATE)/i.test(entry.type)) entry.unit = unit;
    const as = change.name ?? before?.as ?? inFile;
    if (report.header && as !== inFile && as !== "") entry.as = as;
    next.push(entry);
  });
  return next;
}
