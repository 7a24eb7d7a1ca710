// Windows become stretches of one label, drawn as two tracks: zero-shot above adapted.

import { tint } from "./colour.js";
import { clock, el } from "./dom.js";

const TRACKS = [
  ["zero_shot", "Zero-shot"],
  ["label", "Adapted"],
];
const CLOSE = 600; // seconds in view, up to which single windows can be seen
const SCORES = { zero_shot: "zero_shot_score", label: "score" };

/**
 * Neighbouring windows with the same label as one stretch.
 *
 * Windows overlap; the boundary between two labels lies in the middle of what they share.
 */
export function stretches(windows, key) {
  const score = SCORES[key];
  const found = [];
  for (const window of windows) {
    const last = found.at(-1);
    if (last?.label === window[key]) {
      last.end = window.end;
      last.total += window[score];
      last.windows += 1;
    } else {
      let start = window.start;
      if (last && start < last.end) start = last.end = (start + last.end) / 2;
      found.push({ label: window[key], start, end: window.end, total: window[score], windows: 1 });
    }
  }
  return found.map(({ total, ...part }) => ({ ...part, score: total / part.windows }));
}

/** Two tracks from second `from` to second `to`; without a correction one. */
export function tracks(windows, from, to, adapted) {
  const shown = adapted ? TRACKS : TRACKS.slice(0, 1);
  return shown.map(([key, title]) => lane(title, stretches(windows, key), { from, to }));
}

/**
 * The lanes of a recording, of which the part in `view` is drawn: events where it is long, and its
 * windows where they are wide enough to be seen.
 */
export function lanes(result, seconds, view, adapted) {
  const room = { from: 0, to: seconds };
  const shown = result.events ? [lane("Events", result.events, room, view, "event")] : [];
  if (view.to - view.from > CLOSE)
    return [...shown, el("p", { class: "note muted lane-note", text: "Zoom in to see every window." })];
  const margin = { from: view.from - CLOSE, to: view.to + CLOSE };
  const near = (result.timeline ?? []).filter(({ start, end }) => end > margin.from && start < margin.to);
  for (const [key, title] of adapted ? TRACKS : TRACKS.slice(0, 1))
    shown.push(lane(title, stretches(near, key), room, view));
  return shown;
}

/** A track of parts; those in `view` are drawn, placed between `room.from` and `room.to`. */
function lane(title, parts, room, view = room, extra = "") {
  const label = `${title}: ${spoken(parts)}`;
  const track = el("div", { class: "track", role: "img", "aria-label": label });
  for (const part of parts) {
    if (part.end <= view.from || part.start >= view.to) continue;
    const start = Math.max(part.start, room.from);
    const width = (Math.min(part.end, room.to) - start) / (room.to - room.from);
    const piece = tint(
      el("span", {
        class: `piece ${extra}`,
        text: part.label,
        "aria-hidden": "true",
        title: `${part.label}, ${clock(part.start)} to ${clock(part.end)}`,
      }),
      part.label,
    );
    piece.style.left = `${(100 * (start - room.from)) / (room.to - room.from)}%`;
    piece.style.width = `${100 * width}%`;
    track.append(piece);
  }
  return el(
    "div",
    { class: "lane" },
    el("span", { class: "lane-name", text: title, "aria-hidden": "true" }),
    track,
  );
}

function spoken(parts) {
  if (!parts.length) return "nothing";
  const few = parts
    .slice(0, 12)
    .map((part) => `${part.label} from ${clock(part.start)} to ${clock(part.end)}`);
  return few.join(", ") + (parts.length > few.length ? `, and ${parts.length - few.length} more` : "");
}

/** The same as a table, for reading. */
export function stretchTable(windows, adapted) {
  const rows = [];
  for (const [key, title] of adapted ? TRACKS : TRACKS.slice(0, 1)) {
    for (const part of stretches(windows, key).slice(0, 300)) {
      rows.push(
        el(
          "tr",
          {},
          ...[title, clock(part.start), clock(part.end), part.label, part.score.toFixed(2)].map((text) =>
            el("td", { text }),
          ),
        ),
      );
    }
  }
  const head = ["", "from", "to", "label", "score"].map((text) =>
    text ? el("th", { scope: "col", text }) : el("td"),
  );
  return el(
    "div",
    {},
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
    el("p", { class: "note muted", text: "Scores of zero-shot and adapted are on different scales." }),
  );
}

/** The events of a long recording as a table; `go(event)` shows one. */
export function eventTable(events, go) {
  const rows = events.slice(0, 1000).map((event) => {
    const begin = el("button", { type: "button", class: "quiet", text: clock(event.start) });
    begin.addEventListener("click", () => go(event));
    const sure = event.confidence === null ? "" : event.confidence.toFixed(2);
    const cells = [clock(event.end), event.label, event.score.toFixed(2), sure];
    return el("tr", {}, el("td", {}, begin), ...cells.map((text) => el("td", { text })));
  });
  const head = ["from", "to", "label", "score", "confidence"].map((text) => el("th", { scope: "col", text }));
  return el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

/** Marks of time along the bottom, about eight in `view`. */
export function ruler(seconds, view = { from: 0, to: seconds }) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800];
  const step = steps.find((size) => (view.to - view.from) / size <= 8) ?? 3600;
  const line = el("div", { class: "ruler", "aria-hidden": "true" });
  const first = step * Math.max(0, Math.floor(view.from / step) - 1);
  for (let at = first; at <= Math.min(seconds - 0.4 * step, view.to); at += step) {
    const text = step < 1 ? at.toFixed(1) : at < 60 ? `${Math.round(at)} s` : clock(at).replace(/\.0$/, "");
    const mark = el("span", { text });
    mark.style.left = `${(100 * at) / seconds}%`;
    line.append(mark);
  }
  return line;
}
