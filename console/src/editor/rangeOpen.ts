/* Is the dialog of the time range open? Its code comes when it is. */
import { createStore } from "../state/store";

export const range = createStore<{ open: boolean }>({ open: false });
