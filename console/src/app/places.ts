/*
 * What stands where: the table that a new panel, view, page or dialog is entered in. The shell draws them and knows
 * none of them by name.
 */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/Icon";
import type { Run } from "../results/run";

export interface SidePanel {
  id: string;
  title: string;
  icon: IconName;
  component: ComponentType;
}
/* A way to look at the result of a run: the grid, a chart ... */
export interface ResultView {
  id: string;
  title: string;
  icon: IconName;
  fits: (run: Run) => boolean; /* greyed where it does not */
  component: ComponentType<{ run: Run }>;
}
/* Another page than the editor, behind #/path. */
export interface Page {
  path: string;
  title: string;
  icon: IconName;
  component: ComponentType;
}
/* Something in the head of the page, from left to right. */
export interface HeadItem {
  id: string;
  component: ComponentType;
}
/* Drawn beside everything: dialogs that open by a store of their own. */
export interface Overlay {
  id: string;
  component: ComponentType;
}

export const sidePanels: SidePanel[] = [];
export const resultViews: ResultView[] = [];
export const pages: Page[] = [];
export const headItems: HeadItem[] = [];
export const overlays: Overlay[] = [];
