/* The name of the server in the head of the page, and its warnings. */
import { instance } from "../api/instance";
import { createUserStore } from "../state/owner";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { MenuButton } from "../ui/Menu";
import { notify } from "../ui/notice";

export const editing = createUserStore<{ open: boolean }>({ open: false });

export function InstanceName() {
  const { name, type, description, colour, version, warnings: list } = useStore(instance, (i) => i);
  return (
    <>
      {list.length > 0 && (
        <MenuButton
          icon="warning"
          label={`${list.length} warnings of the server`}
          items={() => list.map((w) => ({ title: w.warning, run: () => notify(`${w.tag}: ${w.warning}`) }))}
        >
          {String(list.length)}
        </MenuButton>
      )}
      <Button
        class={colour === "" ? "button instance" : `button instance tag-${colour}`}
        label={
          description === ""
            ? "Instance and version of the server: change name and colour"
            : `${description}: change name and colour`
        }
        onClick={() => editing.set({ open: true })}
      >
        {name !== "" && <strong>{name}</strong>}
        {type !== "" && <span class="instance-type">{type}</span>}
        <span>{version}</span>
      </Button>
    </>
  );
}
