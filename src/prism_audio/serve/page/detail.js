// The chosen recording: what was said of it, its picture, its timeline, and its sound.

import { tag } from "./colour.js";
import { $, clock, debounce, el, oncePerFrame, sentence } from "./dom.js";
import { Player } from "./player.js";
import { drawSpectrogram, drawWaveform } from "./plot.js";
import { decode } from "./sound.js";
import { store } from "./store.js";
import { eventTable, lanes, ruler, stretchTable } from "./timeline.js";

const HEIGHT = 132;
const STRETCHED = 12; // seconds that fill the width at the closest look
const LONGEST_PICTURE = 1800; // seconds that a browser decodes without trouble

const head = el("div", { class: "detail-head" });
const canvas = el("canvas", { class: "plot", role: "img" });
const noPicture = el("p", { class: "plot-note muted note", hidden: true });
const cursor = el("div", { class: "cursor", "aria-hidden": "true" });
const tracks = el("div", { class: "tracks", id: "timeline" });
const marks = el("div");
const inner = el(
  "div",
  { class: "stretch" },
  el("div", { class: "picture" }, canvas, noPicture),
  marks,
  tracks,
  cursor,
);
// Focusable, so that arrow keys scroll what is wider than the window.
const scroller = el("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "Timeline" }, inner);
const reading = el("div", { class: "reading" });
const table = el(
  "details",
  { class: "as-table" },
  el("summary", { text: "The timeline as a table" }),
  reading,
);
const eventList = el("div", { class: "reading", role: "region", "aria-label": "Events", tabindex: 0 });
const player = new Player((at) => moveCursor(at));
// The place of the slider is the logarithm of the magnification, so that hours need no long way.
const zoom = el("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Zoom" });
const zoomField = el("label", { class: "zoom note muted" }, "Zoom", zoom);
const kinds = el(
  "fieldset",
  { class: "choice" },
  el("legend", { class: "sr", text: "Picture" }),
  ...["Waveform", "Spectrogram"].map((name, i) =>
    el(
      "label",
      {},
      el("input", { type: "radio", name: "picture", value: name, checked: i === 0, onchange: draw }),
      el("span", { text: name }),
    ),
  ),
);
const tools = el(
  "div",
  { class: "row between tools" },
  el("div", { class: "row" }, player.button, player.time),
  el("div", { class: "row" }, zoomField, kinds),
);
const actions = el("div", { class: "row" });
const body = el("div", { class: "detail-body" }, tools, scroller, player.slider, player.trouble, eventList, table);

let clip = null;
let sound = null;
let seconds = 1;

const kind = () => kinds.querySelector("input:checked").value;

const magnified = () => Math.max(1, seconds / STRETCHED) ** Number(zoom.value);

/** The seconds that can be seen. */
function view() {
  const width = inner.clientWidth || 1;
  const from = (seconds * scroller.scrollLeft) / width;
  return { from, to: Math.min(seconds, from + (seconds * (scroller.clientWidth || width)) / width) };
}

/** Draw what can be seen: another clip, place, size, theme or kind. */
function draw() {
  inner.style.width = `${100 * magnified()}%`;
  inner.style.setProperty("--seen", `${scroller.clientWidth}px`);
  const part = view();
  marks.replaceChildren(ruler(seconds, part));
  if (clip?.result) tracks.replaceChildren(...lanes(clip.result, seconds, part, clip.adapted));
  const width = scroller.clientWidth;
  if (!sound || !width) return;
  const [first, last] = [part.from, part.to].map((at) => Math.round((sound.samples.length * at) / seconds));
  const shown = { ...sound, samples: sound.samples.subarray(first, Math.max(last, first + 1)) };
  canvas.setAttribute("aria-label", `${kind()} of ${clip.name}, ${clock(sound.seconds)} long`);
  (kind() === "Waveform" ? drawWaveform : drawSpectrogram)(canvas, shown, width, HEIGHT);
}

/** Look closer, with second `at` staying where it is in the view (a share of its width). */
function zoomTo(value, at, share = 0.5) {
  zoom.value = value;
  inner.style.width = `${100 * magnified()}%`;
  scroller.scrollLeft = (at / seconds) * inner.clientWidth - share * scroller.clientWidth;
  draw();
}

/** Show an event: half a minute around it. */
function go(event) {
  const wanted = Math.log(seconds / Math.max(30, 3 * (event.end - event.start)));
  const most = Math.log(Math.max(1.01, seconds / STRETCHED));
  zoomTo(Math.min(1, Math.max(0, wanted / most)), (event.start + event.end) / 2);
  player.seek(event.start);
}

function moveCursor(at) {
  const share = Math.min(at, seconds) / seconds;
  cursor.style.left = `${100 * share}%`;
  const beyond = share * inner.clientWidth - scroller.scrollLeft;
  if (beyond < 0 || beyond > scroller.clientWidth) scroller.scrollLeft += beyond - 40;
}

function setSeconds(value) {
  seconds = value || 1;
  zoomField.hidden = seconds <= STRETCHED;
  player.setSeconds(seconds);
  draw();
}

async function open(next) {
  clip = next;
  sound = null;
  player.close();
  $("detail").replaceChildren();
  if (!clip) return;
  $("detail").append(head, body, actions);
  canvas.width = canvas.width; // clears it
  zoom.value = 0;
  player.open(clip.file, clip.result?.seconds);
  setSeconds(clip.result?.seconds);
  show();
  const wanted = clip;
  noPicture.hidden = true;
  try {
    if (clip.result?.seconds > LONGEST_PICTURE) throw new Error("too long to draw");
    const decoded = await decode(clip.file);
    if (clip !== wanted) return;
    sound = decoded;
    // The service's length is the one the timeline was made with.
    setSeconds(clip.result?.seconds ?? sound.seconds);
  } catch {
    if (clip !== wanted) return;
    const long = clip.result?.seconds > LONGEST_PICTURE;
    noPicture.textContent = long
      ? "Too long for a picture of its sound; the events below tell where to listen."
      : "This browser cannot draw this recording.";
    noPicture.hidden = false;
  }
}

/** What is known of the clip by now. */
function show() {
  const { result, error, state } = clip;
  head.replaceChildren(el("h3", { text: clip.name.split("/").at(-1), title: clip.name }));
  body.hidden = state === "failed" && !result;
  actions.replaceChildren(
    el("button", { type: "button", class: "quiet", text: "Remove", onclick: () => store.remove([clip]) }),
    ...(state === "failed"
      ? [el("button", { type: "button", text: "Try again", onclick: () => store.tell("again", [clip]) })]
      : []),
  );
  if (state === "failed") head.append(el("p", { class: "error", text: sentence(error.message) }));
  if (!result || state === "failed") {
    tracks.replaceChildren();
    table.hidden = eventList.hidden = true;
    if (state !== "failed") head.append(el("p", { class: "muted note", text: "Waiting for its labels …" }));
    return;
  }
  if (seconds !== result.seconds) setSeconds(result.seconds);
  head.append(verdicts(result));
  for (const warning of result.warnings ?? []) head.append(el("p", { class: "warning note", text: sentence(warning) }));
  draw();
  const { events } = result;
  eventList.hidden = !events;
  if (events) eventList.replaceChildren(events.length ? eventTable(events, go) : nothing());
  reading.replaceChildren(stretchTable(result.timeline ?? [], clip.adapted));
  table.hidden = !result.timeline?.length || Boolean(events);
}

const nothing = () => el("p", { class: "note muted", text: "No event stands out from the background." });

// Answers that are no label.
const MEANING = {
  unknown: "no label fits well enough",
  silence: "nothing can be heard",
  background: "a background word fits best",
};

/** A probability in words; nothing is ever certain. */
const likely = (p) => (p > 0.99 ? "over 99 % likely" : `about ${Math.round(100 * p)} % likely`);

function verdicts(result) {
  const item = (title, label, note) =>
    el(
      "div",
      {},
      el("dt", { text: title }),
      el("dd", {}, tag(label), el("span", { class: "muted note", text: note })),
    );
  const score = (value) => `score ${value.toFixed(2)}`;
  const list = el(
    "dl",
    { class: "verdicts" },
    clip.adapted
      ? item("Zero-shot", result.zero_shot, score(result.zero_shot_score))
      : item("Zero-shot", result.label, MEANING[result.label] ?? score(result.score)),
  );
  if (clip.adapted) {
    const share =
      result.probability === null || result.probability === undefined
        ? ""
        : `, ${likely(result.probability)}`;
    list.append(item("Adapted", result.label, MEANING[result.label] ?? score(result.score) + share));
  }
  if (result.runner_up)
    list.append(
      item("Next best", result.runner_up, result.margin === null ? "" : `${result.margin.toFixed(2)} behind`),
    );
  return list;
}

export function startDetail() {
  store.on("selected", open);
  store.on("changed", (changed) => changed === clip && show());
  zoom.addEventListener("input", () => {
    const { from, to } = view();
    zoomTo(zoom.value, (from + to) / 2);
  });
  scroller.addEventListener("scroll", oncePerFrame(draw));
  inner.addEventListener("click", (event) => {
    const box = inner.getBoundingClientRect();
    player.seek((seconds * (event.clientX - box.left)) / box.width);
  });
  new ResizeObserver(debounce(draw, 80)).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
