/* The tabs: click, arrow keys, double click or F2 to rename, drag to move, the middle button or the cross to close. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { MenuButton } from "../ui/Menu";
import { notify } from "../ui/notice";
import { pickText, saveText } from "../ui/files";
import {
  addTabs,
  closeTab,
  moveTab,
  newTab,
  renameTab,
  restoreTab,
  selectTab,
  stepTab,
  type Tab,
  tabs,
  tabsAsJson,
} from "./tabs";

async function openFile(): Promise<void> {
  try {
    const text = await pickText(".json");
    if (text !== null) notify(`${addTabs(text)} tabs were added.`);
  } catch (e) {
    notify(
      e instanceof SyntaxError ? "The file holds no tabs of the console." : e instanceof Error ? e.message : String(e),
      "error",
    );
  }
}

function TabTitle({ tab, onEnd }: { tab: Tab; onEnd: () => void }) {
  const ref = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    ref.current?.focus();
    ref.current?.select();
  }, []);
  const end = (keep: boolean) => {
    if (keep) renameTab(tab.id, ref.current?.value ?? "");
    onEnd();
  };
  return (
    <input
      ref={ref}
      class="tab-rename"
      aria-label="Title of the tab"
      defaultValue={tab.title}
      maxLength={100}
      onBlur={() => end(true)}
      onKeyDown={(e) => {
        e.stopPropagation();
        if (e.key === "Enter") end(true);
        if (e.key === "Escape") end(false);
      }}
    />
  );
}

export function TabBar() {
  const { list, active, closed } = useStore(tabs, (t) => t);
  const [renaming, setRenaming] = useState<string | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const bar = useRef<HTMLDivElement>(null);
  useEffect(
    () => bar.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [active],
  );
  const onKey = (e: KeyboardEvent, tab: Tab, at: number) => {
    if (e.key === "F2") setRenaming(tab.id);
    else if (e.key === "Delete") closeTab(tab.id);
    else if (e.key === "ArrowRight" && e.altKey) moveTab(tab.id, at + 1);
    else if (e.key === "ArrowLeft" && e.altKey) moveTab(tab.id, at - 1);
    else if (e.key === "ArrowRight") stepTab(1);
    else if (e.key === "ArrowLeft") stepTab(-1);
    else return;
    e.preventDefault();
    setTimeout(() => bar.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div class="tab-bar">
      <div class="tabs" role="tablist" aria-label="Queries" ref={bar}>
        {list.map((tab, at) =>
          renaming === tab.id ? (
            <TabTitle key={tab.id} tab={tab} onEnd={() => setRenaming(null)} />
          ) : (
            <button
              key={tab.id}
              type="button"
              role="tab"
              class={dragged === tab.id ? "tab dragged" : "tab"}
              aria-selected={tab.id === active}
              tabIndex={tab.id === active ? 0 : -1}
              title={`${tab.title}: double click or F2 renames, Delete closes`}
              draggable
              onClick={() => selectTab(tab.id)}
              onDblClick={() => setRenaming(tab.id)}
              onAuxClick={(e) => e.button === 1 && closeTab(tab.id)}
              onKeyDown={(e) => onKey(e, tab, at)}
              onDragStart={() => setDragged(tab.id)}
              onDragEnd={() => setDragged(null)}
              onDragOver={(e) => {
                e.preventDefault();
                if (dragged !== null && dragged !== tab.id) moveTab(dragged, at);
              }}
            >
              {tab.title}
            </button>
          ),
        )}
      </div>
      <Button icon="close" label="Close this tab" onClick={() => closeTab(active)} />
      <Button icon="plus" label="New tab (Alt+T)" onClick={() => newTab()} />
      <MenuButton
        icon="more"
        label="More about tabs"
        items={() => [
          { title: "Rename", hint: "F2", run: () => setRenaming(active) },
          { title: "Save all tabs as a file", run: () => saveText("almanac-tabs.json", tabsAsJson()) },
          { title: "Add the tabs of a file", run: () => void openFile() },
          ...closed.slice(0, 10).map((t, i) => ({
            title: `Open again: ${t.title}${i > 0 ? ` (${i + 1})` : ""}`,
            run: () => restoreTab(t.id),
          })),
        ]}
      />
    </div>
  );
}
