/* Who is here, in the head of the page: their rights, and the way out. */
import { logout } from "../api/client";
import { instance } from "../api/instance";
import { runInTab } from "../editor/runInTab";
import { auth } from "../login/auth";
import { loggedOut } from "../login/Login";
import { announceLeaving } from "../login/others";
import { hadPassword, isExternal, logOutOfProvider } from "../login/signon";
import { quoteName } from "../sql/lexer";
import { quit } from "../state/owner";
import { useStore } from "../state/store";
import { MenuButton } from "../ui/Menu";
import { notify } from "../ui/notice";

/* Groups at the provider with what they are here, null where nothing is; then what may be done. */
function myRights(user: string): void {
  if (isExternal()) runInTab("SELECT * FROM my_external_groups();", "My groups");
  runInTab(`SHOW PERMISSIONS ${quoteName(user, () => true)};`, "My permissions");
}

export function UserMenu() {
  const { user, canLogOut, provider } = useStore(auth, (a) => a);
  if (user === null) return null;
  const end = async () => {
    announceLeaving();
    if (provider && !hadPassword()) return logOutOfProvider(logout);
    await quit();
    try {
      await logout();
    } catch {
      /* it was over already */
    }
    loggedOut(null);
    notify("Logged out.");
  };
  const access = instance.get().config["release.type"] === "EE";
  if (!canLogOut) return <span class="user-name">{user}</span>;
  return (
    <MenuButton
      icon="user"
      label={`Signed in as ${user}`}
      items={() => [
        ...(access ? [{ title: "My groups and permissions", run: () => myRights(user) }] : []),
        { title: "Log out", run: () => void end() },
      ]}
    >
      <span class="user-name">{user}</span>
    </MenuButton>
  );
}
