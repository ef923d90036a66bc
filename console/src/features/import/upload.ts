/* A file on its way to /imp. XMLHttpRequest, because fetch does not tell how far the sending is. */
import { ApiError } from "../../api/client";
import { reportFound, reportLost, url } from "../../api/connection";
import { hereSignal, ofUser, whileHere } from "../../state/owner";
import { authorization, lookAtDenial, refused } from "../../login/signon";

export interface ImportColumn {
  name: string;
  type: string;
  errors: number;
  source?: string; /* its name in the file, where that is another one */
  suggestedUnit?: string; /* of a time: its numbers look like seconds (s, ms, us, ns) and are read otherwise */
  suggestedPattern?: string; /* or like days written so */
}
/* Which bytes the first rows of a long Parquet file are in, beside the end from `tail` on. */
export interface FirstRows {
  groupFrom: number;
  groupBytes: number;
  tail: number;
}
export interface ImportReport {
  status: string;
  location: string;
  rowsRejected: number;
  rowsImported: number;
  header: boolean;
  partitionBy: string;
  timestamp?: string;
  warnings?: string[];
  errors?: string[];
  format?: "parquet" | "ndjson"; /* else CSV */
  packed?: "gzip" | "zstd";
  firstRows?: FirstRows; /* of a Parquet file, as are these */
  fileRows?: number;
  rows?: Array<Array<string | null>>; /* the first, of files that are not read here */
  columns: ImportColumn[];
}

export interface ImportSettings {
  name: string;
  overwrite: boolean;
  forceHeader: boolean;
  timestamp: string; /* "": none */
  partitionBy: string;
  owner: string; /* of a new table; "": whoever imports */
  delimiter: string; /* "": found by the server */
  atomicity: "skipCol" | "skipRow" | "abort";
  skipLev: boolean;
  schema: Array<{ name: string; type: string; pattern?: string; unit?: string; as?: string }>;
}

/* A file, or so much of it that the server can say what it holds. */
export interface Sample {
  text: string; /* the beginning of a text */
  data: Blob;
  cut: boolean; /* the text goes on */
  parquet: boolean;
  packed: boolean; /* by gzip or zstd: the server unpacks it */
  fileSize: number | null; /* data is only the end of a Parquet file that is so long */
  group: FirstRows | null; /* with its first row group before that */
}

export const SAMPLE_BYTES = 256 << 10;
/* Parquet files up to this length are sent to be looked at, too; of longer ones it is the end, which has the schema. */
export const WHOLE_BYTES = 8 << 20;
/* Of longer ones so much of the first row group and the end is sent for the first rows. */
export const GROUP_BYTES = 48 << 20;

function paramsOf(s: ImportSettings, sample: Sample, preview: boolean): Record<string, string> {
  const params: Record<string, string> = {
    fmt: "json",
    name: s.name,
    overwrite: String(s.overwrite),
    atomicity: s.atomicity,
  };
  if (sample.parquet) params.format = "parquet"; /* others the server knows by their first bytes */
  if (preview) params.preview = "true";
  if (preview && sample.fileSize !== null) params.fileSize = String(sample.fileSize);
  if (preview && sample.group !== null)
    Object.assign(params, { groupFrom: String(sample.group.groupFrom), groupBytes: String(sample.group.groupBytes) });
  if (s.timestamp !== "") {
    params.timestamp = s.timestamp;
    params.partitionBy = s.partitionBy;
  }
  if (s.owner !== "") params.owner = s.owner;
  if (sample.parquet) return params;
  params.skipLev = String(s.skipLev);
  if (s.forceHeader) params.forceHeader = "true";
  if (s.delimiter !== "") params.delimiter = s.delimiter === "\t" ? "\\t" : s.delimiter;
  return params;
}

function bodyOf(s: ImportSettings, data: Blob): FormData {
  const form = new FormData();
  if (s.schema.length > 0) form.append("schema", JSON.stringify(s.schema));
  form.append("data", data, s.name);
  return form;
}

export interface Upload {
  done: Promise<ImportReport>;
  cancel: () => void;
}

const uploads = new Set<() => void>(); /* how those that run are ended */
ofUser({
  leave: () => {
    for (const end of [...uploads]) end();
    uploads.clear();
  },
});

/* look: nothing is stored. onProgress: bytes that are sent, of all. */
export function upload(
  settings: ImportSettings,
  sample: Sample,
  what: "look" | "store",
  onProgress?: (sent: number, all: number) => void,
): Upload {
  const xhr = new XMLHttpRequest();
  const here = hereSignal();
  let stopped = false;
  let cancel: () => void = () => undefined;
  const done = new Promise<ImportReport>((resolve, reject) => {
    let token: string | null = null;
    xhr.upload.onprogress = (e) => onProgress?.(e.loaded, e.total);
    xhr.onload = () => {
      reportFound();
      if (here.aborted) return;
      if (xhr.status === 401) void refused(token);
      if (xhr.status === 403) lookAtDenial(xhr.responseText);
      let answer: ImportReport | { status: string };
      try {
        answer = JSON.parse(xhr.responseText) as ImportReport;
      } catch {
        answer = { status: xhr.responseText.slice(0, 500) || `status ${xhr.status}` };
      }
      if (xhr.status === 200 && "columns" in answer) resolve(answer);
      else reject(new ApiError(xhr.status, xhr.status === 401 ? "Log in first." : answer.status));
    };
    xhr.onerror = () => {
      reportLost();
      reject(new ApiError(0, "The connection broke. Nothing was imported."));
    };
    xhr.onabort = () => reject(new ApiError(-1, "Cancelled. Nothing was imported."));
    authorization().then(({ headers, used }) => {
      if (stopped) return;
      token = used;
      xhr.open("POST", url("imp", paramsOf(settings, sample, what === "look")));
      for (const [name, value] of Object.entries({ "X-Requested-With": "XMLHttpRequest", ...headers }))
        xhr.setRequestHeader(name, value);
      xhr.send(bodyOf(settings, sample.data));
    }, reject);
    cancel = () => {
      stopped = true;
      if (xhr.readyState === XMLHttpRequest.UNSENT) xhr.onabort?.(new ProgressEvent("abort"));
      else xhr.abort();
    };
  });
  const end = () => cancel();
  uploads.add(end);
  return { done: whileHere(done.finally(() => uploads.delete(end))), cancel: end };
}

const TAIL_BYTES = 8; /* of a Parquet file: the length of its schema, and PAR1 */

async function endOf(file: Blob): Promise<Blob> {
  const tail = new DataView(await file.slice(-TAIL_BYTES).arrayBuffer());
  return file.slice(-(tail.getUint32(0, true) + TAIL_BYTES));
}

/* The beginning of a file in whole lines, all of it where it is short; of a Parquet file all, or its end. */
export async function sampleOf(file: Blob): Promise<Sample> {
  const bytes = new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer());
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic === "PAR1" || magic === "PARE") {
    const whole = file.size <= WHOLE_BYTES;
    return {
      text: "",
      data: whole ? file : await endOf(file),
      cut: false,
      parquet: true,
      packed: false,
      fileSize: whole ? null : file.size,
      group: null,
    };
  }
  const cut = file.size > bytes.length;
  // eslint-disable-next-line no-control-regex -- the first bytes of gzip and of zstd
  if (/^(\x1f\x8b|\x28\xb5\x2f\xfd)/.test(magic))
    return { text: "", data: new Blob([bytes]), cut, parquet: false, packed: true, fileSize: null, group: null };
  const end = cut ? bytes.lastIndexOf(10) + 1 || bytes.length : bytes.length;
  const part = bytes.subarray(0, end);
  return {
    text: new TextDecoder().decode(part),
    data: new Blob([part]),
    cut,
    parquet: false,
    packed: false,
    fileSize: null,
    group: null,
  };
}

export const withinReach = (at: FirstRows, fileSize: number): boolean =>
  at.groupBytes + fileSize - at.tail <= GROUP_BYTES;

/* With the bytes that the report of a look says its first rows are in; null: they are here already, or too many. */
export function withRows(file: Blob, sample: Sample, report: ImportReport): Sample | null {
  const at = report.firstRows;
  if (at === undefined || sample.group !== null || !withinReach(at, file.size)) return null;
  return {
    ...sample,
    group: at,
    data: new Blob([file.slice(at.groupFrom, at.groupFrom + at.groupBytes), file.slice(at.tail)]),
  };
}
