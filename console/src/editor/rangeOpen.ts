/* Is the dialog of the time range open? Its code comes when it is. */
import { createUserStore } from "../state/owner";

export const range = createUserStore<{ open: boolean }>({ open: false });
