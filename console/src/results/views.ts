/*
 * The views of a result, in the order of their buttons: layers above enter them, and Results.tsx knows none of them
 * by name.
 */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/Icon";
import type { Run } from "./run";

/* A way to look at the result of a run: the grid, a chart ... */
export interface ResultView {
  id: string;
  title: string;
  icon: IconName;
  fits: (run: Run) => boolean; /* greyed where it does not */
  component: ComponentType<{ run: Run }>;
}

export const resultViews: ResultView[] = [];
