// The chosen recording: what was said of it, its picture, its timeline, and its sound.

import { tag } from "./colour.js";
import { $, clock, debounce, el, sentence } from "./dom.js";
import { Player } from "./player.js";
import { drawSpectrogram, drawWaveform } from "./plot.js";
import { decode } from "./sound.js";
import { store } from "./store.js";
import { ruler, stretchTable, tracks } from "./timeline.js";

const HEIGHT = 132;
const STRETCHED = 12; // seconds that fill the width at the closest look

const head = el("div", { class: "detail-head" });
const canvas = el("canvas", { class: "plot", role: "img" });
const noPicture = el("p", { class: "plot-note muted note", hidden: true });
const cursor = el("div", { class: "cursor", "aria-hidden": "true" });
const lanes = el("div", { class: "tracks", id: "timeline" });
const marks = el("div");
const inner = el(
  "div",
  { class: "stretch" },
  el("div", { class: "picture" }, canvas, noPicture),
  marks,
  lanes,
  cursor,
);
const scroller = el("div", { class: "scroller" }, inner);
const reading = el("div", { class: "reading" });
const table = el(
  "details",
  { class: "as-table" },
  el("summary", { text: "The timeline as a table" }),
  reading,
);
const player = new Player((at) => moveCursor(at));
const zoom = el("input", { type: "range", min: 1, max: 1, step: 1, value: 1, "aria-label": "Zoom" });
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
const body = el("div", { class: "detail-body" }, tools, scroller, player.slider, player.trouble, table);

let clip = null;
let sound = null;
let seconds = 1;

const kind = () => kinds.querySelector("input:checked").value;

/** Draw the picture anew: another clip, size, theme or kind. */
function draw() {
  marks.replaceChildren(ruler(seconds, seconds / zoom.value));
  inner.style.width = `${100 * zoom.value}%`;
  const width = inner.clientWidth;
  if (!sound || !width) return;
  canvas.setAttribute("aria-label", `${kind()} of ${clip.name}, ${clock(sound.seconds)} long`);
  (kind() === "Waveform" ? drawWaveform : drawSpectrogram)(canvas, sound, width, HEIGHT);
}

function moveCursor(at) {
  const share = Math.min(at, seconds) / seconds;
  cursor.style.left = `${100 * share}%`;
  const beyond = share * inner.clientWidth - scroller.scrollLeft;
  if (beyond < 0 || beyond > scroller.clientWidth) scroller.scrollLeft += beyond - 40;
}

function setSeconds(value) {
  seconds = value || 1;
  zoom.max = Math.min(24, Math.max(1, Math.ceil(seconds / STRETCHED)));
  zoomField.hidden = zoom.max === "1";
  player.setSeconds(seconds);
  marks.replaceChildren(ruler(seconds, seconds / zoom.value));
}

async function open(next) {
  clip = next;
  sound = null;
  player.close();
  $("detail").replaceChildren();
  if (!clip) return;
  $("detail").append(head, body, actions);
  canvas.width = canvas.width; // clears it
  zoom.value = 1;
  player.open(clip.file, clip.result?.seconds);
  setSeconds(clip.result?.seconds);
  show();
  const wanted = clip;
  noPicture.hidden = true;
  try {
    const decoded = await decode(clip.file);
    if (clip !== wanted) return;
    sound = decoded;
    // The service's length is the one the timeline was made with.
    setSeconds(clip.result?.seconds ?? sound.seconds);
    draw();
  } catch {
    if (clip !== wanted) return;
    noPicture.textContent = "This browser cannot draw this recording.";
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
    lanes.replaceChildren();
    table.hidden = true;
    if (state !== "failed") head.append(el("p", { class: "muted note", text: "Waiting for its labels …" }));
    return;
  }
  if (seconds !== result.seconds) setSeconds(result.seconds);
  head.append(verdicts(result));
  lanes.replaceChildren(...tracks(result.timeline ?? [], 0, seconds, clip.adapted));
  reading.replaceChildren(stretchTable(result.timeline ?? [], clip.adapted));
  table.hidden = !result.timeline?.length;
}

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
    item("Zero-shot", result.zero_shot, score(result.zero_shot_score)),
  );
  if (clip.adapted) {
    const share =
      result.probability === null || result.probability === undefined
        ? ""
        : `, ${likely(result.probability)}`;
    list.append(item("Adapted", result.label, score(result.score) + share));
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
  zoom.addEventListener("input", draw);
  inner.addEventListener("click", (event) => {
    const box = inner.getBoundingClientRect();
    player.seek((seconds * (event.clientX - box.left)) / box.width);
  });
  new ResizeObserver(debounce(draw, 80)).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
