/*
 * Sign-on by the identity provider, where the server has one: what happens when the page opens, and when the sign-on
 * ends. The exchange itself is in oidc.ts, whose code comes when it is needed; tokens are in tokens.ts. Of a sign-on
 * the browser keeps that there was one and the name, for the next visit.
 */
import { enterCredentials, NobodyError } from "../api/credentials";
import { createSignal } from "../state/signal";
import { notify } from "../ui/notice";
import { quit, setOwner } from "../state/owner";
import { auth } from "./auth";
import { hasProvider, providerOf } from "./config";
import type { ProviderConfig } from "./oidc";
import {
  AwayError,
  browserChannel,
  browserLock,
  browserOthers,
  countThisTab,
  createKeeper,
  type Keeper,
} from "./tokens";

const KNOWN = "almanac.signon.known"; /* localStorage: { client, name, in } */
const PASSWORD =
  "almanac.login"; /* there is, or was, a cookie of the form's: of this tab (session storage), of this browser */
const RETURNED = ["code", "state", "error", "error_description", "session_state", "iss"];

let config: ProviderConfig | null = null;
let keeper: Keeper | null = null;
let settle: () => void = () => undefined;
const settled = new Promise<void>(
  (done) => (settle = done),
); /* it is known whether there is a provider, and a sign-on */
let fresh = false; /* signed on, and the server has not said yet that it takes it */
let force = false; /* the next sign-on asks who it is */
let nameBefore: string | null = null; /* of who was signed on here before this answer of the provider */
let place: { search: string; hash: string } | null = null; /* where the way to the provider began */
let cookieOf: string | null = null; /* the bearer that the cookie of downloads was made with */

export const LOGGED_OUT = "You are logged out.";
export const LOGGED_OUT_ELSEWHERE = "You logged out in another tab.";
export const PROVIDER_AWAY =
  "The server has not reached its identity provider yet. Try again in a moment, or log in with a password.";

/* ------------------------------------------------------------------ what is kept */

interface Known {
  client: string;
  name: string | null;
  in: boolean;
}

function known(): Known | null {
  try {
    const found = JSON.parse(localStorage.getItem(KNOWN) ?? "null") as Known | null;
    return found !== null && found.client === config?.clientId ? found : null;
  } catch {
    return null;
  }
}

function remember(part: Partial<Known> | null): void {
  try {
    if (part === null) localStorage.removeItem(KNOWN);
    else if (config !== null)
      localStorage.setItem(
        KNOWN,
        JSON.stringify({ name: null, in: false, ...known(), ...part, client: config.clientId }),
      );
  } catch {
    /* full or forbidden: the next visit begins with the button */
  }
}

export function rememberPassword(on: boolean): void {
  try {
    for (const storage of [sessionStorage, localStorage])
      if (on) storage.setItem(PASSWORD, "1");
      else storage.removeItem(PASSWORD);
  } catch {
    /* the cookie counts */
  }
}
export const hadPassword = (): boolean =>
  sessionStorage.getItem(PASSWORD) === "1" || localStorage.getItem(PASSWORD) === "1";

/* ------------------------------------------------------------- the answer's address */

/* First of all that the page does: the code goes from the address bar, and so from the history. */
export function takeReturned(): URLSearchParams | null {
  const params = new URLSearchParams(location.search);
  if (!params.has("state") || (!params.has("code") && !params.has("error"))) return null;
  const left = new URLSearchParams(params);
  for (const name of RETURNED) left.delete(name);
  history.replaceState(null, "", location.pathname + (left.size > 0 ? `?${left}` : "") + location.hash);
  return params;
}

/* --------------------------------------------------------------------- begin, end */

/* The page is about to go to the provider: followers keep what would be lost, and the page waits for them. */
export const leaving = createSignal<void, Promise<unknown>>();

export async function toProvider(prompt: "none" | "login" | null): Promise<boolean> {
  if (config === null) return false;
  try {
    const { begin } = await import("./oidc");
    const address = await begin(config, prompt ?? (force ? "login" : null));
    await Promise.all(leaving.emit());
    location.assign(address);
    return true;
  } catch (e) {
    auth.set({ needed: true, reason: e instanceof Error ? e.message : String(e) });
    return false;
  }
}

/*
 * Who logged out has left. Whose sign-on ran out may be back in a moment: till it is known who comes, the page is
 * hidden (App.tsx).
 */
function ended(why: string): void {
  if (why === LOGGED_OUT_ELSEWHERE) void setOwner(null);
  cookieOf = null;
  remember({ in: false });
  auth.set({ needed: true, user: null, canLogOut: false, reason: why === "" ? null : why });
}

/* The server knows who it is and does not let them in. Another account may be. */
function onDenied(message: string, reason: string): void {
  keeper?.set(null, "This account was not let in.");
  cookieOf = null;
  remember({ in: false });
  force = true;
  void setOwner(null);
  auth.set({ denied: { message, reason }, needed: false, user: null, canLogOut: false });
}

export async function logOutOfProvider(end: () => Promise<void>): Promise<void> {
  const id = keeper?.get()?.id ?? null;
  await quit();
  await end().catch(() => undefined); /* the cookie; it may be over already */
  keeper?.set(null, LOGGED_OUT_ELSEWHERE);
  cookieOf = null;
  remember(null);
  force = true;
  void setOwner(null);
  const providerLogout = config === null ? null : (await import("./oidc")).endSession(config, id);
  auth.set({ needed: true, user: null, canLogOut: false, known: null, reason: LOGGED_OUT, providerLogout });
}

/* -------------------------------------------------------------------------- start */

/* The server cannot be asked what it wants: requests find out. */
export const startWithout = () => settle();

/*
 * settings: config of /settings. True: go on, and ask the server who we are. False: the page waits for a login, or
 * goes away.
 */
export async function startSignOn(
  settings: Record<string, unknown>,
  returned: URLSearchParams | null,
): Promise<boolean> {
  const go = await decide(settings, returned);
  settle();
  return go;
}

async function decide(settings: Record<string, unknown>, returned: URLSearchParams | null): Promise<boolean> {
  config = providerOf(settings);
  auth.set({ provider: config !== null, known: known()?.name ?? null });
  if (config === null && hasProvider(settings) && !hadPassword()) {
    auth.set({ needed: true, reason: PROVIDER_AWAY });
    return false;
  }
  if (config === null) return true;
  const provider = config;
  keeper?.close();
  keeper = createKeeper({
    channel: browserChannel(),
    lock: browserLock,
    others: browserOthers,
    renew: async (old) => (await import("./oidc")).renew(provider, old),
    onOver: ended,
    now: Date.now,
  });
  await countThisTab(); /* it hears by now: who counts it may wait for its answer */
  if (returned !== null) return arrive(provider, returned);
  if (hadPassword()) return true;
  if (await keeper.ask()) {
    auth.set({ canLogOut: true });
    return true;
  }
  if (known()?.in === true) {
    await toProvider("none");
    return false;
  }
  auth.set({ needed: true });
  return false;
}

async function arrive(provider: ProviderConfig, returned: URLSearchParams): Promise<boolean> {
  const before = known()?.name ?? null;
  const found = await (await import("./oidc")).finish(provider, returned);
  if (found.kind === "ask") {
    await toProvider(null);
    return false;
  }
  if (found.kind === "failed") {
    remember({ in: false });
    auth.set({ needed: true, reason: found.why });
    return false;
  }
  keeper?.set(found.tokens);
  fresh = true;
  rememberPassword(false);
  remember({ in: true, name: found.name });
  auth.set({ canLogOut: true, known: found.name });
  nameBefore = before;
  place = found;
  return true;
}

/* ------------------------------------------------------------------------ requests */

/* The same as before the way to the provider? */
export const wasHere = (user: string | null): boolean => user !== null && nameBefore === user;

/* A user of the provider, who can own nothing. */
export const isExternal = (): boolean => keeper?.get() != null;

/*
 * The header of a request, and the token in it; nothing without a sign-on. Before there is one, nothing is asked that
 * wants to know.
 */
export async function authorization(): Promise<{ headers: Record<string, string>; used: string | null }> {
  await settled;
  if (config !== null && keeper?.get() === null && !hadPassword()) throw new NobodyError("Log in first.");
  const used = keeper === null ? null : await keeper.bearer();
  return { headers: used === null ? {} : { Authorization: `Bearer ${used}` }, used };
}

/* 401. True: there is another token, try once more. */
export async function refused(used: string | null): Promise<boolean> {
  if (used !== null && keeper !== null) {
    if (!fresh && (await keeper.renew(used).catch(() => false))) return true;
    if (keeper.get() !== null) {
      keeper.set(null, "The server does not take the sign-on any more.");
      force = fresh; /* what the provider gave at once was not taken: it has to ask */
      ended(
        fresh
          ? "The server does not take the sign-on of the identity provider. Try another account; else " +
              "its administrator finds the reason in the log of the server."
          : "The server does not take your sign-on any more.",
      );
    }
    return false;
  }
  rememberPassword(false); /* its cookie is over */
  auth.set({ needed: auth.get().denied === null });
  return false;
}

const DENIED = /^Access denied for .* \[HTTP\]$/s;

/* 403: is it the whole server, and not a statement? */
export function lookAtDenial(body: string): void {
  try {
    const answer = JSON.parse(body) as { error?: unknown; reason?: unknown };
    if (typeof answer.error === "string" && DENIED.test(answer.error))
      onDenied(answer.error, typeof answer.reason === "string" ? answer.reason : "");
  } catch {
    /* another 403 */
  }
}

/* Restores the URL from which the sign-on started; `taken` skips this if another user started it. */
function backToPlace({ search, hash }: { search: string; hash: string }): void {
  if (location.search === "" && search !== "")
    history.replaceState(null, "", location.pathname + search + location.hash);
  if (hash !== "" && /^(#\/?)?$/.test(location.hash)) location.hash = hash;
}

/* The server has said who it is. */
export function taken(user: string | null): void {
  if (place !== null && (nameBefore === null || nameBefore === user)) backToPlace(place);
  place = null;
  if (keeper?.get() != null) remember({ in: true, ...(user === null ? {} : { name: user }) });
  fresh = false;
  force = false;
}

/* A download carries no header: a cookie of the server does, made of this token by `make`. */
export async function cookieForDownload(make: () => Promise<void>): Promise<void> {
  const used = keeper === null ? null : await keeper.bearer();
  if (used === null || used === cookieOf) return;
  await make();
  cookieOf = used;
}

export function reportAway(e: unknown): string | null {
  return e instanceof AwayError ? e.message : null;
}

export function leaveForProviderLogout(): void {
  const to = auth.get().providerLogout;
  if (to !== null) location.assign(to);
  else notify("The identity provider has no page to log out at.");
}

enterCredentials({ authorization, refused, lookAtDenial, cookieForDownload, reportAway });
