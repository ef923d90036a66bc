/* Functions and keywords of this server, to look up: a click inserts. */
import { useState } from "preact/hooks";
import { catalog, type FunctionInfo } from "../../api/catalog";
import { insertText } from "../../editor/view";
import { plural } from "../../results/format";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import "./reference.css";

const SHOWN_MAX = 150;

/* Those that begin with the text first, then those that have it, then those of whose help it is part. */
function ranked(list: FunctionInfo[], wanted: string): FunctionInfo[] {
  if (wanted === "") return list;
  const rank = (f: FunctionInfo) =>
    f.name.startsWith(wanted) ? 0 : f.name.includes(wanted) ? 1 : f.doc.toLowerCase().includes(wanted) ? 2 : 3;
  return list
    .map((f) => ({ f, r: rank(f) }))
    .filter((x) => x.r < 3)
    .sort((a, b) => a.r - b.r || a.f.name.localeCompare(b.f.name))
    .map((x) => x.f);
}

function Functions({ wanted }: { wanted: string }) {
  const all = useStore(catalog, (c) => c.functions);
  const found = ranked(all, wanted);
  return (
    <>
      <p class="side-note" role="status">
        {plural(found.length, "function")}
      </p>
      <ul class="history-list">
        {found.slice(0, SHOWN_MAX).map((f) => (
          <li key={f.name} class="reference-entry">
            <button
              type="button"
              class="history-text"
              title="Insert at the cursor"
              onClick={() => insertText(`${f.name}(`)}
            >
              <strong>{f.name}</strong>
              {f.doc !== "" && <span>{f.doc}</span>}
              {f.signatures.slice(0, 6).map((s) => (
                <code key={s}>{s}</code>
              ))}
              {f.signatures.length > 6 && <span class="history-facts">and {f.signatures.length - 6} more</span>}
              <span class="history-facts">{f.kind.toLowerCase().replaceAll("_", " ")}</span>
            </button>
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX && (
        <p class="side-note">{plural(found.length - SHOWN_MAX, "more function")}: search for them.</p>
      )}
    </>
  );
}

function Keywords({ wanted }: { wanted: string }) {
  const all = useStore(catalog, (c) => c.keywords);
  const found = all.filter((k) => k.includes(wanted));
  return (
    <>
      <p class="side-note" role="status">
        {plural(found.length, "keyword")}
      </p>
      <ul class="history-list keyword-list">
        {found.map((k) => (
          <li key={k}>
            <Button title="Insert at the cursor" onClick={() => insertText(k.toUpperCase())}>
              {k.toUpperCase()}
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}

export function ReferencePanel() {
  const [search, setSearch] = useState("");
  const [part, setPart] = useState<"functions" | "keywords">("functions");
  const wanted = search.trim().toLowerCase();
  return (
    <div class="history">
      <div class="side-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search the reference"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
      </div>
      <div class="side-tools segments" role="group" aria-label="What to look up">
        <Button aria-pressed={part === "functions"} onClick={() => setPart("functions")}>
          Functions
        </Button>
        <Button aria-pressed={part === "keywords"} onClick={() => setPart("keywords")}>
          Keywords
        </Button>
      </div>
      {part === "functions" ? <Functions wanted={wanted} /> : <Keywords wanted={wanted} />}
    </div>
  );
}
