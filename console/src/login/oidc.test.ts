/*
 * Goal: what is sent to the provider is what the rules ask for, and of its answers only the right one counts. Method:
 * a token end point made here, whose ID tokens and errors are wrong in one way after the other; the real provider is
 * for e2e/signon.test.ts.
 */
import { beforeEach, expect, test, vi } from "vitest";
import { address, providerOf } from "./config";
import { begin, finish, type ProviderConfig, renew } from "./oidc";

const CONFIG: ProviderConfig = {
  clientId: "almanac",
  scope: "openid profile",
  redirect: null,
  issuer: "http://127.0.0.1:1",
  authorization: "http://127.0.0.1:1/auth?x=1",
  token: "http://127.0.0.1:1/token",
  endSession: null,
  idToken: false,
};
const kept = new Map<string, string>();
let asked: Array<{ url: string; body: URLSearchParams; headers: Headers }> = [];
let answer: () => Response | Promise<Response>;

beforeEach(() => {
  kept.clear();
  asked = [];
  vi.stubGlobal("sessionStorage", {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => kept.set(k, v),
    removeItem: (k: string) => kept.delete(k),
  });
  vi.stubGlobal("location", {
    origin: "http://127.0.0.1:9000",
    pathname: "/index.html",
    search: "?a=b",
    hash: "#/server",
  });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    asked.push({ url: String(url), body: new URLSearchParams(String(init.body)), headers: new Headers(init.headers) });
    return answer();
  });
});

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=/g, "");
const part = (o: object) => base64url(new TextEncoder().encode(JSON.stringify(o)));
const sha256 = async (text: string) =>
  base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
const now = () => Math.floor(Date.now() / 1000);
const json = (o: object, status = 200) =>
  new Response(JSON.stringify(o), { status, headers: { "Content-Type": "application/json" } });
const tokens = (claims: object, more: object = {}) => {
  const body = {
    iss: "http://127.0.0.1:1",
    aud: "almanac",
    sub: "alice",
    name: "Älice",
    iat: now(),
    exp: now() + 600,
    ...claims,
  };
  return json({
    access_token: "at",
    token_type: "Bearer",
    expires_in: 300,
    refresh_token: "rt",
    id_token: `${part({ alg: "RS256" })}.${part(body)}.${part({})}`,
    ...more,
  });
};

async function started(prompt: "none" | "login" | null = null) {
  const to = new URL(await begin(CONFIG, prompt));
  return { to, state: to.searchParams.get("state") ?? "", nonce: to.searchParams.get("nonce") ?? "" };
}
const returned = (params: Record<string, string>) =>
  new URLSearchParams({ code: "c", iss: "http://127.0.0.1:1", ...params });

test("the request: PKCE S256, state and nonce of 256 bits, the page as redirect; the verifier stays here", async () => {
  const { to, state, nonce } = await started("none");
  const { verifier } = JSON.parse(kept.get("almanac.signon") ?? "") as { verifier: string };
  expect(Object.fromEntries(to.searchParams)).toEqual({
    x: "1",
    client_id: "almanac",
    response_type: "code",
    scope: "openid profile",
    redirect_uri: "http://127.0.0.1:9000/index.html",
    code_challenge: await sha256(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
    prompt: "none",
  });
  expect([verifier.length, state.length, nonce.length].map((n) => n >= 43)).toEqual([true, true, true]);
  expect(new Set([verifier, state, nonce, (await started()).state]).size).toBe(4);
});

test("the answer: the code is exchanged once, with verifier and redirect; the page's address comes back", async () => {
  const { state, nonce } = await started();
  answer = () => tokens({ nonce });
  const found = await finish(CONFIG, returned({ state }));
  expect(found).toMatchObject({
    kind: "in",
    name: "Älice",
    search: "?a=b",
    hash: "#/server",
    tokens: { bearer: "at", refresh: "rt" },
  });
  expect(Object.fromEntries(asked[0]?.body ?? [])).toMatchObject({
    grant_type: "authorization_code",
    code: "c",
    client_id: "almanac",
    redirect_uri: "http://127.0.0.1:9000/index.html",
    code_verifier: expect.stringMatching(/^.{43}/),
  });
  expect([...kept.keys()]).toEqual([]);
  expect(await finish(CONFIG, returned({ state }))).toMatchObject({
    kind: "failed",
    why: expect.stringContaining("not the answer to a sign-on"),
  });
  expect(asked.length).toBe(1);
});

test("a foreign or missing state is refused before anything is sent, and ends the sign-on that was begun", async () => {
  for (const params of [{ state: "foreign" }, {}]) {
    const { state } = await started();
    expect(await finish(CONFIG, returned(params as Record<string, string>))).toMatchObject({ kind: "failed" });
    expect(await finish(CONFIG, returned({ state }))).toMatchObject({ kind: "failed" });
  }
  expect(asked).toEqual([]);
});

test("ID tokens that are of another sign-on, issuer, application or time", async () => {
  for (const claims of [
    { nonce: "other" },
    { nonce: undefined },
    { iss: "http://127.0.0.1:2" },
    { aud: "other-app" },
    { exp: now() - 60 },
    { sub: undefined },
    { aud: ["almanac", "b"], azp: "b" },
  ]) {
    const { state, nonce } = await started();
    answer = () => tokens({ nonce, ...claims });
    expect(await finish(CONFIG, returned({ state })), JSON.stringify(claims)).toMatchObject({
      kind: "failed",
      why: expect.stringContaining("was not taken"),
    });
  }
  const { state } = await started();
  answer = () => tokens({}, { id_token: undefined });
  expect(await finish(CONFIG, returned({ state }))).toMatchObject({ kind: "failed" });
  const other = await started();
  expect(await finish(CONFIG, returned({ state: other.state, iss: "http://127.0.0.1:2" }))).toMatchObject({
    kind: "failed",
  });
});

test("errors of the provider are texts; a silent sign-on that has to ask is no error", async () => {
  let { state } = await started();
  expect(
    await finish(CONFIG, new URLSearchParams({ state, error: "access_denied", error_description: "<b>no</b>" })),
  ).toEqual({ kind: "failed", why: "The identity provider says: <b>no</b>" });
  ({ state } = await started("none"));
  expect(await finish(CONFIG, new URLSearchParams({ state, error: "login_required" }))).toEqual({ kind: "ask" });
  ({ state } = await started());
  expect(await finish(CONFIG, new URLSearchParams({ state, error: "login_required" }))).toMatchObject({
    kind: "failed",
  });
  for (const [reply, why] of [
    [
      () => json({ error: "invalid_grant", error_description: "grant request is invalid" }, 400),
      "The identity provider says: grant request is invalid",
    ],
    [() => Promise.reject(new TypeError("Failed to fetch")), "The identity provider does not answer."],
  ] as const) {
    ({ state } = await started());
    answer = reply;
    expect(await finish(CONFIG, returned({ state }))).toEqual({ kind: "failed", why });
  }
  for (const reply of [() => new Response("<html>"), () => json({ access_token: 5 }), () => json([])]) {
    ({ state } = await started());
    answer = reply;
    expect(await finish(CONFIG, returned({ state }))).toMatchObject({ kind: "failed" });
  }
});

test("renewal: rotated or kept refresh token, the end, and a provider that is away", async () => {
  const old = { bearer: "at", refresh: "rt", id: "x", from: 0, until: 1 };
  answer = () => json({ access_token: "at2", token_type: "bearer", expires_in: 10 });
  expect(await renew(CONFIG, old)).toMatchObject({ kind: "new", tokens: { bearer: "at2", refresh: "rt", id: "x" } });
  answer = () => tokens({}, { access_token: "at3", refresh_token: "rt3" });
  expect(await renew(CONFIG, old)).toMatchObject({ kind: "new", tokens: { bearer: "at3", refresh: "rt3" } });
  answer = () => json({ error: "invalid_grant" }, 400);
  expect(await renew(CONFIG, old)).toMatchObject({ kind: "over" });
  answer = () => json({}, 503);
  expect(await renew(CONFIG, old)).toMatchObject({ kind: "away" });
  answer = () => Promise.reject(new TypeError("Failed to fetch"));
  expect(await renew(CONFIG, old)).toMatchObject({ kind: "away" });
});

test("where groups are in the ID token, that is what requests carry, as long as it lives", async () => {
  const { state, nonce } = await started();
  answer = () => tokens({ nonce, exp: now() + 60 });
  const found = await finish({ ...CONFIG, idToken: true, issuer: null }, returned({ state }));
  if (found.kind !== "in") throw new Error(JSON.stringify(found));
  expect(found.tokens.bearer.split(".").length).toBe(3);
  expect(found.tokens.until - found.tokens.from).toBe(60_000);
});

test("settings: addresses of the web alone, nothing without client and end points", () => {
  const config = {
    "acl.oidc.enabled": true,
    "acl.oidc.client.id": "a",
    "acl.oidc.authorization.endpoint": "https://p/a",
    "acl.oidc.token.endpoint": "https://p/t",
    "acl.oidc.redirect.uri": null,
  };
  expect(providerOf(config)).toEqual({
    clientId: "a",
    scope: "openid profile",
    redirect: null,
    issuer: null,
    authorization: "https://p/a",
    token: "https://p/t",
    endSession: null,
    idToken: false,
  });
  for (const wrong of [
    { "acl.oidc.enabled": false },
    { "acl.oidc.client.id": null },
    { "acl.oidc.authorization.endpoint": "javascript:alert(1)" },
    { "acl.oidc.token.endpoint": "/t" },
  ])
    expect(providerOf({ ...config, ...wrong })).toBe(null);
  expect([address("data:text/html,x"), address("http://p/x"), address(null)]).toEqual([null, "http://p/x", null]);
});
