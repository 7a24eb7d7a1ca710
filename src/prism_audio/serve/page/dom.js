// Building elements without ever parsing text as HTML.

export const $ = (id) => document.getElementById(id);

/** A new element: `el("p", { class: "note", text: "hello" }, child, ...)`. */
export function el(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Show or hide, and set the text, in one go; empty text hides. */
export function say(element, text) {
  element.textContent = text;
  element.hidden = !text;
}

/** Text that waits until the last call is `wait` ms ago. */
export function debounce(action, wait) {
  let timer = 0;
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), wait);
  };
  later.stop = () => clearTimeout(timer);
  return later;
}

/** One call a frame, however often it is asked for. */
export function oncePerFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}

export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** A message of the service with a capital; no full stop is added, it may end in a command. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function clock(seconds) {
  const whole = Math.max(0, seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes >= 60) {
    const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
    return `${hours}:${String(rest).padStart(2, "0")}:${String(Math.floor(whole % 60)).padStart(2, "0")}`;
  }
  return `${minutes}:${(whole - 60 * minutes).toFixed(1).padStart(4, "0")}`;
}

export function bytes(n) {
  if (n < 1000) return `${n} bytes`;
  if (n < 1e6) return `${(n / 1e3).toFixed(0)} kB`;
  return n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`;
}

/** Canvas ready to draw in CSS pixels, sharp on every screen. */
export function canvasOf(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 8192 / Math.max(1, width));
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** A colour of the present theme, by the name of its custom property. */
export const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
