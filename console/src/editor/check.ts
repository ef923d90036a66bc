/*
 * Errors while one types: the server looks at all statements of the tab without running any, a moment after the last
 * key. A question that the next key makes old is given up. The word that is being typed is not called wrong at once.
 */
import type { EditorState } from "@codemirror/state";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { catalog } from "../api/catalog";
import { type Mistake, validate } from "../api/client";
import { connection } from "../api/connection";
import { auth } from "../login/auth";
import { bindAll } from "../sql/params";
import { statements } from "../sql/lexer";
import { showMistakes } from "./marks";

const AFTER_MS = 300; /* since the last key */
const WORD_MS = 900; /* until the word at the caret counts, too */
const TEXT_MAX = 200_000; /* longer texts are not looked at while they are typed */

const atCaret = (state: EditorState, m: Mistake): boolean =>
  m.from <= state.selection.main.head && state.selection.main.head <= m.to;

class Checker {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private abort: AbortController | null = null;
  private list: Mistake[] = [];
  private readonly stops: Array<() => void>;
  private changedAt = 0;

  constructor(readonly view: EditorView) {
    let tables = catalog.get().tables;
    this.stops = [
      catalog.subscribe((now) => {
        if (now.tables !== tables) this.soon(AFTER_MS);
        tables = now.tables;
      }),
      auth.subscribe(() => this.soon(AFTER_MS)),
      connection.subscribe(() => this.soon(AFTER_MS)),
    ];
    this.soon(AFTER_MS);
  }

  update(u: ViewUpdate): void {
    if (u.docChanged) {
      this.changedAt = Date.now();
      this.list = this.list
        .map((m) => ({ ...m, from: u.changes.mapPos(m.from, 1), to: u.changes.mapPos(m.to, -1) }))
        .filter((m) => m.to > m.from);
    }
    if (u.docChanged) this.soon(AFTER_MS);
    else if (u.selectionSet && this.list.length > 0) setTimeout(() => this.show());
  }

  destroy(): void {
    this.stops.forEach((stop) => stop());
    if (this.timer !== null) clearTimeout(this.timer);
    this.abort?.abort();
  }

  private soon(ms: number): void {
    this.abort?.abort();
    this.abort = null;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), ms);
  }

  private async look(): Promise<void> {
    this.timer = null;
    const text = this.view.state.doc.toString();
    const bound =
      text.length > TEXT_MAX || !connection.get().online || auth.get().needed || statements(text).length === 0
        ? null
        : bindAll(text);
    if (bound === null) {
      this.list = [];
      this.show();
      return;
    }
    const abort = new AbortController();
    this.abort = abort;
    try {
      const list = await validate(bound.text, abort.signal);
      if (abort.signal.aborted) return;
      this.list = list.map((m) => ({
        ...m,
        from: bound.back(m.from),
        to: Math.max(bound.back(m.from) + 1, bound.back(m.to)),
      }));
    } catch {
      return; /* what there is to be said of it is said when the statement runs */
    }
    this.abort = null;
    this.show();
  }

  private show(): void {
    const { state } = this.view;
    const wait = this.changedAt + WORD_MS - Date.now();
    const held = this.view.hasFocus && wait > 0 ? this.list.filter((m) => atCaret(state, m)) : [];
    showMistakes(
      this.view,
      this.list.filter((m) => !held.includes(m)),
    );
    if (held.length > 0 && this.timer === null && this.abort === null)
      this.timer = setTimeout(() => ((this.timer = null), this.show()), wait + 20);
  }
}

export const checking = ViewPlugin.fromClass(Checker);
