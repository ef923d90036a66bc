/* The text form of Prometheus, as far as the server writes it. Pure. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function readMetrics(text: string): Sample[] {
  const out: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (found === null) continue;
    const labels: Record<string, string> = {};
    for (const m of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[m[1] ?? ""] = (m[2] ?? "").replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    out.push({ name: found[1] ?? "", labels, value: Number(found[3]) });
  }
  return out;
}

/* The sum of all samples of a name, whatever their labels, or of those that have these. */
export function total(samples: Sample[], name: string, labels: Record<string, string> = {}): number | null {
  const of = samples.filter((s) => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v));
  return of.length === 0 ? null : of.reduce((n, s) => n + s.value, 0);
}

export interface Point {
  at: number; /* seconds */
  value: number;
}

/* Counts become counts per second; a count that went back (the server started anew) begins again. */
export function rates(points: Point[]): Point[] {
  const out: Point[] = [];
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1] as Point, points[i] as Point];
    if (b.at > a.at) out.push({ at: b.at, value: (b.value < a.value ? b.value : b.value - a.value) / (b.at - a.at) });
  }
  return out;
}
