// The list of recordings: one stop for the keyboard, arrows inside; it grows and changes in frames.

import { tag } from "./colour.js";
import { $, clock, debounce, el, oncePerFrame, plural, sentence } from "./dom.js";
import { store } from "./store.js";

const A_FRAME = 120; // rows built or changed at a time, so that a thousand files do not freeze the page
const items = new Map();
let queue = [];
const stale = new Set();
let chosen = null;
let filter = "all";
let offered = "";

const FILTERS = {
  all: () => true,
  changed: (clip) => clip.changed,
  failed: (clip) => clip.state === "failed",
};
const matches = (clip) =>
  filter.startsWith("label:") ? clip.result?.label === filter.slice(6) : FILTERS[filter](clip);

function fill(item, clip) {
  const cut = clip.name.lastIndexOf("/") + 1;
  const name = el(
    "span",
    { class: "clip-name", title: clip.name },
    cut ? el("span", { class: "clip-folder", text: clip.name.slice(0, cut) }) : null,
    clip.name.slice(cut),
  );
  item.replaceChildren(name, said(clip), ...warned(clip));
  item.classList.toggle("old", clip.state === "waiting" || clip.state === "sending");
  item.classList.toggle("weak", clip.weak);
  item.hidden = !matches(clip);
}

const warned = ({ state, result }) =>
  state === "done" ? (result.warnings ?? []).map((text) => el("span", { class: "warning note", text: sentence(text) })) : [];

/** What happens to a recording that has no labels yet. */
function progress({ state, sent }) {
  if (state !== "sending") return "waiting";
  return sent > 0 && sent < 1 ? `sending, ${Math.round(100 * sent)} %` : "listening …";
}

/** A long recording in a line. */
const heard = ({ events, seconds }) => `${plural(events.length, "event")} in ${clock(seconds)}`;

function said(clip) {
  if (clip.state === "failed") return el("span", { class: "clip-error", text: sentence(clip.error.message) });
  if (!clip.result)
    return el("span", { class: "muted note", text: progress(clip) });
  const { zero_shot: before, label, events } = clip.result;
  if (events) return el("span", { class: "note muted", text: heard(clip.result) });
  if (!clip.adapted) return el("span", { class: "said" }, tag(label));
  if (before === label) return el("span", { class: "said" }, tag(label));
  return el(
    "span",
    { class: "said" },
    tag(before, "was"),
    el("span", { class: "arrow", role: "img", "aria-label": "became", text: "→" }),
    tag(label),
  );
}

const flush = oncePerFrame(() => {
  const batch = queue.splice(0, A_FRAME);
  const fragment = document.createDocumentFragment();
  for (const clip of batch) {
    const item = el("li", {
      role: "option",
      id: `clip-${clip.id}`,
      "aria-selected": String(clip === store.selected),
    });
    items.set(clip, item);
    fill(item, clip);
    fragment.append(item);
  }
  $("list").append(fragment);
  for (const clip of [...stale].slice(0, A_FRAME)) {
    stale.delete(clip);
    // One that is still in the queue will be built as it is by then.
    if (items.has(clip)) fill(items.get(clip), clip);
  }
  mark();
  if (queue.length || stale.size) flush();
});

function mark() {
  const item = items.get(store.selected);
  if (item) $("list").setAttribute("aria-activedescendant", item.id);
  else $("list").removeAttribute("aria-activedescendant");
}

function choose(clip) {
  items.get(chosen)?.setAttribute("aria-selected", "false");
  chosen = clip;
  items.get(clip)?.setAttribute("aria-selected", "true");
  items.get(clip)?.scrollIntoView({ block: "nearest" });
  mark();
}

function keys(event) {
  const shown = store.clips.filter((clip) => items.has(clip) && !items.get(clip).hidden);
  const at = shown.indexOf(store.selected);
  const to = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: shown.length - 1,
    PageDown: at + 8,
    PageUp: at - 8,
  }[event.key];
  if (event.key === "Delete" && store.selected) store.remove([store.selected]);
  else if (to === undefined || !shown.length) return;
  else store.select(shown[Math.min(shown.length - 1, Math.max(0, to))]);
  event.preventDefault();
}

function filters() {
  const failed = store.clips.filter(FILTERS.failed).length;
  const changed = store.clips.filter(FILTERS.changed).length;
  const counts = new Map();
  for (const clip of store.done) counts.set(clip.result.label, (counts.get(clip.result.label) ?? 0) + 1);
  const options = [["all", `all ${store.clips.length}`]];
  if (changed || filter === "changed") options.push(["changed", `label changed (${changed})`]);
  if (failed || filter === "failed") options.push(["failed", `failed (${failed})`]);
  for (const [label, count] of [...counts].sort()) options.push([`label:${label}`, `${label} (${count})`]);
  if (!options.some(([value]) => value === filter)) setFilter("all");
  // An open menu must not be rebuilt under the hand that uses it.
  if (String(options) !== offered) {
    $("filter").replaceChildren(
      ...options.map(([value, text]) => el("option", { value, text, selected: value === filter })),
    );
    offered = String(options);
  }
  $("again").hidden = !failed;
  const parts = [plural(store.done.length, "recording") + " labelled"];
  if (store.done.some((clip) => clip.adapted))
    parts.push(`${plural(changed, "label")} changed by the correction`);
  if (failed) parts.push(`${failed} failed`);
  return parts.join(", ");
}

function setFilter(value) {
  filter = value;
  for (const [clip, item] of items) item.hidden = !matches(clip);
}

/** `settled()` says whether the moment is right to speak of the counts. */
export function startList(settled) {
  const count = debounce(() => {
    const text = filters();
    if (settled()) $("summary").textContent = text;
  }, 120);
  $("list").addEventListener("keydown", keys);
  $("list").addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    const clip = store.clips.find((one) => items.get(one) === item);
    if (clip) store.select(clip);
  });
  $("filter").addEventListener("change", () => setFilter($("filter").value));
  $("order").addEventListener("change", () => {
    store.sort($("order").value);
    for (const clip of store.clips) if (items.has(clip)) $("list").append(items.get(clip));
  });
  store.on("added", (clips) => {
    queue = queue.concat(clips);
    flush();
  });
  store.on("changed", (clip) => {
    stale.add(clip);
    flush();
  });
  store.on("removed", (clips) => {
    const gone = new Set(clips);
    queue = queue.filter((clip) => !gone.has(clip));
    for (const clip of clips) {
      items.get(clip)?.remove();
      items.delete(clip);
    }
  });
  store.on("selected", choose);
  store.on("added changed removed", count);
  return count;
}
