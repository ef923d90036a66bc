/* Where rows and columns of the grid stand. Pure arithmetic, in CSS pixels. */

export const ROW_PX = 26;
export const HEAD_PX = 44;
export const NUMBERS_PX = 72; /* of the column with the numbers of the rows */
export const MIN_WIDTH = 48;
export const MAX_AUTO_WIDTH = 380;
/* Browsers cannot draw elements that are much higher; beyond it the scroll bar stands for more than it is long. */
const CANVAS_MAX = 12_000_000;

export interface ColumnPlace {
  index: number; /* in the result */
  x: number; /* from the left of its part */
  width: number;
}

export interface ColumnPlaces {
  frozen: ColumnPlace[];
  frozenWidth: number;
  rest: ColumnPlace[];
  restWidth: number;
}

/* `order`: result columns from left to right; the first `frozen` of them stay when the rest is scrolled. */
export function placeColumns(order: number[], widths: number[], frozen: number): ColumnPlaces {
  const out: ColumnPlaces = { frozen: [], frozenWidth: 0, rest: [], restWidth: 0 };
  order.forEach((index, at) => {
    const width = widths[index] ?? 120;
    if (at < frozen) {
      out.frozen.push({ index, x: out.frozenWidth, width });
      out.frozenWidth += width;
    } else {
      out.rest.push({ index, x: out.restWidth, width });
      out.restWidth += width;
    }
  });
  return out;
}

/* Columns that are seen between two places; list sorted by x. */
export function seenColumns(list: ColumnPlace[], left: number, right: number): ColumnPlace[] {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    const c = list[mid];
    if (c !== undefined && c.x + c.width <= left) lo = mid + 1;
    else hi = mid;
  }
  const out: ColumnPlace[] = [];
  for (let i = lo; i < list.length; i++) {
    const c = list[i];
    if (c === undefined || c.x >= right) break;
    out.push(c);
  }
  return out;
}

export const canvasHeight = (rows: number): number => Math.min(rows * ROW_PX, CANVAS_MAX);

/* From the scroll bar to pixels of all rows, and back. `view`: height of what is seen of them. */
export function toOffset(scrollTop: number, rows: number, view: number): number {
  const total = rows * ROW_PX;
  const canvas = canvasHeight(rows);
  if (canvas === total) return scrollTop;
  const room = canvas - view;
  return room <= 0 ? 0 : (Math.min(scrollTop, room) / room) * (total - view);
}

export function toScrollTop(offset: number, rows: number, view: number): number {
  const total = rows * ROW_PX;
  const canvas = canvasHeight(rows);
  if (canvas === total) return offset;
  return total <= view ? 0 : (offset / (total - view)) * (canvas - view);
}

/* Wide enough for the name, the type and the texts of some rows. */
export function autoWidth(name: string, type: string, texts: string[]): number {
  const longest = texts.reduce((n, t) => Math.max(n, t.length), 0);
  return Math.round(
    Math.max(
      MIN_WIDTH,
      Math.min(MAX_AUTO_WIDTH, Math.max(name.length * 8.2 + 36, type.length * 7.6 + 26, longest * 7.6 + 26)),
    ),
  );
}

/* What the scroller shows: from where, and how much of it there is. */
export interface View {
  top: number;
  left: number;
  width: number;
  height: number;
}

export interface Visible {
  left: number; /* where the columns begin that are scrolled */
  rowsHeight: number; /* that rows have below the head */
  offset: number; /* of all rows, what is scrolled away above */
  first: number;
  last: number; /* not included */
  rows: number[]; /* first to last */
  columns: ColumnPlace[]; /* of those that are scrolled */
}

/* What of `rows` rows and of the columns can be seen. */
export function visibleIn(view: View, places: ColumnPlaces, rows: number): Visible {
  const left = NUMBERS_PX + places.frozenWidth;
  const rowsHeight = Math.max(0, view.height - HEAD_PX);
  const offset = toOffset(view.top, rows, rowsHeight);
  const first = Math.floor(offset / ROW_PX);
  const last = Math.min(rows, Math.ceil((offset + rowsHeight) / ROW_PX));
  return {
    left,
    rowsHeight,
    offset,
    first,
    last,
    rows: Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i),
    columns: seenColumns(places.rest, view.left, view.left + Math.max(0, view.width - left)),
  };
}
