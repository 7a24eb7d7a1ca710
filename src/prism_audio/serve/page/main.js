// The page: starts its parts and tells them of each other.

import { getJson } from "./api.js";
import { startCalibrate } from "./calibrate.js";
import { startCheck } from "./check.js";
import { classifier } from "./classifier.js";
import { colourLabels } from "./colour.js";
import { startDetail } from "./detail.js";
import { $, el, plural, say, sentence } from "./dom.js";
import { saveCsv, saveEvents, saveJson } from "./download.js";
import { startIntake } from "./intake.js";
import { startLabels } from "./labels.js";
import { startList } from "./list.js";
import { startLive } from "./live.js";
import { startSearch } from "./search.js";
import { store } from "./store.js";
import { startVersions } from "./versions.js";
import { inWords } from "./words.js";

async function loadSites(wanted) {
  const { default: first, sites } = await getJson("/v1/sites");
  store.defaultSite = first;
  store.setSites(sites, wanted ?? first);
}

function showSite(site) {
  $("site").replaceChildren(
    ...store.sites.map(({ name }) =>
      el("option", { value: name, text: name, selected: name === site?.name }),
    ),
  );
  const verdict = $("site-verdict");
  say(verdict, site ? inWords(site.verdict).short : "");
  verdict.className = `chip ${site?.verdict ?? ""}`;
  verdict.title = site?.reasons?.join("; ") ?? "";
  if (site)
    $("about").textContent =
      `Encoder ${site.encoder.id}, ${site.encoder.dim} dimensions, windows of ${site.encoder.window} s`;
}

function showSections() {
  const any = store.clips.length > 0;
  $("results").hidden = !any;
  $("calibrate").hidden = !any;
  document.body.classList.toggle("busy-page", any);
}

function showWork({ busy, done, total, waiting, stopped, error }) {
  const left = stopped && store.clips.some((clip) => clip.state === "waiting");
  // What is wrong with the labels is said beside them.
  const trouble = left && error && error.code !== "bad_labels" ? sentence(error.message) : "";
  say($("work-error"), trouble);
  $("work").hidden = !busy && (!left || error?.code === "bad_labels");
  $("work-bar").hidden = Boolean(trouble);
  const one = busy && total === 1 ? store.clips.find((clip) => clip.state === "sending") : null;
  // One file: how much of it was sent, then nobody knows how long the service takes.
  if (one && (one.sent === 0 || one.sent === 1)) $("work-bar").removeAttribute("value");
  else $("work-bar").value = one ? one.sent : total ? done / total : 0;
  $("work-cancel").textContent = busy ? "Cancel" : trouble ? "Try again" : "Go on";
  say($("work-text"), trouble ? "" : one && !waiting ? waitingFor(one) : progress(busy, done, total, waiting));
}

/** The state of a single file that takes long. */
function waitingFor({ sent, since }) {
  if (sent > 0 && sent < 1) return `Sending, ${Math.round(100 * sent)} %`;
  const took = Math.round((performance.now() - since) / 1000);
  return took > 2 ? `Listening for ${plural(took, "second")} …` : "Listening …";
}

function progress(busy, done, total, waiting) {
  if (!busy) return "Stopped; the rest has no labels yet.";
  return waiting ? "The service is busy; waiting for a place …" : `${done} of ${total} labelled`;
}

function start() {
  startIntake();
  startLabels();
  startDetail();
  startLive();
  const count = startList(() => !classifier.state.busy);
  startCalibrate(loadSites);
  startVersions(loadSites);
  startSearch();
  const recheck = startCheck();

  store.on("site", showSite);
  store.on("added removed", showSections);
  // Everything is asked anew when the question changes.
  store.on("site labels", () => {
    colourLabels(store.labels);
    classifier.restart();
  });
  store.on("added again", (clips) => classifier.add(clips));
  store.on("removed", (clips) => classifier.drop(clips));
  classifier.addEventListener("run", ({ detail }) => {
    showWork(detail);
    if (detail.busy) return;
    count();
    recheck();
    if (!store.selected && store.clips.length && store.clips.every((clip) => clip.state === "failed"))
      store.select(store.clips[0]);
  });

  $("site").addEventListener("change", () => store.setSites(store.sites, $("site").value));
  $("work-cancel").addEventListener("click", () =>
    classifier.state.busy ? classifier.cancel() : classifier.resume(),
  );
  $("again").addEventListener("click", () =>
    store.tell(
      "again",
      store.clips.filter((clip) => clip.state === "failed"),
    ),
  );
  $("clear").addEventListener("click", () => {
    store.remove(store.clips);
    $("pick-files").focus();
  });
  $("save-csv").addEventListener("click", saveCsv);
  $("save-json").addEventListener("click", saveJson);
  $("save-events").addEventListener("click", () =>
    saveEvents($("events-form").value).catch((error) => say($("banner"), sentence(error.message))),
  );
  setInterval(() => classifier.state.busy && showWork(classifier.state), 1000);
}

const span = (seconds) =>
  seconds < 7200 ? plural(Math.round(seconds / 60), "minute") : plural(Math.round(seconds / 3600), "hour");

async function connect() {
  try {
    await loadSites();
    Object.assign(store.limits, await getJson("/v1/limits"));
    $("formats").textContent =
      `WAV, FLAC, MP3, Ogg and more, up to ${span(store.limits.seconds)} each`;
    say($("banner"), "");
  } catch (error) {
    const again = el("button", { type: "button", text: "Try again", onclick: connect });
    $("banner").replaceChildren(el("span", { text: sentence(error.message) }), again);
    $("banner").hidden = false;
  }
}

start();
connect();
