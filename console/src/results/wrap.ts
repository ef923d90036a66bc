/* Sort and filter of all rows of a result: a query around its query. Pure. */
import type { Column } from "../api/types";
import { canWrap } from "../sql/wrap";
import { quoteName, quoteText } from "../sql/lexer";
import type { Sort } from "./arrange";

/* What a word is looked for in: types whose values are not texts of the page are left out. */
const searched = (c: Column): boolean => !/^(BINARY|ARRAY)/i.test(c.type) && !c.type.endsWith("]");

/*
 * As the grid has it of what is loaded: every word somewhere in the row, whatever the case. null: the query cannot
 * stand in brackets.
 */
export function allRowsSql(sql: string, columns: Column[], sort: Sort | null, filter: string): string | null {
  if (!canWrap(sql, columns)) return null;
  const name = (c: Column) => quoteName(c.name, () => true);
  const texts = columns.filter(searched);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length > 0 && texts.length === 0) return null;
  const where = words.map(
    (w) => `(${texts.map((c) => `strpos(lower(${name(c)}::varchar), ${quoteText(w)}) > 0`).join(" OR ")})`,
  );
  const by = sort === null ? undefined : columns[sort.column];
  return (
    [
      `SELECT * FROM (\n${sql.replace(/;\s*$/, "")}\n)`,
      where.length > 0 ? `WHERE ${where.join("\n  AND ")}` : "",
      by === undefined ? "" : `ORDER BY ${name(by)}${sort?.down === true ? " DESC" : ""}`,
    ]
      .filter(Boolean)
      .join("\n") + ";"
  );
}
