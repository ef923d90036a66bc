/* Text of a board. What it holds becomes elements one by one; none of it is read as markup. */
import { type ComponentChild, h } from "preact";
import { type Block, blocks, type Inline } from "./markdown";

function part(i: Inline, at: number): ComponentChild {
  if (typeof i === "string") return i;
  if (i.kind === "link")
    return (
      <a key={at} href={i.to} target={i.to.startsWith("#") ? undefined : "_blank"} rel="noopener noreferrer">
        {i.text}
      </a>
    );
  return h(i.kind, { key: at }, typeof i.text === "string" ? i.text : i.text.map(part));
}

function block(b: Block, at: number): ComponentChild {
  switch (b.kind) {
    case "heading":
      return h(`h${Math.min(6, b.level + 3)}`, { key: at, class: `md-${b.level}` }, b.text.map(part));
    case "list":
      return h(
        b.ordered ? "ol" : "ul",
        { key: at },
        b.items.map((i, n) => <li key={n}>{i.map(part)}</li>),
      );
    case "code":
      return <pre key={at}>{b.text}</pre>;
    case "quote":
      return <blockquote key={at}>{b.text.map(part)}</blockquote>;
    case "line":
      return <hr key={at} />;
    case "table":
      return (
        <table key={at}>
          <thead>
            <tr>
              {b.head.map((c, n) => (
                <th key={n}>{c.map(part)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {b.rows.map((r, n) => (
              <tr key={n}>
                {r.map((c, m) => (
                  <td key={m}>{c.map(part)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    default:
      return <p key={at}>{b.text.map(part)}</p>;
  }
}

export const Markdown = ({ text }: { text: string }) => <div class="markdown">{blocks(text).map(block)}</div>;
