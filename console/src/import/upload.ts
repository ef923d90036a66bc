/* A file on its way to /imp. XMLHttpRequest, because fetch does not tell how far the sending is. */
import { ApiError } from "../api/client";
import { reportFound, reportLost, url } from "../api/connection";
import { authorization, lookAtDenial, refused } from "../login/signon";

export interface ImportColumn {
  name: string;
  type: string;
  errors: number;
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
  schema: Array<{ name: string; type: string; pattern?: string }>;
}

export const SAMPLE_BYTES = 256 << 10;

function paramsOf(s: ImportSettings, preview: boolean): Record<string, string> {
  const params: Record<string, string> = { fmt: "json", name: s.name, overwrite: String(s.overwrite), atomicity: s.atomicity, skipLev: String(s.skipLev) };
  if (preview) params.preview = "true";
  if (s.forceHeader) params.forceHeader = "true";
  if (s.timestamp !== "") {
    params.timestamp = s.timestamp;
    params.partitionBy = s.partitionBy;
  }
  if (s.owner !== "") params.owner = s.owner;
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

/* onProgress: bytes that are sent, of all. */
export function upload(settings: ImportSettings, data: Blob, preview: boolean, onProgress?: (sent: number, all: number) => void): Upload {
  const xhr = new XMLHttpRequest();
  let stopped = false;
  let cancel: () => void = () => undefined;
  const done = new Promise<ImportReport>((resolve, reject) => {
    let token: string | null = null;
    xhr.upload.onprogress = (e) => onProgress?.(e.loaded, e.total);
    xhr.onload = () => {
      reportFound();
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
      xhr.open("POST", url("imp", paramsOf(settings, preview)));
      for (const [name, value] of Object.entries({ "X-Requested-With": "XMLHttpRequest", ...headers })) xhr.setRequestHeader(name, value);
      xhr.send(bodyOf(settings, data));
    }, reject);
    cancel = () => {
      stopped = true;
      if (xhr.readyState === XMLHttpRequest.UNSENT) xhr.onabort?.(new ProgressEvent("abort"));
      else xhr.abort();
    };
  });
  return { done, cancel: () => cancel() };
}

/* The beginning of a file in whole lines; all of it where it is short. */
export async function sampleOf(file: File): Promise<{ text: string; data: Blob; cut: boolean; parquet: boolean }> {
  const bytes = new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer());
  const parquet = bytes.length > 4 && String.fromCharCode(...bytes.subarray(0, 4)) === "PAR1";
  const cut = file.size > bytes.length;
  const end = cut ? bytes.lastIndexOf(10) + 1 || bytes.length : bytes.length;
  const part = bytes.subarray(0, end);
  return { text: new TextDecoder().decode(part), data: new Blob([part]), cut, parquet };
}
