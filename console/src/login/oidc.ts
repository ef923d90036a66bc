/*
 * The exchange with the identity provider: OpenID Connect, authorization code with PKCE (S256), state and nonce. What
 * belongs to one sign-on stands in the session storage of this tab until the answer comes, and goes before that is
 * looked at: no answer counts twice. Nothing of a token is stored.
 */
import * as oauth from "oauth4webapi";
import type { Renewed, Tokens } from "./tokens";

export interface ProviderConfig {
  clientId: string;
  scope: string;
  redirect: string | null; /* null: this page */
  issuer: string | null; /* null: not known, and not checked */
  authorization: string;
  token: string;
  endSession: string | null;
  idToken: boolean; /* requests carry the ID token */
}

interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  redirect: string;
  silent: boolean; /* the provider may ask nothing */
  search: string; /* of the page, to be put back */
  hash: string;
}

export type Finished =
  | { kind: "in"; tokens: Tokens; name: string | null; search: string; hash: string }
  | { kind: "ask" }
  | { kind: "failed"; why: string };

const FLOW = "almanac.signon";
/* Of a silent sign-on: it has to ask, after all (OpenID Connect Core, 3.1.2.6). */
const ASKS = ["login_required", "interaction_required", "consent_required", "account_selection_required"];

const insecure = (address: string) => ({ [oauth.allowInsecureRequests]: new URL(address).protocol === "http:" });
const clientOf = (config: ProviderConfig): oauth.Client => ({
  client_id: config.clientId,
  token_endpoint_auth_method: "none",
});
const serverOf = (config: ProviderConfig, issuer: string): oauth.AuthorizationServer => ({
  issuer,
  authorization_endpoint: config.authorization,
  token_endpoint: config.token,
});

function takeFlow(): Flow | null {
  const text = sessionStorage.getItem(FLOW);
  sessionStorage.removeItem(FLOW);
  try {
    return text === null ? null : (JSON.parse(text) as Flow);
  } catch {
    return null;
  }
}

/* Where to go. prompt "none": without asking; "login": another account. */
export async function begin(config: ProviderConfig, prompt: "none" | "login" | null): Promise<string> {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error("This browser signs on over https, or on the computer of the server, alone.");
  const verifier = oauth.generateRandomCodeVerifier();
  const flow: Flow = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier,
    redirect: config.redirect ?? location.origin + location.pathname,
    silent: prompt === "none",
    search: location.search,
    hash: location.hash,
  };
  sessionStorage.setItem(FLOW, JSON.stringify(flow));
  const to = new URL(config.authorization);
  const params = {
    client_id: config.clientId,
    response_type: "code",
    scope: config.scope,
    redirect_uri: flow.redirect,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state: flow.state,
    nonce: flow.nonce,
  };
  for (const [key, value] of Object.entries(params)) to.searchParams.set(key, value);
  if (prompt !== null) to.searchParams.set("prompt", prompt);
  return to.href;
}

/* Texts of the provider are shown as texts, and no longer than this. */
const said = (text: unknown): string => String(text).slice(0, 300);
function why(e: unknown): string {
  if (e instanceof oauth.AuthorizationResponseError || e instanceof oauth.ResponseBodyError)
    return `The identity provider says: ${said(e.error_description ?? e.error)}`;
  if (e instanceof TypeError) return "The identity provider does not answer.";
  return e instanceof Error ? `The answer of the identity provider was not taken: ${said(e.message)}` : said(e);
}

function claim(idToken: unknown, name: string): string | null {
  try {
    const body = String(idToken).split(".")[1] ?? "";
    const bytes = Uint8Array.from(atob(body.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const value = (JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>)[name];
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/* Where the issuer is not known, it is what the token says: that came from the token end point itself. */
async function issuerOf(config: ProviderConfig, response: Response): Promise<string> {
  if (config.issuer !== null) return config.issuer;
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { id_token?: unknown } | null;
  return claim(body?.id_token, "iss") ?? new URL(config.token).origin;
}

const LIFE_SECONDS = 300; /* of tokens that do not say */

function tokensOf(config: ProviderConfig, found: oauth.TokenEndpointResponse, old: Tokens | null): Tokens {
  const from = Date.now();
  const claims = oauth.getValidatedIdTokenClaims(found);
  const id = found.id_token ?? old?.id ?? null;
  if (config.idToken && found.id_token === undefined) throw new Error("there is no ID token in it");
  const life = config.idToken && claims !== undefined ? claims.exp - claims.iat : (found.expires_in ?? LIFE_SECONDS);
  return {
    bearer: config.idToken ? (found.id_token ?? "") : found.access_token,
    refresh: found.refresh_token ?? old?.refresh ?? null,
    id,
    from,
    until: from + life * 1000,
  };
}

/* params: what the provider sent to the page. */
export async function finish(config: ProviderConfig, params: URLSearchParams): Promise<Finished> {
  const flow = takeFlow();
  if (flow === null || params.get("state") !== flow.state)
    return { kind: "failed", why: "This is not the answer to a sign-on that was begun in this tab. Sign on again." };
  const client = clientOf(config);
  try {
    const server = serverOf(config, config.issuer ?? params.get("iss") ?? new URL(config.authorization).origin);
    const checked = oauth.validateAuthResponse(server, client, params, flow.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      checked,
      flow.redirect,
      flow.verifier,
      { ...insecure(config.token), signal: AbortSignal.timeout(30_000) },
    );
    const known = serverOf(config, await issuerOf(config, response));
    const found = await oauth.processAuthorizationCodeResponse(known, client, response, {
      expectedNonce: flow.nonce,
      requireIdToken: true,
    });
    return {
      kind: "in",
      tokens: tokensOf(config, found, null),
      name: claim(found.id_token, "name"),
      search: flow.search,
      hash: flow.hash,
    };
  } catch (e) {
    if (flow.silent && e instanceof oauth.AuthorizationResponseError && ASKS.includes(e.error)) return { kind: "ask" };
    return { kind: "failed", why: why(e) };
  }
}

export async function renew(config: ProviderConfig, old: Tokens): Promise<Renewed> {
  const client = clientOf(config);
  try {
    const server = serverOf(config, config.issuer ?? new URL(config.token).origin);
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), old.refresh ?? "", {
      ...insecure(config.token),
      signal: AbortSignal.timeout(30_000),
    });
    if (response.status >= 500) return { kind: "away", why: "The identity provider does not answer." };
    const found = await oauth.processRefreshTokenResponse(
      serverOf(config, await issuerOf(config, response)),
      client,
      response,
    );
    return { kind: "new", tokens: tokensOf(config, found, old) };
  } catch (e) {
    if (e instanceof TypeError || (e instanceof DOMException && e.name === "TimeoutError"))
      return { kind: "away", why: "The identity provider does not answer." };
    return { kind: "over", why: `Your sign-on has ended. ${why(e)}` };
  }
}

/* Ends the provider's own session, where it has such an end point. */
export function endSession(config: ProviderConfig, id: string | null): string | null {
  if (config.endSession === null) return null;
  const to = new URL(config.endSession);
  to.searchParams.set("client_id", config.clientId);
  if (id !== null) to.searchParams.set("id_token_hint", id);
  return to.href;
}
