/* Highlighting by the words that the server has; what lang-sql cannot know of this dialect is in here. */
import { SQLDialect } from "@codemirror/lang-sql";
import type { Extension } from "@codemirror/state";
import type { Catalog } from "../api/catalog";

export function dialectOf(catalog: Catalog): Extension {
  const keywords = new Set(catalog.keywords);
  const functions = catalog.functions.map((f) => f.name).filter((name) => !keywords.has(name));
  const dialect = SQLDialect.define({
    keywords: [...keywords].join(" "),
    types: catalog.types.join(" ").toLowerCase(),
    builtin: functions.join(" ").toLowerCase(),
    operatorChars: "+-*/%<>=!~|&^:",
    specialVar: "@$",
    identifierQuotes: '"`',
    doubleDollarQuotedStrings: true,
    slashComments: false,
    hashComments: false,
    charSetCasts: false,
  });
  /* completion is ours: see complete.ts */
  return [
    dialect.language,
    dialect.language.data.of({ commentTokens: { line: "--", block: { open: "/*", close: "*/" } } }),
  ];
}
