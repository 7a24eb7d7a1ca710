"""What is measured inside the page, for people who see or hear it differently."""

from __future__ import annotations

# Every control that a person can reach must say what it is.
UNNAMED = """() => [...document.querySelectorAll("input, select, textarea, button, [role=listbox]")]
  .filter((control) => {
    const labelled = (control.getAttribute("aria-labelledby") ?? "").split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "").join("");
    const label = [...(control.labels ?? [])].map((one) => one.textContent).join("");
    const own = control.matches("button") ? control.textContent : "";
    return !(control.getAttribute("aria-label") || labelled || label || own).trim();
  })
  .map((control) => control.outerHTML)"""

# Contrast of every text that shows, against the nearest background that is painted. A canvas knows
# all ways to write a colour.
FAINT = """() => {
  const ink = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    ink.clearRect(0, 0, 1, 1);
    ink.fillStyle = colour;
    ink.fillRect(0, 0, 1, 1);
    return [...ink.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 10.31 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest(":disabled, .old, option, noscript")) continue;
    const text = light(rgba(getComputedStyle(element).color));
    const back = light(ground(element));
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 120)}`);
  }
  return found;
}"""

# How far the page could be pushed sideways.
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
