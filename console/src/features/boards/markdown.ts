/* Markdown, as far as notes need it, to a tree of plain values: nothing of it is ever markup of the page. Pure. */
export type Inline =
  string | { kind: "strong" | "em" | "code"; text: Inline[] | string } | { kind: "link"; to: string; text: string };

export type Block =
  | { kind: "heading"; level: number; text: Inline[] }
  | { kind: "paragraph"; text: Inline[] }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "code"; text: string }
  | { kind: "quote"; text: Inline[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "line" };

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/;

export function inlines(text: string): Inline[] {
  const out: Inline[] = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found !== null; found = INLINE.exec(rest)) {
    if (found.index > 0) out.push(rest.slice(0, found.index));
    const [all, code, strong, em, label, to] = found;
    if (code !== undefined) out.push({ kind: "code", text: code });
    else if (strong !== undefined) out.push({ kind: "strong", text: inlines(strong) });
    else if (em !== undefined) out.push({ kind: "em", text: inlines(em) });
    /* no other scheme: a link must not run anything */
    else if (to !== undefined && label !== undefined)
      out.push(/^(https?:\/\/|#)/i.test(to) ? { kind: "link", to, text: label } : all);
    rest = rest.slice(found.index + all.length);
  }
  if (rest !== "") out.push(rest);
  return out;
}

const cells = (line: string): Inline[][] =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((c) => inlines(c.trim()));
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const STARTS = /^(#{1,6}\s|```|>|\s*([-*+]|\d+[.)])\s+|\||(-{3,}|\*{3,})\s*$)/;

export function blocks(text: string): Block[] {
  const lines = text.replaceAll("\r", "").split("\n");
  const out: Block[] = [];
  const line = (i: number): string => lines[i] ?? "";
  for (let i = 0; i < lines.length;) {
    const now = line(i);
    const heading = /^(#{1,6})\s+(.*)$/.exec(now);
    if (now.trim() === "") i++;
    else if (heading !== null) {
      out.push({ kind: "heading", level: (heading[1] ?? "").length, text: inlines(heading[2] ?? "") });
      i++;
    } else if (now.startsWith("```")) {
      let end = i + 1;
      while (end < lines.length && !line(end).startsWith("```")) end++;
      out.push({ kind: "code", text: lines.slice(i + 1, end).join("\n") });
      i = end + 1;
    } else if (/^(-{3,}|\*{3,})\s*$/.test(now)) {
      out.push({ kind: "line" });
      i++;
    } else if (now.startsWith("|") && /^\|[\s:|-]+\|?\s*$/.test(line(i + 1))) {
      const rows: Inline[][][] = [];
      let end = i + 2;
      for (; line(end).startsWith("|"); end++) rows.push(cells(line(end)));
      out.push({ kind: "table", head: cells(now), rows });
      i = end;
    } else if (ITEM.test(now)) {
      const items: Inline[][] = [];
      const ordered = ITEM.exec(now)?.[1] !== undefined;
      for (; ITEM.test(line(i)); i++) items.push(inlines(ITEM.exec(line(i))?.[2] ?? ""));
      out.push({ kind: "list", ordered, items });
    } else {
      const quote = now.startsWith(">");
      const part: string[] = [now];
      for (
        i++;
        i < lines.length && line(i).trim() !== "" && (quote ? line(i).startsWith(">") : !STARTS.test(line(i)));
        i++
      )
        part.push(line(i));
      out.push(
        quote
          ? { kind: "quote", text: inlines(part.map((l) => l.replace(/^>\s?/, "")).join(" ")) }
          : { kind: "paragraph", text: inlines(part.join(" ")) },
      );
    }
  }
  return out;
}
