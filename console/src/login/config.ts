/* What /settings says about the identity provider; null: there is none, or its end points are not known (yet). Pure. */
import type { ProviderConfig } from "./oidc";

const text = (config: Record<string, unknown>, key: string): string | null => {
  const value = config[`acl.oidc.${key}`];
  return typeof value === "string" && value !== "" ? value : null;
};

/* An address of the web and no other: what the browser is sent to. */
export function address(value: string | null): string | null {
  if (value === null || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

export const hasProvider = (config: Record<string, unknown>): boolean => config["acl.oidc.enabled"] === true;

export function providerOf(config: Record<string, unknown>): ProviderConfig | null {
  const clientId = text(config, "client.id");
  const authorization = address(text(config, "authorization.endpoint"));
  const token = address(text(config, "token.endpoint"));
  if (!hasProvider(config) || clientId === null || authorization === null || token === null) return null;
  return {
    clientId,
    authorization,
    token,
    scope: text(config, "scope") ?? "openid profile",
    redirect: address(text(config, "redirect.uri")),
    issuer: text(config, "issuer"),
    endSession: address(text(config, "end.session.endpoint")),
    idToken: config["acl.oidc.groups.encoded.in.token"] === true,
  };
}
