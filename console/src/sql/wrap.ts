/* A query around a query. Pure. */
import { tokenize } from "./lexer";

/* Can it stand in brackets in a FROM? Names that come twice cannot be told apart there. */
export function canWrap(sql: string, columns: ReadonlyArray<{ name: string }>): boolean {
  const first = tokenize(sql).find((t) => t.kind !== "comment" && !(t.kind === "sign" && sql[t.from] === "("));
  const word = first === undefined ? "" : sql.slice(first.from, first.to).toLowerCase();
  const names = new Set(columns.map((c) => c.name.toLowerCase()));
  return (word === "select" || word === "with" || word === "declare") && names.size === columns.length;
}
