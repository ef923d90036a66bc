/* Parts whose code comes when they are first wanted: they are no part of the first load. */
import { h } from "preact";
import { adding } from "../features/chart/adding";
import { range } from "../editor/rangeOpen";
import { importing } from "../features/import/open";
import { editing } from "./Instance";
import { shownTable } from "../features/schema/actions";
import { useStore } from "../state/store";
import { lazy } from "../ui/Lazy";

export const SchemaPanel = lazy(() => import("../features/schema/SchemaPanel").then((m) => m.SchemaPanel));

export const ChartView = lazy(() => import("../features/chart/ChartView").then((m) => m.ChartView));

export const ServerPage = lazy(() => import("../features/server/ServerPage").then((m) => m.ServerPage));

export const BoardsPage = lazy(() => import("../features/boards/BoardsPage").then((m) => m.BoardsPage));
const LateAdd = lazy(() => import("../features/boards/AddDialog").then((m) => m.AddDialog));
export const AddToBoard = () => (useStore(adding, (a) => a.cell !== null) ? h(LateAdd, {}) : null);

export const SavedPanel = lazy(() => import("../features/saved/SavedPanel").then((m) => m.SavedPanel));
export const ReferencePanel = lazy(() => import("../features/reference/ReferencePanel").then((m) => m.ReferencePanel));
export const StatsView = lazy(() => import("../features/stats/StatsView").then((m) => m.StatsView));

/* Nothing is fetched before the dialog is to be seen. */
const LateTable = lazy(() => import("../features/schema/TableDialog").then((m) => m.TableDialog));
export const TableDialog = () => (useStore(shownTable, (s) => s.table !== null) ? h(LateTable, {}) : null);

const LateRange = lazy(() => import("../editor/TimeRange").then((m) => m.TimeRangeDialog));
export const TimeRange = () => (useStore(range, (r) => r.open) ? h(LateRange, {}) : null);

const LateInstance = lazy(() => import("./InstanceDialog").then((m) => m.InstanceDialog));
export const InstanceSettings = () => (useStore(editing, (e) => e.open) ? h(LateInstance, {}) : null);

const LateImport = lazy(() => import("../features/import/Dialogs").then((m) => m.ImportDialogs));
export const ImportDialogs = () => (useStore(importing, (i) => i.open !== null) ? h(LateImport, {}) : null);
