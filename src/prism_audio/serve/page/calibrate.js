// The calibration panel: what it would take, its progress, and its report.

import { $, oncePerFrame, plural, say, sentence } from "./dom.js";
import { calibrate, followed, unfinished } from "./job.js";
import { report } from "./report.js";
import { store } from "./store.js";

const ENOUGH = 15; // clips a label that carry a full correction

let running = null;
let refresh = null;
let named = false; // by hand

/** What a person types as the name that the service allows. */
const siteName = (text) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);

function hint() {
  const clips = store.done.length;
  const wanted = ENOUGH * store.labels.length;
  $("calibrate-go").disabled = Boolean(running) || !clips;
  $("calibrate-go").textContent = clips ? `Calibrate on ${plural(clips, "recording")}` : "Calibrate";
  if (!clips) return say($("calibrate-hint"), "Labelled recordings are needed first.");
  const long = store.done.some(({ result }) => result.events);
  const enough = long
    ? "Long recordings are looked at window by window."
    : clips >= wanted
      ? "Enough recordings for a full correction, if most of the labels occur in them."
      : `A full correction takes about ${wanted} recordings here, ${ENOUGH} a label. With fewer, part of it is used.`;
  const replaces = store.sites.some(
    (site) => site.name === siteName($("place").value) && site.verdict !== "none",
  );
  say($("calibrate-hint"), enough + (replaces ? " The present correction of this site is replaced if this one is as strong; it can be undone." : ""));
}

/** Until somebody types a name: that of a calibrated site, or of the folder that was dropped. */
function propose() {
  if (named || !store.site) return;
  const dropped = store.clips.find((clip) => clip.name.includes("/"));
  const fresh = store.site.verdict === "none" && dropped ? siteName(dropped.name.split("/")[0]) : "";
  $("place").value = fresh || store.site.name;
}

function told({ text, done, total }) {
  $("job-text").textContent = text;
  if (total) {
    $("job-bar").max = total;
    $("job-bar").value = done;
  } else {
    $("job-bar").removeAttribute("value");
  }
}

function begin(name, options = {}) {
  const clips = store.done;
  $("place").value = name;
  run((signal) => calibrate(clips, name, store, told, signal, options), clips);
}

/** Work out the correction of the present site anew; `options` are more parameters of the request. */
export function recalibrate(options) {
  if (running || !store.site) return;
  begin(store.site.name, options);
  $("calibrate").scrollIntoView({ block: "start" });
}

/** A reload in the middle of a calibration: go on with it. */
function resume() {
  const job = unfinished();
  if (!job) return;
  $("calibrate").hidden = false;
  run((signal) => followed(job, told, signal), []);
}

async function run(work, clips) {
  running = new AbortController();
  $("job").hidden = false;
  say($("job-error"), "");
  hint();
  try {
    const result = await work(running.signal);
    nameByPlace(result, clips);
    store.report = result;
    await refresh(result.site.name);
    show(result);
  } catch (error) {
    if (error.name !== "AbortError") say($("job-error"), sentence(error.message));
  } finally {
    running = null;
    $("job").hidden = true;
    hint();
  }
}

/** Clips sent as embeddings come back without names; rows are in the order they were sent. */
function nameByPlace(result, clips) {
  if (result.clips_table.length !== clips.length) return;
  result.clips_table.forEach((row, place) => (row.file = clips[place].name));
}

function show(result) {
  const { elements, start } = report(result);
  $("report").replaceChildren(...elements);
  $("report").hidden = false;
  // Not under the hands of somebody who has gone on elsewhere.
  if ([document.body, $("calibrate-go"), $("place")].includes(document.activeElement)) {
    $("report").focus({ preventScroll: true });
    $("report").scrollIntoView({ block: "start" });
  }
  start();
}

/** `finished(site)` is called when a site has a new correction. */
export function startCalibrate(finished) {
  refresh = finished;
  $("calibrate-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running && store.done.length) begin(siteName($("place").value) || store.site?.name);
  });
  $("job-cancel").addEventListener("click", () => running?.abort());
  $("place").addEventListener("input", () => {
    named = true;
    hint();
  });
  store.on("site", propose);
  store.on("added", propose);
  store.on("added changed removed site labels", oncePerFrame(hint));
  resume();
}
