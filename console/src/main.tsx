import "./state/db"; /* first: it opens while the rest is evaluated */
import { render } from "preact";
import { ApiError, publicSettings } from "./api/client";
import { beat, connection, onBack } from "./api/connection";
import { App } from "./app/App";
import { instance, loadInstance } from "./api/instance";
import { listen } from "./ui/keys";
import { notify } from "./ui/notice";
import "./app/register";
import { followHash, readRoute } from "./state/route";
import { followTheme } from "./app/theme";
import { newTab, saveAll, tabs } from "./editor/tabs";
import { auth } from "./login/auth";
import { loadUser, loggedOut } from "./login/Login";
import { followOthers } from "./login/others";
import { LOGGED_OUT_ELSEWHERE, startSignOn, startWithout, takeReturned, wasHere } from "./login/signon";
import { owner } from "./state/owner";
import "./style/app.css";

function report(e: unknown): void {
  if (!(e instanceof ApiError && (e.unreachable || e.status === 401)) && auth.get().denied === null)
    notify(e instanceof Error ? e.message : String(e), "error");
}

/* A link with a text in it: a tab of its own, which does not run by itself. */
function openShared(): void {
  const { params } = readRoute(location.hash);
  const text = params.get("sql");
  if (text === null || !tabs.get().loaded) return; /* it is opened when the tabs of the user who logs in have loaded */
  history.replaceState(null, "", "#/");
  newTab(text, params.get("title")?.slice(0, 100) || "From a link");
}

const returned = takeReturned();

/* Who is there is settled before anything is asked of the server that wants to know. */
async function enter(): Promise<void> {
  await loadInstance(publicSettings).catch((e: unknown) => {
    startWithout();
    throw e;
  });
  if (!(await startSignOn(instance.get().config, returned))) return;
  await loadUser((user) => returned === null || wasHere(user));
}

/* The server is there, but has not said who we are: until it does, nothing of anybody is shown. */
const AGAIN_MS = 2000;
function again(e: unknown): void {
  report(e);
  const { needed, denied } = auth.get();
  if (owner.get().key === null && !needed && denied === null && connection.get().online)
    setTimeout(() => void loadUser(() => returned === null).catch(again), AGAIN_MS);
}

followTheme();
followHash();
listen();
beat();
onBack(() => void (auth.get().needed ? loadInstance(publicSettings) : loadUser(() => returned === null)).catch(again));
followOthers(
  () => void loadUser().catch(report),
  () => loggedOut(LOGGED_OUT_ELSEWHERE),
);
/* What anybody may know of the server stays on the page. */
owner.subscribe(({ key }) => key === null && void loadInstance(publicSettings).catch(report));
tabs.subscribe(openShared); /* as soon as there are tabs */
window.addEventListener("pagehide", () => void saveAll());
document.addEventListener("visibilitychange", () => void saveAll());

window.addEventListener("hashchange", openShared);
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
enter().catch(again);
