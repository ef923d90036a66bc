import { describe, expect, test } from "vitest";
import { nameOf, quoteName, statementAt, statements, tokenize } from "./lexer";

const kinds = (text: string) => tokenize(text).map((t) => `${t.kind} ${text.slice(t.from, t.to)}`);

describe("tokens", () => {
  test("each kind", () => {
    expect(
      kinds(
        `select "a ""b""", 'it''s', E'a\\'b', $$x;y$$, $t$ $$ $t$, 1_000, .5, 1e-3, 15m, 0x1f, ` +
          "#u33d, ##01, $1, @v, ünï::int -- rest",
      ),
    ).toEqual([
      "word select",
      'quoted "a ""b"""',
      "sign ,",
      "string 'it''s'",
      "sign ,",
      "string E'a\\'b'",
      "sign ,",
      "string $$x;y$$",
      "sign ,",
      "string $t$ $$ $t$",
      "sign ,",
      "number 1_000",
      "sign ,",
      "number .5",
      "sign ,",
      "number 1e-3",
      "sign ,",
      "number 15m",
      "sign ,",
      "number 0x1f",
      "sign ,",
      "string #u33d",
      "sign ,",
      "string ##01",
      "sign ,",
      "param $1",
      "sign ,",
      "param @v",
      "sign ,",
      "word ünï",
      "sign ::",
      "word int",
      "comment -- rest",
    ]);
  });
  test("what is not finished reaches to the end", () => {
    for (const text of ["'abc", '"abc', "/* a /* b */ c", "$$ a"])
      expect(tokenize(text)).toEqual([
        {
          kind: text.startsWith("/") ? "comment" : text.startsWith('"') ? "quoted" : "string",
          from: 0,
          to: text.length,
          open: true,
        },
      ]);
  });
  test("comments nest", () =>
    expect(kinds("/* a /* b */ ; c */ x")).toEqual(["comment /* a /* b */ ; c */", "word x"]));
  test("any text gives tokens in order that do not overlap", () => {
    let seed = 7;
    const signs = [
      "'",
      '"',
      "$",
      "$$",
      "/*",
      "*/",
      "--",
      "\n",
      ";",
      "a",
      "1",
      ".",
      "e",
      "E",
      "@",
      "#",
      " ",
      "é",
      "😀",
      "\\",
      "`",
    ];
    for (let n = 0; n < 3000; n++) {
      let text = "";
      for (let i = 0; i < 12; i++) text += signs[(seed = (seed * 1103515245 + 12345) % 2147483648) % signs.length];
      let at = 0;
      for (const t of tokenize(text)) {
        expect(t.from).toBeGreaterThanOrEqual(at);
        expect(t.to).toBeGreaterThan(t.from);
        at = t.to;
      }
      expect(at).toBeLessThanOrEqual(text.length);
    }
  });
});

describe("statements", () => {
  const text = "-- first\nselect 1;\n\n  select ';' ; ;\n/* none */\nselect 3";
  test("are cut at semicolons outside of texts and comments", () =>
    expect(statements(text).map((s) => s.text)).toEqual(["select 1", "select ';'", "select 3"]));
  test("know where they stand", () => {
    for (const s of statements(text)) expect(text.slice(s.from, s.to)).toBe(s.text);
  });
  test("the one at the cursor", () => {
    const at = (mark: string) => statementAt(text, text.indexOf(mark))?.text;
    expect(at("ect 1")).toBe("select 1");
    expect(statementAt(text, text.indexOf(";") + 1)?.text).toBe("select 1");
    expect(at("-- first")).toBe("select 1");
    expect(at("/* none")).toBe("select 3");
    expect(statementAt(text, text.length)?.text).toBe("select 3");
    expect(statementAt("", 0)).toBeNull();
  });
});

test("names", () => {
  expect(quoteName("trades")).toBe("trades");
  expect(quoteName('a "b"')).toBe('"a ""b"""');
  expect(quoteName("select", (w) => w === "select")).toBe('"select"');
  const text = '"a ""b"""';
  const token = tokenize(text)[0];
  expect(token === undefined ? "" : nameOf(text, token)).toBe('a "b"');
});
