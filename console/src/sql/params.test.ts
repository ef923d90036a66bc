import { expect, test } from "vitest";
import { bind, bindAll, parametersOf } from "./params";

test("names", () => {
  expect(parametersOf("select $1, @a, '@no', @a -- @no\n from t where x > $2")).toEqual(["$1", "@a", "$2"]);
  expect(parametersOf("declare @x := 1 select @x, @y")).toEqual(["@y"]);
});
test("values stand beside the text, and positions come back", () => {
  const sql = "select @from_time, @b, $2, wrong, @from_time";
  const bound = bind(sql);
  expect([bound.text, bound.values]).toEqual(["select $3, $4, $2, wrong, $3", ["$1", "$2", "@from_time", "@b"]]);
  for (const word of ["select", "wrong", "$2,"]) expect(bound.back(bound.text.indexOf(word))).toBe(sql.indexOf(word));
  expect(bound.back(bound.text.lastIndexOf("$3"))).toBe(sql.lastIndexOf("@from_time"));
});
test("of several statements each for itself, and positions come back", () => {
  const sql = "-- @no\nselect @a, wrong; declare @a := 1 select @a, other;\nselect @b, @a, last -- end";
  const all = bindAll(sql);
  expect(all.text).toBe("-- @no\nselect $1, wrong; declare @a := 1 select @a, other;\nselect $1, $2, last -- end");
  for (const word of ["wrong", "other", "last", "-- end"])
    expect(all.back(all.text.indexOf(word))).toBe(sql.indexOf(word));
  expect(bindAll("")).toMatchObject({ text: "" });
});
