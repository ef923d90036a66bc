/* One value in full: as it is, and as JSON where it is some. */
import { useState } from "preact/hooks";
import type { Cell, Column } from "../api/types";
import { notify } from "../ui/notice";
import { Button } from "../ui/Button";
import { saveText } from "../ui/files";
import { toClipboard } from "./copy";
import { cellText, plural } from "./format";

const SHOWN_MAX = 100_000; /* characters: a browser takes long to lay out more */

function pretty(value: Cell): string | null {
  if (Array.isArray(value)) return JSON.stringify(value, null, 1);
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || value.length > SHOWN_MAX) return null;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return null;
  }
}

const fileName = (name: string) => `${name.replace(/[^\p{L}\p{N}_-]+/gu, "_").slice(0, 60) || "value"}.txt`;

export function ValuePanel({
  value,
  column,
  row,
  onClose,
}: {
  value: Cell | undefined;
  column: Column;
  row: number;
  onClose: () => void;
}) {
  const [raw, setRaw] = useState(false);
  const json = value === undefined ? null : pretty(value);
  const text = value === undefined ? "" : json !== null && !raw ? json : cellText(value);
  const shown = text.length > SHOWN_MAX ? text.slice(0, SHOWN_MAX) : text;
  return (
    <aside class="value-panel" aria-label="Value">
      <div class="side-head">
        <h3 title={column.name}>{column.name}</h3>
        <Button icon="close" label="Close the value" onClick={onClose} />
      </div>
      <p class="value-facts">
        {column.type}, row {row + 1}
        {typeof value === "string" && `, ${plural(value.length, "character")}`}
      </p>
      <div class="side-tools">
        <Button
          icon="copy"
          label="Copy the whole value"
          disabled={value === undefined}
          onClick={() =>
            void toClipboard(text).then(
              () => notify("Copied."),
              (e: Error) => notify(e.message, "error"),
            )
          }
        >
          Copy
        </Button>
        <Button
          icon="download"
          label="Save the whole value as a file"
          disabled={value === undefined}
          onClick={() => saveText(fileName(column.name), text)}
        >
          Save
        </Button>
        {json !== null && (
          <Button label="As the server wrote it" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            Raw
          </Button>
        )}
      </div>
      <pre class={value === null ? "value null" : "value"} tabIndex={0} aria-label="Text of the value">
        {value === null ? "null" : value === "" ? "(empty text)" : shown}
      </pre>
      {shown.length < text.length && (
        <p class="side-note">
          The first {plural(SHOWN_MAX, "character")} of {plural(text.length, "character")}: Copy and Save take all.
        </p>
      )}
    </aside>
  );
}
