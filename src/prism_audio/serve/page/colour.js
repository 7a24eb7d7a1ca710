// One hue for each label; lightness and strength belong to the theme (style.css).

import { el, themed } from "./dom.js";

const GOLDEN_ANGLE = 137.508;
let order = new Map();

/** Colours follow the order of the labels in use. */
export function colourLabels(labels) {
  order = new Map(labels.map((label, index) => [label, index]));
}

const hueAt = (index) => Math.round((205 + index * GOLDEN_ANGLE) % 360);

/** Give an element the tint of a label; labels that are not in use stay grey. */
export function tint(element, label) {
  element.classList.add("tint");
  if (order.has(label)) element.style.setProperty("--hue", hueAt(order.get(label)));
  else element.classList.add("plain");
  return element;
}

/** A label as a small coloured tag. */
export const tag = (label, extra = "") => tint(el("span", { class: `tag ${extra}`, text: label }), label);

/** The strong colour of the label at an index, for canvases. */
export const dot = (index) => `oklch(${themed("--dot-l")} ${themed("--dot-c")} ${hueAt(index)})`;
