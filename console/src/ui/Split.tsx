/* The line between two panes: drag it, or move it by the arrow keys. */
import { useRef } from "preact/hooks";

export interface SplitProps {
  direction: "column" | "row"; /* row: a line from top to bottom, which moves left and right */
  value: number; /* in whatever unit onChange takes */
  min: number;
  max: number;
  label: string;
  fromPointer: (e: PointerEvent) => number;
  onChange: (value: number) => void;
}

export function Split({ direction, value, min, max, label, fromPointer, onChange }: SplitProps) {
  const dragging = useRef(false);
  const set = (v: number) => onChange(Math.round(Math.min(max, Math.max(min, v))));
  const step = (max - min) / 20;
  return (
    <div
      class={`split ${direction}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={direction === "row" ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(value)}
      aria-valuemin={min}
      aria-valuemax={Math.round(max)}
      onPointerDown={(e) => {
        dragging.current = true;
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => dragging.current && set(fromPointer(e))}
      onPointerUp={() => (dragging.current = false)}
      onPointerCancel={() => (dragging.current = false)}
      onKeyDown={(e) => {
        const by = {
          ArrowLeft: -step,
          ArrowUp: direction === "row" ? 0 : step,
          ArrowRight: step,
          ArrowDown: direction === "row" ? 0 : -step,
          Home: min - value,
          End: max - value,
        }[e.key];
        if (by === undefined || by === 0) return;
        e.preventDefault();
        set(value + by);
      }}
    />
  );
}
