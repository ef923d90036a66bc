/* The shell: head, side panel, work area or another page, and what lies over them. See places.ts for what they hold. */
import { useEffect, useRef } from "preact/hooks";
import { connection } from "../api/connection";
import { Editor } from "../editor/Editor";
import { ParamBar } from "../editor/ParamBar";
import { TabBar } from "../editor/TabBar";
import { Toolbar } from "../editor/Toolbar";
import { activeTab, tabs } from "../editor/tabs";
import { currentView } from "../editor/view";
import { Results } from "../results/Results";
import { auth } from "../login/auth";
import { LoginDialog } from "../login/Login";
import { storage } from "../state/db";
import { owner } from "../state/owner";
import { prefs } from "../state/prefs";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Split } from "../ui/Split";
import { help, HelpDialog } from "./Help";
import { useShortcuts } from "../ui/keys";
import { palette, PaletteDialog } from "./Palette";
import { dismiss, notices } from "../ui/notice";
import { headItems, overlays, pages, sidePanels } from "./places";
import { go, route } from "../state/route";
import { nextTheme } from "./theme";

function Banners() {
  const online = useStore(connection, (c) => c.online);
  const problem = useStore(storage, (s) => s.problem);
  return (
    <>
      {!online && (
        <div class="banner error" role="alert">
          <Icon name="warning" /> The server does not answer. Your text is kept; the console goes on by itself when the
          server is back.
        </div>
      )}
      {problem !== null && (
        <div class="banner" role="alert">
          <Icon name="warning" /> {problem}
        </div>
      )}
    </>
  );
}

function Notices() {
  const list = useStore(notices, (n) => n.list);
  return (
    <div class="notices" role="status" aria-live="polite">
      {list.map((n) => (
        <div key={n.id} class={`notice ${n.kind}`}>
          <span>{n.text}</span>
          <Button icon="close" label="Dismiss" onClick={() => dismiss(n.id)} />
        </div>
      ))}
    </div>
  );
}

function ThemeButton() {
  const theme = useStore(prefs, (p) => p.theme);
  const icon = { light: "sun", dark: "moon", system: "system" } as const;
  return <Button icon={icon[theme]} label={`Theme: ${theme}`} onClick={nextTheme} />;
}

/* The side panel stands beside the editor: from another page, it takes us there. */
function turnSide(id: string): void {
  const away = pages.some((p) => p.path === route.get().path);
  prefs.set({ side: !away && prefs.get().side === id ? null : id });
  if (away) go("/");
}

function Head() {
  const path = useStore(route, (r) => r.path);
  const side = useStore(prefs, (p) => p.side);
  const atEditor = !pages.some((p) => p.path === path);
  return (
    <header class="head">
      <a class="brand" href="#/" aria-label="Almanac, the editor">
        <img src="./icon.svg" alt="" width="22" height="22" />
        <h1>Almanac</h1>
      </a>
      <nav class="places" aria-label="Console">
        {sidePanels.map((p) => (
          <Button
            key={p.id}
            icon={p.icon}
            label={p.title}
            aria-pressed={atEditor && side === p.id}
            onClick={() => turnSide(p.id)}
          />
        ))}
        {pages.map((p) => (
          <Button
            key={p.path}
            icon={p.icon}
            label={p.title}
            aria-pressed={path === p.path}
            onClick={() => go(path === p.path ? "/" : p.path)}
          />
        ))}
      </nav>
      <span class="spring" />
      {headItems.map((item) => (
        <item.component key={item.id} />
      ))}
      <ThemeButton />
      <Button icon="help" label="Keyboard shortcuts (?)" onClick={() => help.set({ open: true })} />
    </header>
  );
}

function Side() {
  const { side, sideWidth } = useStore(prefs, (p) => p);
  const panel = sidePanels.find((p) => p.id === side);
  if (panel === undefined) return null;
  return (
    <>
      <aside class="side" aria-label={panel.title} style={{ width: `${sideWidth}px` }} tabIndex={-1} data-pane="side">
        <div class="side-head">
          <h2>{panel.title}</h2>
          <Button icon="close" label={`Close ${panel.title}`} onClick={() => prefs.set({ side: null })} />
        </div>
        <panel.component />
      </aside>
      <Split
        direction="row"
        label="Width of the side panel"
        value={sideWidth}
        min={160}
        max={640}
        fromPointer={(e) => e.clientX}
        onChange={(v) => prefs.set({ sideWidth: v })}
      />
    </>
  );
}

function Work() {
  const area = useRef<HTMLDivElement>(null);
  const height = useStore(prefs, (p) => p.resultHeight);
  const tabId = useStore(tabs, (t) => activeTab(t)?.id);
  return (
    <div class="work" ref={area}>
      <div class="upper" style={{ flexBasis: `${100 - height}%` }}>
        <TabBar />
        <Toolbar />
        <ParamBar />
        <Editor />
      </div>
      <Split
        direction="column"
        label="Height of the results"
        value={height}
        min={10}
        max={85}
        fromPointer={(e) => {
          const box = area.current?.getBoundingClientRect();
          return box === undefined ? height : ((box.bottom - e.clientY) / box.height) * 100;
        }}
        onChange={(v) => prefs.set({ resultHeight: v })}
      />
      <div class="lower" style={{ flexBasis: `${height}%` }}>
        <Results tabId={tabId} />
      </div>
    </div>
  );
}

/* From pane to pane, round about: the editor, the results, the side panel. */
function stepPane(by: number): void {
  const panes = [...document.querySelectorAll<HTMLElement>("[data-pane]")];
  const now = panes.findIndex((p) => p.contains(document.activeElement));
  const next = panes[(now + by + panes.length) % panes.length];
  if (next?.dataset.pane === "editor") currentView()?.focus();
  else
    (
      next?.querySelector<HTMLElement>("[role=grid], [role=tree]") ??
      next?.querySelector<HTMLElement>("input, button:not(:disabled)") ??
      next
    )?.focus();
}

export function App() {
  const path = useStore(route, (r) => r.path);
  const page = pages.find((p) => p.path === path);
  const alone = useStore(route, (r) => page !== undefined && r.params.get("only") === "1");
  useShortcuts([
    { id: "help", keys: ["?"], group: "Page", title: "This list", run: () => help.set({ open: true }) },
    {
      id: "palette",
      keys: ["F1"],
      group: "Page",
      title: "Find a command by its name",
      run: () => palette.set({ open: true }),
    },
    { id: "pane-next", keys: ["F6"], group: "Page", title: "To the next pane", run: () => stepPane(1) },
    { id: "pane-previous", keys: ["Shift+F6"], group: "Page", title: "To the pane before", run: () => stepPane(-1) },
    { id: "theme", keys: ["Alt+l"], group: "Page", title: "Light, dark or as the system", run: nextTheme },
    ...sidePanels.map((p, i) => ({
      id: `side-${p.id}`,
      keys: [`Alt+${i + 1}`],
      group: "Page" as const,
      title: `Show or hide: ${p.title}`,
      run: () => turnSide(p.id),
    })),
  ]);
  useEffect(() => {
    document.title = page === undefined ? "Almanac" : `${page.title} · Almanac`;
  }, [page]);
  const { key, turn } = useStore(owner, (o) => o);
  const loaded = useStore(tabs, (t) => t.loaded);
  /* whose session ran out may come back: their page is there, and not to be seen */
  const away = useStore(auth, (a) => a.needed || a.denied !== null);
  return (
    <>
      <a class="skip" href="#/" onClick={(e) => (e.preventDefault(), currentView()?.focus())}>
        To the editor
      </a>
      {alone ? null : <Head />}
      <Banners />
      {key === null || !loaded ? (
        <main class="body" />
      ) : (
        <div key={turn} class={away ? "own away" : "own"} inert={away}>
          <main class="body">
            {page === undefined ? (
              <>
                <Side />
                <Work />
              </>
            ) : (
              <page.component />
            )}
          </main>
          {overlays.map((o) => (
            <o.component key={o.id} />
          ))}
          <PaletteDialog />
        </div>
      )}
      <LoginDialog />
      <HelpDialog />
      <Notices />
    </>
  );
}
