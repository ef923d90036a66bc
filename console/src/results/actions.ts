/*
 * What the grid offers, and layers above the results do: the editor and the boards. app/register.ts enters it when the
 * page starts.
 */
export interface ResultActions {
  insertText(word: string): void; /* into the editor */
  runInTab(sql: string, title: string): void; /* in a tab of its own */
  putOnBoard(sql: string): void; /* as a table; the user is asked on which board */
}

let entered: ResultActions | null = null;

export function enterActions(actions: ResultActions): void {
  entered = actions;
}

export function resultActions(): ResultActions {
  if (entered === null) throw new Error("No actions were entered: app/register.ts is not loaded.");
  return entered;
}
