/*
 * The answer to a statement of a board: asked when it changes and at each tick, one at a time; the old rows stay
 * until the new ones are there.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { cancelQuery, exec } from "../../api/client";
import { ResultSet } from "../../results/resultset";
import { owner } from "../../state/owner";
import { prefs } from "../../state/prefs";
import { randomHex } from "../../state/random";
import type { Asked } from "./board";

export interface Answered {
  result: ResultSet | null;
  done: boolean; /* it had no rows to show, but ran */
  problem: string | null;
  busy: boolean;
  ms: number;
}
const NOTHING: Answered = { result: null, done: false, problem: null, busy: false, ms: 0 };
const AFTER_MS = 250; /* a value that is being typed */

/* Whoever opens a board runs what others wrote: it reads, and changes nothing. */
function problemOf(e: unknown): string {
  const text = e instanceof Error ? e.message : String(e);
  return text.includes("only statements that read")
    ? "A board only reads. Statements that change something are run in the editor."
    : text;
}

export function useAsked(asked: Asked | null, tick: number): Answered {
  const [now, setNow] = useState<Answered>(NOTHING);
  const running = useRef<{ abort: AbortController; tag: string } | null>(null);
  const shown = useRef<ResultSet | null>(null);
  const [turn] = useState(() => owner.get().turn);
  const key = asked === null ? "" : JSON.stringify(asked);
  const stop = () => {
    const old = running.current;
    running.current = null;
    if (old === null) return;
    old.abort.abort();
    if (owner.get().turn === turn) void cancelQuery(old.tag).catch(() => undefined); /* else it went with who asked */
  };
  const ask = async () => {
    if (asked === null) return setNow(NOTHING);
    const mine = {
      abort: new AbortController(),
      tag: `board-${randomHex(10)}`,
    };
    running.current = mine;
    setNow((n) => ({ ...n, busy: true }));
    const { pageRows, timeoutSeconds } = prefs.get();
    try {
      const { answer, totalMs } = await exec(asked.text, {
        limit: [1, pageRows],
        hold: true,
        params: asked.params,
        readonly: true,
        timeoutSeconds,
        signal: mine.abort.signal,
        tag: mine.tag,
      });
      const result =
        answer.kind === "rows"
          ? new ResultSet(asked.text, answer, pageRows, asked.params.length === 0 ? "" : JSON.stringify(asked.params))
          : null;
      if (running.current !== mine) return result?.drop();
      shown.current?.drop();
      shown.current = result;
      setNow({ result, done: true, problem: null, busy: false, ms: totalMs });
    } catch (e) {
      if (running.current === mine) setNow((n) => ({ ...n, busy: false, problem: problemOf(e) }));
    } finally {
      if (running.current === mine) running.current = null;
    }
  };
  const first = useRef(true);
  useEffect(() => {
    stop();
    const wait = setTimeout(() => void ask(), first.current ? 0 : AFTER_MS);
    first.current = false;
    return () => clearTimeout(wait);
  }, [key]);
  useEffect(() => {
    if (tick > 0 && running.current === null) void ask(); /* a slow one is not asked again while it runs */
  }, [tick]);
  useEffect(
    () => () => {
      stop();
      if (owner.get().turn === turn) shown.current?.drop();
    },
    [],
  );
  return now;
}
