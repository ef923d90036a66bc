/*
 * What stands where: the table that a new panel, view, page or dialog is entered in. The shell draws them and knows
 * none of them by name.
 */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/Icon";

export interface SidePanel {
  id: string;
  title: string;
  icon: IconName;
  component: ComponentType;
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
export const pages: Page[] = [];
export const headItems: HeadItem[] = [];
export const overlays: Overlay[] = [];
