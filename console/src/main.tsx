import "./state/db"; /* first: it opens while the rest is evaluated */
import { render } from "preact";
import { followServer, loadCatalog } from "./api/catalog";
import { ApiError } from "./api/client";
import { beat, onBack } from "./api/connection";
import { App } from "./app/App";
import { instance, loadInstance } from "./app/Instance";
import { listen } from "./app/keys";
import { notify } from "./app/notice";
import "./app/register";
import { followHash, readRoute } from "./app/route";
import { followTheme } from "./app/theme";
import { loadTabs, newTab, saveAll } from "./editor/tabs";
import { loadHistory } from "./history/history";
import { auth } from "./login/auth";
import { loadUser } from "./login/Login";
import { startSignOn, startWithout, takeReturned } from "./login/signon";
import "./style/app.css";

function report(e: unknown): void {
  if (!(e instanceof ApiError && (e.unreachable || e.status === 401)) && auth.get().denied === null) notify(e instanceof Error ? e.message : String(e), "error");
}

/* A link with a text in it: a tab of its own, which does not run by itself. */
function openShared(): void {
  const { params } = readRoute(location.hash);
  const text = params.get("sql");
  if (text === null) return;
  history.replaceState(null, "", "#/");
  newTab(text, params.get("title")?.slice(0, 100) || "From a link");
}

const returned = takeReturned();

/* Who is there is settled before anything is asked of the server that wants to know. */
async function enter(): Promise<void> {
  await loadInstance().catch((e: unknown) => {
    startWithout();
    throw e;
  });
  if (!(await startSignOn(instance.get().config, returned))) return;
  await loadUser();
  await loadCatalog();
}

followTheme();
followHash();
listen();
followServer();
beat();
onBack(() => void Promise.all([auth.get().needed ? null : loadUser(), loadInstance()]).catch(report));
window.addEventListener("pagehide", () => void saveAll());
document.addEventListener("visibilitychange", () => void saveAll());

await loadTabs();
openShared();
window.addEventListener("hashchange", openShared);
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
loadHistory().catch(report);
enter().catch(report);
