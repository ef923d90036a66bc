/* Marks in the charts of a board: the events that its query finds. */
import { useMemo } from "preact/hooks";
import { isTime } from "../../results/format";
import type { Mark } from "../chart/plot";
import { seconds } from "../chart/seconds";
import type { Asked } from "./board";
import { useAsked } from "./useAsked";

const EVENTS_MAX = 500;

/* First time and first text of each row. */
export function useMarks(asked: Asked | null, tick: number): { marks: Mark[]; problem: string | null } {
  const { result, problem } = useAsked(asked, tick);
  const marks = useMemo(() => {
    if (result === null) return [];
    const time = result.columns.findIndex(isTime);
    const text = result.columns.findIndex((c, i) => i !== time && !isTime(c));
    if (time < 0) return [];
    const rows = Array.from({ length: Math.min(result.count, EVENTS_MAX) }, (_, i) => result.row(i, false)).filter(
      (r) => r !== undefined,
    );
    return rows
      .flatMap((r) =>
        typeof r[time] === "string" ? [{ x: seconds(r[time]), text: text < 0 ? "" : String(r[text] ?? "") }] : [],
      )
      .sort((a, b) => a.x - b.x);
  }, [result]);
  return {
    marks,
    problem:
      problem ??
      (result !== null && result.columns.findIndex(isTime) < 0 ? "The query of the events has no time." : null),
  };
}
