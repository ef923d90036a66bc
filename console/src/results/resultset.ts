/*
 * The rows of one statement, page by page. Pages come from the server as they are looked at, and the ones looked at
 * longest ago go when there are too many. The server holds the rows (snapshots in docs/reference/rest.md): page 2
 * belongs to page 1, and what is written meanwhile changes nothing. The first page may be there while the rows behind
 * it are still made.
 */
import { ApiError, dropSnapshot, snapshotRows } from "../api/client";
import type { Column, Row, RowsAnswer } from "../api/types";

const PAGES_MAX = 200;

export class ResultSet {
  readonly columns: Column[];
  readonly timestamp: number;
  count: number;
  cut: boolean; /* there were more rows than the server holds of one result */
  pending: boolean; /* the rows behind the first page are still being made, and not counted */
  problem: string | null = null; /* why pages cannot be had */
  snapshot: string | null; /* the name under which the server holds the rows; null: it does not */
  private readonly pages = new Map<number, Row[]>();
  private readonly asked = new Map<number, Promise<void>>();
  private readonly watchers = new Set<() => void>();

  constructor(
    readonly sql: string,
    answer: RowsAnswer,
    readonly pageRows: number,
    readonly params: string /* of the statement, as they were sent */,
    pending = false,
  ) {
    this.pending = pending;
    this.snapshot = answer.snapshot;
    this.columns = answer.columns;
    this.timestamp = answer.timestamp;
    this.count = answer.count;
    this.cut = !answer.complete;
    this.pages.set(0, answer.dataset);
  }

  /* All rows are there; null: the statement did not come to its end, and these are all there will be. */
  settle(answer: RowsAnswer | null): void {
    this.pending = false;
    if (answer === null) this.problem = "The statement did not end: these are its first rows.";
    else {
      this.count = answer.count;
      this.cut = !answer.complete;
      this.snapshot = answer.snapshot;
    }
    for (const run of this.watchers) run();
  }

  subscribe(run: () => void): () => void {
    this.watchers.add(run);
    return () => this.watchers.delete(run);
  }

  /* undefined: not here yet; it is fetched if `load` says so. */
  row(i: number, load = true): Row | undefined {
    const page = Math.floor(i / this.pageRows);
    const found = this.pages.get(page);
    if (found !== undefined) return found[i - page * this.pageRows];
    if (load) void this.load(page);
    return undefined;
  }

  /* All of them here? */
  get complete(): boolean {
    return [...this.pages.values()].reduce((n, rows) => n + rows.length, 0) >= this.count;
  }

  loaded(): Array<{ from: number; rows: Row[] }> {
    return [...this.pages].sort((a, b) => a[0] - b[0]).map(([page, rows]) => ({ from: page * this.pageRows, rows }));
  }

  load(page: number): Promise<void> {
    const running = this.asked.get(page);
    if (running !== undefined || this.pages.has(page)) return running ?? Promise.resolve();
    const work = this.fetchPage(page).finally(() => this.asked.delete(page));
    this.asked.set(page, work);
    return work;
  }

  private async fetchPage(page: number): Promise<void> {
    const first = page * this.pageRows;
    try {
      if (this.snapshot === null)
        throw new ApiError(404, "The server does not hold these rows any more: run the statement again.");
      this.keep(page, await snapshotRows(this.snapshot, first + 1, first + this.pageRows));
      this.problem = null;
    } catch (e) {
      this.problem = e instanceof ApiError ? e.message : String(e);
    }
    for (const run of this.watchers) run();
  }

  private keep(page: number, rows: Row[]): void {
    this.pages.set(page, rows);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= PAGES_MAX) break;
      if (old !== 0) this.pages.delete(old);
    }
  }

  /* The rows are not looked at any more: the server may let them go. */
  drop(): void {
    if (this.snapshot !== null && this.count > this.pageRows) void dropSnapshot(this.snapshot).catch(() => undefined);
    this.snapshot = null;
  }

  /* The pages of a stretch of rows, so that all of it can be copied. */
  async rows(from: number, to: number): Promise<Row[]> {
    const out: Row[] = [];
    for (let i = from; i < to; i++) {
      const page = Math.floor(i / this.pageRows);
      if (!this.pages.has(page)) await this.load(page);
      const row = this.row(i, false);
      if (row === undefined) throw new Error(this.problem ?? "rows are missing");
      out.push(row);
    }
    return out;
  }
}
