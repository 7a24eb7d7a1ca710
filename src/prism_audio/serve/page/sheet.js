// The sheet of a site: clips to listen to and their labels, kept by the service; CSV in and out.

import { getJson, postJson, request } from "./api.js";
import { csvLine, save } from "./download.js";
import { store } from "./store.js";

const COLUMNS = ["file", "label", "suggestion", "probability", "row"];
const JSON_TYPE = { "Content-Type": "application/json" };

const path = (rest) => `/v1/sites/${encodeURIComponent(store.site.name)}/${rest}`;
const rows = () => JSON.stringify({ rows: store.done.map((clip) => clip.row) });

/** The recordings on the page by the ids of their embeddings. */
const byRow = () => new Map(store.done.map((clip) => [clip.row, clip]));

/** Entries of a sheet whose recordings are on the page, each with its `clip`. */
function present(sheet) {
  const known = byRow();
  return sheet.clips
    .filter((entry) => known.has(entry.row))
    .map((entry) => ({ ...entry, clip: known.get(entry.row) }));
}

export const pickClips = async () => present(await postJson(path("pick"), rows(), { headers: JSON_TYPE }));
export const keptLabels = async () => present(await getJson(path("labels")));
export const checkSite = () => postJson(path("check"), rows(), { headers: JSON_TYPE });

/** Write down what was heard; an empty label takes it back. */
export async function putLabel(entry, label) {
  const query = new URLSearchParams({ label, file: entry.clip.name });
  await request(`${path(`labels/${entry.row}`)}?${query}`, { method: "PUT" });
}

export async function putSheet(entries) {
  const clips = entries.map(({ clip, ...entry }) => ({ ...entry, file: clip.name }));
  await request(path("labels"), { method: "PUT", body: JSON.stringify({ clips }), headers: JSON_TYPE });
}

export function saveSheet(entries) {
  const lines = entries.map((entry) =>
    csvLine(COLUMNS.map((name) => (name === "file" ? entry.clip.name : entry[name]))),
  );
  const text = [COLUMNS.join(","), ...lines, ""].join("\r\n");
  save(`${store.site.name}-labels.csv`, new Blob([text], { type: "text/csv" }));
}

/**
 * Entries of a sheet in CSV: `{ entries, lines }`, `lines` being how many the file has.
 *
 * Lines meet recordings by the id of the row, by the whole name, or by the name without folders.
 */
export function readSheet(text) {
  const [head = [], ...lines] = cells(text.replace(/^\uFEFF/, "")).filter((line) => line.some(Boolean));
  const names = head.map((name) => name.trim().toLowerCase());
  if (!names.includes("file") || !names.includes("label"))
    throw new Error("The first line of the sheet must name the columns file and label.");
  const last = (name) => name.split("/").at(-1);
  const clips = new Map();
  for (const clip of store.done) for (const key of [last(clip.name), clip.name, clip.row]) clips.set(key, clip);
  const found = lines.map((line) => {
    const entry = Object.fromEntries(names.map((name, at) => [name, (line[at] ?? "").trim()]));
    const clip = clips.get(entry.row) ?? clips.get(entry.file) ?? clips.get(last(entry.file));
    return { ...entry, clip };
  });
  const met = found.filter(({ clip }) => clip);
  const even = Math.min(1, met.length / Math.max(1, store.done.length));
  const entries = met.map(({ clip, label, suggestion, probability }) => ({
    clip,
    row: clip.row,
    file: clip.name,
    label,
    suggestion: suggestion || clip.result.label,
    probability: Number(probability) || even,
  }));
  return { entries, lines: lines.length };
}

/** The lines of a CSV text as lists of cells. */
function cells(text) {
  const lines = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,;\r\n]*))(,|;|\r?\n|$)/g)) {
    lines.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "") break;
    if (end !== "," && end !== ";") lines.push([]);
  }
  return lines;
}
