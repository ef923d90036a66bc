/* All rows of places.ts, in the order in which they are seen. */
import {
  AddToBoard,
  BoardsPage,
  ChartView,
  ImportDialogs,
  InstanceSettings,
  ReferencePanel,
  SavedPanel,
  SchemaPanel,
  ServerPage,
  StatsView,
  TableDialog,
  TimeRange,
} from "./late";
import { ConfirmDialog } from "../ui/Confirm";
import { HistoryPanel } from "../features/history/HistoryPanel";
import { UserMenu } from "./UserMenu";
import { AskDialog } from "../editor/Ask";
import { Grid } from "../results/Grid";
import { isPlan, PlanView } from "../results/PlanView";
import { enterActions } from "../results/actions";
import { forgetRuns, type Run } from "../results/run";
import { resultViews } from "../results/views";
import { adding } from "../features/chart/adding";
import { runInTab } from "../editor/runInTab";
import { tabClosed } from "../editor/tabs";
import { insertText } from "../editor/view";
import { InstanceName } from "./Instance";
import { headItems, overlays, pages, sidePanels } from "./places";

/* Of all rows, when they are there. */
const hasAll = (run: Run) => run.state === "done" && (run.result?.count ?? 0) > 0;

sidePanels.push({ id: "schema", title: "Tables", icon: "database", component: SchemaPanel });
sidePanels.push({ id: "history", title: "History", icon: "history", component: HistoryPanel });
sidePanels.push(
  { id: "saved", title: "Saved queries", icon: "bookmark", component: SavedPanel },
  { id: "reference", title: "Functions and keywords", icon: "book", component: ReferencePanel },
);
resultViews.push({ id: "plan", title: "Plan", icon: "tree", fits: isPlan, component: PlanView });
resultViews.push({ id: "grid", title: "Table", icon: "table", fits: (run) => run.result !== null, component: Grid });
resultViews.push({ id: "chart", title: "Chart", icon: "chart", fits: hasAll, component: ChartView });
resultViews.push({ id: "stats", title: "Column statistics", icon: "stats", fits: hasAll, component: StatsView });
pages.push({ path: "/boards", title: "Boards", icon: "board", component: BoardsPage });
pages.push({ path: "/server", title: "Server", icon: "server", component: ServerPage });
headItems.push({ id: "instance", component: InstanceName }, { id: "user", component: UserMenu });
overlays.push({ id: "ask", component: AskDialog });
overlays.push(
  { id: "table", component: TableDialog },
  { id: "import", component: ImportDialogs },
  { id: "confirm", component: ConfirmDialog },
);
overlays.push(
  { id: "range", component: TimeRange },
  { id: "instance", component: InstanceSettings },
  { id: "board", component: AddToBoard },
);

/* What layers above do for the results, and what becomes of the runs of a tab. */
enterActions({ insertText, runInTab, putOnBoard: (sql) => adding.set({ cell: { text: sql, show: "table" } }) });
tabClosed.on(forgetRuns);
