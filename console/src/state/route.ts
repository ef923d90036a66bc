/* Where we are: the part behind # is ours, and never goes to the server. #/, #/server ... */
import { ofUser } from "./owner";
import { createStore } from "./store";

export interface Route {
  path: string; /* "/", "/server" */
  params: URLSearchParams; /* behind a ? */
}

export function readRoute(hash: string): Route {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  return { path: path.startsWith("/") ? path : "/", params: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)) };
}

export const route = createStore<Route>(readRoute(typeof location === "undefined" ? "" : location.hash));

/* The URL is reset at log-out because it contains board names and the values of their variables. */
ofUser({
  leave: () => {
    window.history.replaceState(null, "", location.pathname + "#/");
    route.set(readRoute("#/"));
  },
});

export function go(path: string): void {
  location.hash = "#" + path;
}

export function followHash(): () => void {
  const look = () => route.set(readRoute(location.hash));
  window.addEventListener("hashchange", look);
  return () => window.removeEventListener("hashchange", look);
}
