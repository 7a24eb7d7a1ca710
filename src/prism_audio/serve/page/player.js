// Playing one recording, and where it is.

import { clock, el, say } from "./dom.js";

/** Calls `moved(seconds)` while it plays; `slider` is what its slider is called. */
export class Player {
  #audio = new Audio();
  #frame = 0;
  #url = null;

  constructor(moved, slider = "Position") {
    this.moved = moved;
    this.button = el("button", { type: "button", class: "play", onclick: () => this.toggle() });
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.01,
      value: 0,
      "aria-label": slider,
    });
    this.time = el("span", { class: "time note" });
    this.trouble = el("p", { class: "muted note", role: "status", hidden: true });
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    for (const name of ["play", "pause", "ended"]) this.#audio.addEventListener(name, () => this.#show());
    this.#audio.addEventListener("error", () => {
      if (!this.#url) return;
      say(this.trouble, "This browser cannot play this format. The labels hold all the same.");
      this.button.disabled = true;
    });
    this.#show();
  }

  open(file, seconds) {
    this.close();
    this.#url = URL.createObjectURL(file);
    this.#audio.src = this.#url;
    this.seconds = seconds;
    this.slider.max = seconds || 1;
    say(this.trouble, "");
    this.button.disabled = false;
    this.seek(0);
  }

  close() {
    this.#audio.pause();
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = null;
  }

  setSeconds(seconds) {
    this.seconds = seconds;
    this.slider.max = seconds || 1;
    this.#place();
  }

  toggle() {
    if (!this.#audio.paused) return this.#audio.pause();
    this.#audio.play().catch(() => {}); // the error event says it
  }

  seek(seconds) {
    this.#audio.currentTime = seconds;
    this.slider.value = seconds;
    this.#place(seconds);
  }

  #show() {
    const playing = !this.#audio.paused && !this.#audio.ended;
    this.button.textContent = playing ? "Pause" : "Play";
    this.button.classList.toggle("playing", playing);
    cancelAnimationFrame(this.#frame);
    if (playing) this.#follow();
  }

  #follow() {
    this.#place();
    this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #place(at = this.#audio.currentTime) {
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", clock(at));
    this.time.textContent = `${clock(at)} / ${clock(this.seconds ?? 0)}`;
    this.moved(at);
  }
}
