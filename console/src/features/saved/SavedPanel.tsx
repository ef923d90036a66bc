/* Queries kept on the server: open one in a tab, save the text of the tab in front. */
import { useEffect, useState } from "preact/hooks";
import { onBack } from "../../api/connection";
import { notify } from "../../ui/notice";
import { activeTab, newTab, tabs } from "../../editor/tabs";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { MenuButton } from "../../ui/Menu";
import { loadSaved, putSaved, saved, type SavedQuery } from "./saved";
import "./saved.css";

const shownTime = (iso: string) => new Date(iso).toLocaleString();
const fail = (e: unknown) => notify(e instanceof Error ? e.message : String(e), "error");

function Entry({ query }: { query: SavedQuery }) {
  return (
    <li class="saved-entry">
      <button
        type="button"
        class="history-text"
        title="Open in a new tab"
        onClick={() => newTab(query.sql, query.name)}
      >
        <strong>{query.name}</strong>
        <code>{query.sql.slice(0, 300)}</code>
      </button>
      <MenuButton
        icon="more"
        label={`More about ${query.name}`}
        items={() => [
          { title: "Open in a new tab", run: () => newTab(query.sql, query.name) },
          ...query.versions.map((v) => ({
            title: `Open what was replaced at ${shownTime(v.time)}`,
            run: () => newTab(v.sql, query.name),
          })),
          { title: "Delete for everybody", danger: true, run: () => void putSaved(query.name, null).catch(fail) },
        ]}
      />
    </li>
  );
}

function SaveForm({ names }: { names: string[] }) {
  const tab = useStore(tabs, activeTab);
  const [name, setName] = useState<string | null>(null);
  const text = tab?.text.trim() ?? "";
  const wanted = name ?? tab?.title ?? "";
  const known = names.includes(wanted.trim());
  const save = async () => {
    await putSaved(wanted.trim(), text);
    notify(`${wanted.trim()} is saved on the server.`);
    setName(null);
  };
  return (
    <form
      class="side-tools"
      onSubmit={(e) => {
        e.preventDefault();
        void save().catch(fail);
      }}
    >
      <input
        value={wanted}
        maxLength={100}
        required
        aria-label="Name of the query"
        onInput={(e) => setName(e.currentTarget.value)}
      />
      <Button
        type="submit"
        label="Save the text of this tab on the server"
        disabled={text === "" || wanted.trim() === ""}
      >
        {known ? "Replace" : "Save"}
      </Button>
    </form>
  );
}

export function SavedPanel() {
  const { list, loaded, problem } = useStore(saved, (s) => s);
  const [search, setSearch] = useState("");
  useEffect(() => {
    void loadSaved();
    return onBack(() => void loadSaved());
  }, []);
  const wanted = search.toLowerCase();
  const found = list.filter((q) => `${q.name}\n${q.sql}`.toLowerCase().includes(wanted));
  return (
    <div class="history">
      <SaveForm names={list.map((q) => q.name)} />
      <div class="side-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search saved queries"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
        <Button icon="refresh" label="Refresh" onClick={() => void loadSaved()} />
      </div>
      {problem !== null && (
        <p class="side-note form-error" role="alert">
          {problem}
        </p>
      )}
      {loaded && found.length === 0 && (
        <p class="side-note">
          {list.length === 0 ? "Nothing is saved yet. All who use this server see what you save." : "Nothing fits."}
        </p>
      )}
      <ul class="history-list">
        {found.map((q) => (
          <Entry key={q.name} query={q} />
        ))}
      </ul>
    </div>
  );
}
