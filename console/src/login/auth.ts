/* Who is at the page. Ways to sign on set this store: the form (Login.tsx), the identity provider (signon.ts). */
import { createStore } from "../state/store";

export interface Auth {
  needed: boolean; /* the server asks for a login */
  reason: string | null; /* why, or why the last one failed: shown above the form */
  denied: { message: string; reason: string } | null; /* known to the server, but not let in */
  user: string | null; /* as the server calls the signed-in user */
  canLogOut: boolean; /* there is a login that can be ended */
  provider: boolean; /* an identity provider can be asked, too */
  known: string | null; /* name of who signed on here last */
  providerLogout: string | null; /* where the provider's own session can be ended, too */
}
export const auth = createStore<Auth>({
  needed: false,
  reason: null,
  denied: null,
  user: null,
  canLogOut: false,
  provider: false,
  known: null,
  providerLogout: null,
});
