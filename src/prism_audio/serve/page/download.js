// Files made in the browser: results as CSV and JSON, and the adapter from the service.

import { address, request } from "./api.js";
import { asked } from "./classifier.js";
import { el } from "./dom.js";
import { bodyOf } from "./groups.js";
import { store } from "./store.js";
import { stretches } from "./timeline.js";

const COLUMNS = [
  "file",
  "seconds",
  "zero_shot",
  "zero_shot_score",
  "label",
  "score",
  "probability",
  "runner_up",
  "margin",
  "warnings",
  "error",
];

export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** One cell; a leading sign that spreadsheets would run as a formula is made harmless. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return cell(value.join("; "));
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A line of CSV. */
export const csvLine = (values) => values.map(cell).join(",");

const row = (clip) => ({ ...(clip.result ?? {}), file: clip.name, error: clip.error?.message ?? null });
const finished = () => store.clips.filter((clip) => clip.state === "done" || clip.state === "failed");

export function csv(clips) {
  const lines = clips.map((clip) => {
    const values = clip.state === "done" ? row(clip) : { file: clip.name, error: clip.error.message };
    return csvLine(COLUMNS.map((column) => values[column]));
  });
  return [COLUMNS.join(","), ...lines, ""].join("\r\n");
}

export function saveCsv() {
  save("prism-results.csv", new Blob([csv(finished())], { type: "text/csv" }));
}

export function saveJson() {
  const results = finished().map((clip) => {
    if (clip.state === "failed") return { file: clip.name, error: clip.error };
    const windows = clip.result.timeline ?? [];
    return {
      ...row(clip),
      events: clip.result.events ?? stretches(windows, "label"),
      events_zero_shot: stretches(windows, "zero_shot"),
    };
  });
  const content = {
    site: store.site,
    labels: store.labels,
    made: new Date().toISOString(),
    results,
    calibration: store.report,
  };
  save("prism-results.json", new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
}

/** The events of all recordings as a file that another program reads. */
export async function saveEvents(form) {
  const { body, headers } = bodyOf(store.done);
  const path = address("/v1/events", { form, ...asked() });
  const response = await request(path, { method: "POST", body, headers });
  const name = decodeURIComponent(response.headers.get("Content-Disposition").split("''")[1]);
  save(name, await response.blob());
}

/** Give the adapter of a site to the person; throws what the service says if it has none. */
export async function saveAdapter(site) {
  const response = await request(`/v1/sites/${encodeURIComponent(site)}/adapter`);
  save(`${site}.safetensors`, await response.blob());
}
