/* What can be done with a board as a whole. */
import { toClipboard } from "../../results/copy";
import { go } from "../../state/route";
import { confirm } from "../../ui/Confirm";
import { notify } from "../../ui/notice";
import { boardPath, boardText } from "./board";
import { boards, loadBoards, putBoard } from "./store";
import type { BoardModel } from "./useBoard";

export const told = (e: unknown) => notify(e instanceof Error ? e.message : String(e), "error");

export async function saveBoard({ name, draft, leave }: BoardModel): Promise<void> {
  if (draft === null) return;
  if ((await putBoard(name, boardText(draft.board), draft.before)) === "changed")
    return notify(
      "Somebody else has changed this board meanwhile. Copy what you need, then take your changes " +
        "back to see theirs.",
      "error",
    );
  notify("The board is saved on the server.");
  leave();
}

export async function renameBoard({ name, json, setNaming }: BoardModel, next: string): Promise<void> {
  if (next !== name && (await putBoard(next, json, json, name)) === "changed")
    throw new Error("There is a board of this name, or this one was changed meanwhile.");
  setNaming(false);
  if (next !== name) go(boardPath(next));
}

export async function copyBoard({ name, json }: BoardModel): Promise<void> {
  let next = `${name} (copy)`;
  while (boards.get().list.some((b) => b.name === next)) next += "'";
  if ((await putBoard(next, json, null)) === "kept") go(boardPath(next));
}

/* With what the reader has chosen. */
export function copyLink({ name, range, values }: BoardModel, more: Record<string, string> = {}): void {
  const path = boardPath(name, { ...(range === null ? {} : { range }), ...values, ...more });
  void toClipboard(`${location.href.split("#")[0]}#${path}`).then(() => notify("The link was copied."), told);
}

export function removeBoard({ name, json }: BoardModel): void {
  confirm({
    title: `Delete ${name}?`,
    text: "The board goes for all who use this server.",
    verb: "Delete",
    name,
    run: async () => {
      if ((await putBoard(name, null, json)) === "changed") {
        await loadBoards();
        throw new Error("The board was changed meanwhile.");
      }
      go("/boards");
    },
  });
}
