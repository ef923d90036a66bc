/* Icons of 16 by 16, drawn by strokes in the colour of the text. */
const PATHS = {
  play: "M4 3l9 5-9 5z",
  playAll: "M2 3l6 5-6 5zM8 3l6 5-6 5z",
  stop: "M4 4h8v8H4z",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  table: "M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 3v10",
  chart: "M2 13h12M4 11V7M7.5 11V4M11 11V8",
  tree: "M3 3h4v3H3zM9 7h4v3H9zM9 11h4v3H9zM5 6v6.5h4M5 8.5h4",
  log: "M3 4h10M3 8h10M3 12h6",
  clock: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM8 4.500V8l2.500 1.500",
  history: "M8 4v4l3 2M2.5 8a5.5 5.5 0 1 0 2-4.2M4 1.5v3h3",
  database: "M3 4c0-2.4 10-2.4 10 0v8c0 2.4-10 2.4-10 0zM3 4c0 2.4 10 2.4 10 0M3 8c0 2.4 10 2.4 10 0",
  server: "M2 3h12v4H2zM2 9h12v4H2zM5 5h.01M5 11h.01",
  book: "M3 3c2-.8 4-.5 5 .5 1-1 3-1.3 5-.5v10c-2-.8-4-.5-5 .5-1-1-3-1.3-5-.5zM8 3.5v10",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  help: "M6 6c0-2.7 4-2.7 4 0 0 1.7-2 1.7-2 3.5M8 12.5h.01M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-4 10.5-4 11 0",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  board: "M2 2.500h5v6H2zM9 2.500h5v3.500H9zM9 8h5v5.500H9zM2 10.500h5v3H2z",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10",
  upload: "M8 11V3M4.5 6L8 2.5 11.5 6M3 13.5h10",
  copy: "M5 5h8v9H5zM3 11V2h8",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5L14 14",
  format: "M2 3h12M5 6.5h9M2 10h12M5 13.5h9",
  pin: "M6 2h4l-.5 4 2.5 3H4l2.5-3zM8 9v5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5",
  menu: "M2 4h12M2 8h12M2 12h12",
  panel: "M2 3h12v10H2zM9.5 3v10",
  stats: "M2 13.500h12M3.500 11V9M6 11V6M8.500 11V3M11 11V5M13.500 11V8.500",
  eye: "M1.5 8c3-5.300 10-5.300 13 0-3 5.300-10 5.300-13 0zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  layers: "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3",
  tag: "M2 2.500h5.500l6.500 6.500-5 5-7-6.500zM5 5.500h.01",
  column: "M6 2.500h4v11H6z",
  bookmark: "M4 2h8v12l-4-3-4 3z",
  key: "M10 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM7 9l-4.500 4.500M4 12l1.500 1.500M10.500 5.500h.01",
  warning: "M8 2l6.5 11.5h-13zM8 6.5v3.5M8 12h.01",
  filter: "M2 3h12l-4.5 5.5V13l-3 1V8.5z",
  link: "M7 9a3 3 0 0 0 4.200 0l2-2A3 3 0 0 0 9 2.800l-1 1M9 7a3 3 0 0 0-4.200 0l-2 2A3 3 0 0 0 7 13.200l1-1",
  gear:
    "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.400 3.400l1.400 " +
    "1.400M11.200 11.200l1.400 1.400M12.600 3.400l-1.400 1.400M4.800 11.200l-1.400 1.400",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
