/*
 * The page before the page: user and password, or the identity provider, when the server asks who is there; and for
 * whom it does not let in.
 */
import { useState } from "preact/hooks";
import { loadCatalog } from "../api/catalog";
import { setOwner } from "../state/owner";
import { ApiError, login, publicSettings, rows } from "../api/client";
import { loadInstance } from "../api/instance";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { auth } from "./auth";
import {
  hadPassword,
  isExternal,
  leaveForProviderLogout,
  LOGGED_OUT,
  PROVIDER_AWAY,
  rememberPassword,
  taken,
  toProvider,
} from "./signon";

/*
 * Asks the server for the current user and makes it the owner of the page. adopt: was this user's session active
 * before the page loaded? Only then are records without an owner, written by older versions, assigned to it.
 */
export async function loadUser(adopt: (user: string | null) => boolean = () => false): Promise<void> {
  const [found, facts] = await Promise.all([
    rows<{ user: string | null }>('SELECT current_user() AS "user"'),
    publicSettings(),
  ]);
  const user = found[0]?.user ?? null;
  taken(user);
  const asksNobody = facts.config["acl.enabled"] !== true; /* then all are one, whatever it calls them */
  await setOwner(asksNobody ? "" : `${isExternal() ? "sso" : "user"}:${user ?? ""}`, asksNobody || adopt(user));
  auth.set({
    needed: false,
    reason: null,
    denied: null,
    providerLogout: null,
    user,
    canLogOut: auth.get().canLogOut || hadPassword(),
  });
  await Promise.all([loadCatalog(), loadInstance()]);
}

const textOf = (value: FormDataEntryValue | null): string => (typeof value === "string" ? value : "");

function PasswordForm({ onProblem }: { onProblem: (text: string | null) => void }) {
  const [busy, setBusy] = useState(false);
  const submit = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    setBusy(true);
    try {
      await login(textOf(data.get("user")), textOf(data.get("password")));
      rememberPassword(true);
      onProblem(null);
      await loadUser();
    } catch (e) {
      if (auth.get().denied === null)
        onProblem(
          e instanceof ApiError && e.status === 401
            ? "The server does not know this user with this password."
            : e instanceof Error
              ? e.message
              : String(e),
        );
    }
    setBusy(false);
  };
  return (
    <form
      class="form"
      onSubmit={(e) => {
        e.preventDefault();
        void submit(e.currentTarget);
      }}
    >
      <label>
        User
        <input name="user" autocomplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      <Button type="submit" class={auth.get().provider ? "button" : "button primary"} disabled={busy}>
        Log in
      </Button>
    </form>
  );
}

function ProviderButtons() {
  const { known, providerLogout } = useStore(auth, (a) => a);
  const [busy, setBusy] = useState(false);
  const go = async (prompt: "login" | null) => {
    setBusy(true);
    if (!(await toProvider(prompt))) setBusy(false);
  };
  return (
    <div class="form">
      <Button icon="key" class="button primary" data-first disabled={busy} onClick={() => void go(null)}>
        {known === null ? "Single sign-on" : `Continue as ${known}`}
      </Button>
      {known !== null && (
        <Button disabled={busy} class="button" onClick={() => void go("login")}>
          Choose another account
        </Button>
      )}
      {providerLogout !== null && (
        <Button class="button" onClick={leaveForProviderLogout}>
          Log out at the identity provider, too
        </Button>
      )}
    </div>
  );
}

function Denied({ message, reason }: { message: string; reason: string }) {
  const { provider } = useStore(auth, (a) => a);
  return (
    <Dialog title="You have no access">
      <div class="form" role="alert">
        <p>The server knows who you are, but does not let you in.</p>
        {reason !== "" && (
          <p>
            <strong>Reason:</strong> {reason}.
          </p>
        )}
        <p class="dim">{message}</p>
        <p class="dim">Whoever administers the server can change that.</p>
      </div>
      <div class="form login-choices">
        {provider && (
          <Button icon="key" class="button primary" onClick={() => void toProvider("login")}>
            Choose another account
          </Button>
        )}
        <Button class="button" onClick={() => auth.set({ denied: null, needed: true, reason: null, known: null })}>
          Back to the login
        </Button>
      </div>
    </Dialog>
  );
}

export function LoginDialog() {
  const { needed, reason, denied, provider } = useStore(auth, (a) => a);
  const away = reason === PROVIDER_AWAY;
  if (denied !== null) return <Denied {...denied} />;
  if (!needed) return null;
  return (
    <Dialog title="Log in">
      {reason !== null && (
        <p class={reason === LOGGED_OUT ? "login-reason said" : "login-reason"} role="alert">
          {reason}
        </p>
      )}
      {away && (
        <Button class="button" icon="refresh" onClick={() => location.reload()}>
          Try again
        </Button>
      )}
      {provider && <ProviderButtons />}
      {provider && <p class="login-or">or as a user of this server</p>}
      <PasswordForm onProblem={(text) => auth.set({ reason: text })} />
    </Dialog>
  );
}

/* The session of the form has ended, here or in another tab. */
export function loggedOut(reason: string | null): void {
  rememberPassword(false);
  void setOwner(null);
  auth.set({ needed: true, reason, user: null, canLogOut: false });
}
