/*
 * What became of the statements: a mark in the gutter for each that ran, with its time, and the error underlined where
 * the server says it is, explained behind its line. Marks move with the text; an error goes when its statement changes.
 */
import { type Diagnostic, forEachDiagnostic, setDiagnostics } from "@codemirror/lint";
import { type EditorState, RangeSet, StateEffect, StateField, type Transaction } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter, WidgetType } from "@codemirror/view";
import { shownMs } from "../results/format";
import type { Mistake } from "../api/client";
import type { Run } from "../results/run";
import { tokenize } from "../sql/lexer";

/* ------------------------------------------------------------------ gutter */

const SIGNS = { running: "▸", done: "✓", failed: "✗", cancelled: "■" } as const;
const WORDS = { running: "runs", done: "ok", failed: "failed", cancelled: "cancelled" } as const;

class RunMarker extends GutterMarker {
  constructor(
    readonly state: Run["state"],
    readonly ms: number,
    readonly runId: number,
  ) {
    super();
  }
  override eq(other: RunMarker): boolean {
    return other.state === this.state && other.ms === this.ms && other.runId === this.runId;
  }
  override toDOM(): Node {
    const span = document.createElement("span");
    span.className = `cm-run-mark-${this.state}`;
    const time = this.state === "running" ? "" : ` ${shownMs(this.ms)}`;
    span.textContent = SIGNS[this.state];
    const after = document.createElement("span");
    after.className = "cm-run-time";
    after.textContent = time;
    span.append(after);
    span.title = `${WORDS[this.state]}${time}`;
    span.dataset.run = String(this.runId);
    return span;
  }
}

export const setRuns = StateEffect.define<Run[]>();

const runMarks = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(marks, tr) {
    let now = tr.state.doc.length === 0 ? RangeSet.empty : marks.map(tr.changes); /* nothing is left that ran */
    for (const e of tr.effects) if (e.is(setRuns) && tr.state.doc.length > 0) now = marksOf(tr.state, e.value);
    return now;
  },
});

function marksOf(state: EditorState, runs: Run[]): RangeSet<GutterMarker> {
  const byLine = new Map<number, Run>();
  for (const r of runs) byLine.set(state.doc.lineAt(Math.min(r.from, state.doc.length)).from, r);
  const list = [...byLine]
    .sort((a, b) => a[0] - b[0])
    .map(([line, r]) => new RunMarker(r.state, r.durationMs, r.id).range(line));
  return RangeSet.of(list);
}

/* ------------------------------------------------------------------- error */

class Beside extends WidgetType {
  constructor(readonly text: string) {
    super();
  }
  override eq(other: Beside): boolean {
    return other.text === this.text;
  }
  override toDOM(): HTMLElement {
    const span = document.createElement("span");
    span.className = "cm-error-beside";
    span.textContent = this.text;
    return span;
  }
}

const setBeside = StateEffect.define<{ at: number; text: string } | null>();

const beside = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(found, tr: Transaction) {
    let now = tr.docChanged ? Decoration.none : found;
    for (const e of tr.effects)
      if (e.is(setBeside)) {
        if (e.value === null) now = Decoration.none;
        else {
          const line = tr.state.doc.lineAt(Math.min(e.value.at, tr.state.doc.length));
          now = Decoration.set([Decoration.widget({ widget: new Beside(e.value.text), side: 1 }).range(line.to)]);
        }
      }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/* The whole token at a place; at the end of the text, the last one. */
export function tokenAt(text: string, at: number): { from: number; to: number } {
  const all = tokenize(text).filter((t) => t.kind !== "comment");
  const found = all.find((t) => at >= t.from && at < t.to) ?? all.find((t) => t.from >= at) ?? all[all.length - 1];
  return found === undefined ? { from: 0, to: text.length } : { from: found.from, to: found.to };
}

/* A position of a statement is one of its own text; `from` is where that stands in the document. */
export function showError(view: EditorView, from: number, statement: string, position: number, message: string): void {
  const token = position < 0 ? { from: 0, to: statement.length } : tokenAt(statement, position);
  const length = view.state.doc.length;
  const range = { from: Math.min(from + token.from, length), to: Math.min(from + token.to, length) };
  const others = diagnostics(view.state, TYPED).filter((d) => d.from !== range.from);
  view.dispatch({ effects: setBeside.of({ at: range.from, text: message }) });
  view.dispatch(setDiagnostics(view.state, [{ ...range, severity: "error", message, markClass: RAN }, ...others]));
}

export function clearError(view: EditorView): void {
  view.dispatch({ effects: setBeside.of(null) });
  view.dispatch(setDiagnostics(view.state, diagnostics(view.state, TYPED)));
}

/* Underlined, too: errors of the run, and those that were found while typing. */
const RAN = "cm-error-ran";
const TYPED = "cm-error-typed";

function diagnostics(state: EditorState, kind: string): Diagnostic[] {
  const out: Diagnostic[] = [];
  forEachDiagnostic(state, (d, from, to) => d.markClass === kind && to > from && out.push({ ...d, from, to }));
  return out;
}

/* Those found before go. The error of a run stays until the text changes; what is known by it is not said twice. */
export function showMistakes(view: EditorView, list: Mistake[]): void {
  const ran = view.state.field(beside).size > 0 ? diagnostics(view.state, RAN) : [];
  const length = view.state.doc.length;
  const typed = list
    .filter((m) => m.to <= length && !ran.some((d) => d.from === m.from))
    .map((m): Diagnostic => ({ from: m.from, to: m.to, severity: "error", message: m.message, markClass: TYPED }));
  const shown = [...ran, ...typed];
  const now = [...diagnostics(view.state, RAN), ...diagnostics(view.state, TYPED)];
  const key = (d: Diagnostic) => `${d.from} ${d.to} ${d.message}`;
  if (shown.map(key).join("\n") !== now.map(key).join("\n")) view.dispatch(setDiagnostics(view.state, shown));
}

export function runMarkers(onClick: (runId: number) => void) {
  return [
    runMarks,
    beside,
    gutter({
      class: "cm-run-gutter",
      markers: (view) => view.state.field(runMarks),
      domEventHandlers: {
        click(_view, _line, event) {
          const id = (event.composedPath()[0] as HTMLElement | undefined)?.closest<HTMLElement>("[data-run]")?.dataset
            .run;
          if (id !== undefined) onClick(Number(id));
          return id !== undefined;
        },
      },
    }),
  ];
}
