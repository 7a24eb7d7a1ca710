// Check by ear: play a clip, say what it is, and watch the accuracy and its interval grow sure.

import { recalibrate } from "./calibrate.js";
import { tag } from "./colour.js";
import { $, el, oncePerFrame, plural, say, sentence } from "./dom.js";
import { Player } from "./player.js";
import { checkSite, keptLabels, pickClips, putLabel, putSheet, readSheet, saveSheet } from "./sheet.js";
import { store } from "./store.js";

const OTHER = "other"; // none of the labels
const player = new Player(() => {}, "Place in the clip");
let entries = [];
let at = -1;
let asked = 0; // requests for estimates; only the last one's answer counts

const current = () => entries[at];
/** Words that are only typed belong to no site, and nor would their labels. */
const typed = () => Boolean(store.typed || store.typedBackground);
const labelled = () => entries.filter((entry) => entry.label).length;

/** Do something, and say what went wrong. */
async function attempt(action) {
  say($("check-trouble"), "");
  try {
    await action();
  } catch (error) {
    say($("check-trouble"), sentence(error.message));
  }
}

function show() {
  const open = Boolean(current());
  $("check-work").hidden = !open && !labelled();
  $("check-clip").hidden = !open;
  $("check-start").hidden = open;
  for (const id of ["check-export", "check-reset"]) $(id).hidden = !labelled();
  $("check-use").disabled = !labelled();
  if (!open) return;
  const { clip, label, suggestion } = current();
  $("check-count").textContent = `Clip ${at + 1} of ${entries.length}, ${plural(labelled(), "label")}`;
  $("check-name").textContent = clip.name;
  $("check-said").replaceChildren("PRISM says ", tag(suggestion), label ? " and you say " : "", label ? tag(label) : "");
  for (const button of $("check-labels").children)
    button.setAttribute("aria-pressed", String(button.dataset.label === label));
  $("check-right").setAttribute("aria-pressed", String(label === suggestion));
  $("check-back").disabled = at === 0;
  $("check-next").disabled = at === entries.length - 1;
}

function go(to, play = true) {
  if (!entries[to]) return;
  at = to;
  const { clip } = current();
  player.open(clip.file, clip.result?.seconds);
  show();
  $("check-clip").focus({ preventScroll: true });
  if (play) player.toggle();
}

const answer = (label) =>
  attempt(async () => {
    const entry = current();
    if (!entry) return;
    await putLabel(entry, label);
    entry.label = label;
    const next = entries.findIndex((one, place) => place > at && !one.label);
    if (label && entry === current() && next >= 0) go(next);
    else show();
    await estimate();
  });

/** The accuracies from all labels so far. */
async function estimate() {
  const turn = ++asked;
  if (!labelled()) return void ($("check-estimates").hidden = true);
  const result = await checkSite();
  if (turn !== asked) return;
  const same = store.done.every((clip) => !clip.adapted);
  $("check-estimates").replaceChildren(
    gauge("Zero-shot", result.zero_shot),
    ...(same ? [] : [gauge("Adapted", result.adapted)]),
    el("p", { class: "note", id: "check-verdict", text: same ? "" : `${sentence(result.verdict)}.` }),
    el("p", {
      class: "note muted",
      text: `From ${plural(result.listened, "label")}, for all ${plural(result.clips, "recording")} here. The bars hold the truth in 95 of 100 cases.`,
    }),
  );
  $("check-estimates").hidden = false;
}

/** A part with its interval as a bar and in words. */
function gauge(name, { value, low, high }) {
  const percent = (part) => `${Math.round(100 * part)} %`;
  const band = el("span", { class: "band" });
  band.style.left = `${100 * low}%`;
  band.style.width = `${100 * (high - low)}%`;
  const mark = el("span", { class: "mark" });
  mark.style.left = `clamp(2px, ${100 * value}%, 100% - 2px)`;
  return el(
    "div",
    { class: "gauge" },
    el("span", { class: "note", text: name }),
    el("span", { class: "gauge-room", "aria-hidden": "true" }, band, mark),
    el("span", { class: "note", text: `${percent(value)} right, ${percent(low)} to ${percent(high)}` }),
  );
}

function choices() {
  const buttons = [...(store.site?.labels ?? []), OTHER].map((label, place, all) => {
    const key = place === all.length - 1 ? "0" : place < 9 ? String(place + 1) : null;
    return el(
      "button",
      { type: "button", "data-label": label, "aria-keyshortcuts": key, onclick: () => answer(label) },
      key ? el("kbd", { text: key }) : null,
      label === OTHER ? "none of these" : label,
    );
  });
  $("check-labels").replaceChildren(...buttons);
}

const begin = () =>
  attempt(async () => {
    entries = await pickClips();
    const first = entries.findIndex((entry) => !entry.label);
    go(Math.max(0, first));
    await estimate();
  });

/** Labels that were given before, for recordings that are here again. */
const resume = () =>
  attempt(async () => {
    if (typed() || !store.done.length) return;
    entries = await keptLabels();
    if (at >= 0 && !current()) at = -1;
    show();
    await estimate();
  });

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  const button = event.target.matches("button");
  if (event.key === " " && !button) player.toggle();
  else if (event.key === "Enter" && !button) answer(current().suggestion);
  else if (event.key === "ArrowRight") go(at + 1);
  else if (event.key === "ArrowLeft") go(at - 1);
  else if (event.key === "Delete") answer("");
  else if (/^\d$/.test(event.key)) $("check-labels").querySelector(`[aria-keyshortcuts="${event.key}"]`)?.click();
  else return;
  event.preventDefault();
}

const take = (file) =>
  attempt(async () => {
    const { entries: read, lines } = readSheet(await file.text());
    if (!read.length) throw new Error("No line of the sheet names a recording that is here.");
    await putSheet(read);
    await resume();
    say($("check-done"), `${read.length} of ${plural(lines, "line")} are of recordings that are here.`);
  });

function showSection() {
  const usable = store.done.length > 0 && !typed();
  $("check").hidden = !usable;
  if (!usable) player.close();
}

export function startCheck() {
  $("check-player").append(player.button, player.slider, player.time);
  $("check-player").after(player.trouble);
  $("check-start").addEventListener("click", begin);
  $("check-right").addEventListener("click", () => answer(current().suggestion));
  $("check-back").addEventListener("click", () => go(at - 1));
  $("check-next").addEventListener("click", () => go(at + 1));
  $("check-work").addEventListener("keydown", keys);
  $("check-export").addEventListener("click", () => saveSheet(entries));
  $("check-import").addEventListener("click", () => $("check-file").click());
  $("check-file").addEventListener("change", () => {
    const [file] = $("check-file").files;
    if (file) take(file);
    $("check-file").value = "";
  });
  $("check-reset").addEventListener("click", () => {
    if (!confirm(`Remove ${plural(labelled(), "label")} of this site? This cannot be undone.`)) return;
    attempt(async () => {
      await putSheet([]);
      at = -1;
      await resume();
    });
  });
  $("check-use").addEventListener("click", () => recalibrate({ labelled: true, take_weaker: true }));
  const later = oncePerFrame(showSection);
  store.on("added changed removed site labels", later);
  store.on("site labels", choices);
  // What is known of the recordings is asked when all of them are labelled anew.
  return resume;
}
