// The embeddings in two dimensions, moving from zero-shot to adapted.

import { dot } from "./colour.js";
import { canvasOf, el, oncePerFrame, plural, themed } from "./dom.js";

const MOVE = 1800; // milliseconds
const MARGIN = 24;
const STRAGGLERS = 0.02; // share of the points at either end of an axis
const NEAR = 14;

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const smooth = (t) => t * t * (3 - 2 * t);

/** A picture of `view` (CALIBRATION.view); `names` are the files of its points, if known. */
export function scatter(view, labels, names) {
  const canvas = el("canvas", { class: "cloud", role: "img" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.01,
    value: 1,
    "aria-label": "From zero-shot to adapted",
  });
  const button = el("button", { type: "button", text: "Play the move" });
  const pointed = el("p", {
    class: "muted note pointed",
    text: "Each dot is a recording; rings mark those whose label changed.",
  });
  const changed = view.labels.map((label, i) => label !== view.zero_shot[i]);
  const count = changed.filter(Boolean).length;
  canvas.setAttribute(
    "aria-label",
    `${plural(view.labels.length, "recording")} as dots coloured by label; ${count} change colour`,
  );
  const [before, after] = [centred(view.before), centred(view.after)];
  const fit = fitting([...before, ...after]);
  let spots = [];
  let frame = 0;

  const draw = () => {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width) return;
    const t = smooth(Number(slider.value));
    slider.setAttribute("aria-valuetext", `${Math.round(100 * slider.value)} % of the way`);
    const context = canvasOf(canvas, width, height);
    const colours = labels.map((_, index) => dot(index));
    const ring = themed("--text");
    spots = before.map((from, i) => fit(mix(from, after[i], t), width, height));
    const radius = spots.length > 600 ? 2.6 : 4;
    spots.forEach(([x, y], i) => {
      if (changed[i]) trail(context, fit(before[i], width, height), [x, y], themed("--line-strong"));
    });
    spots.forEach(([x, y], i) => {
      disc(context, x, y, radius, colours[view.zero_shot[i]], changed[i] ? 1 - t : 1);
      if (!changed[i]) return;
      disc(context, x, y, radius, colours[view.labels[i]], t);
      context.globalAlpha = 1;
      context.strokeStyle = ring;
      context.lineWidth = 1.2;
      context.stroke();
    });
    context.globalAlpha = 1;
  };
  const redraw = oncePerFrame(draw);

  const play = () => {
    cancelAnimationFrame(frame);
    if (still()) {
      slider.value = slider.value < 0.5 ? 1 : 0;
      return draw();
    }
    const start = performance.now();
    const step = (now) => {
      slider.value = Math.min(1, Math.max(0, now - start) / MOVE);
      draw();
      if (slider.value < 1) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
  };

  slider.addEventListener("input", () => {
    cancelAnimationFrame(frame);
    redraw();
  });
  button.addEventListener("click", play);
  canvas.addEventListener("pointermove", (event) => {
    const near = nearest(spots, event.offsetX, event.offsetY);
    if (near < 0) return;
    const [was, is] = [labels[view.zero_shot[near]], labels[view.labels[near]]];
    pointed.textContent = `${names[near] ?? "A recording"}: ${was === is ? is : `${was} → ${is}`}`;
  });
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const ends = el(
    "div",
    { class: "row between note muted" },
    el("span", { text: "Zero-shot" }),
    el("span", { text: "Adapted" }),
  );
  const element = el(
    "figure",
    { class: "scatter" },
    canvas,
    ends,
    slider,
    el("div", { class: "row between" }, pointed, button),
  );
  return { element, start: () => (still() ? draw() : play()) };
}

const mix = (from, to, t) => [from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])];

/** Points about their own middle at their own size, so that one cloud does not shrink the other to a spot. */
function centred(points) {
  const mean = (axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const moved = points.map((point) => [point[0] - x, point[1] - y]);
  const size = Math.sqrt(moved.reduce((sum, [a, b]) => sum + a * a + b * b, 0) / points.length) || 1;
  return moved.map(([a, b]) => [a / size, b / size]);
}

/**
 * From the coordinates of the points to those of a canvas; both axes have the same scale.
 *
 * A few stragglers must not squeeze all others: they stand at the rim.
 */
function fitting(points) {
  const range = (axis) => {
    const values = points.map((point) => point[axis]).sort((a, b) => a - b);
    const beyond = Math.floor(STRAGGLERS * values.length);
    return [values[beyond], values[values.length - 1 - beyond]];
  };
  const [[left, right], [low, high]] = [range(0), range(1)];
  const [centreX, centreY] = [(left + right) / 2, (low + high) / 2];
  const inside = (value, size) => Math.min(size - MARGIN / 2, Math.max(MARGIN / 2, value));
  return ([x, y], width, height) => {
    const scale = Math.min(
      (width - 2 * MARGIN) / (right - left || 1),
      (height - 2 * MARGIN) / (high - low || 1),
    );
    return [
      inside(width / 2 + scale * (x - centreX), width),
      inside(height / 2 - scale * (y - centreY), height),
    ];
  };
}

function disc(context, x, y, radius, colour, alpha) {
  context.globalAlpha = 0.85 * alpha;
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function trail(context, from, to, colour) {
  context.globalAlpha = 0.5;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function nearest(spots, x, y) {
  let best = -1;
  let least = NEAR ** 2;
  spots.forEach(([a, b], i) => {
    const distance = (a - x) ** 2 + (b - y) ** 2;
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}
