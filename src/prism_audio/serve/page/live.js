// The microphone, labelled as it is heard: now, and the last seconds on two tracks.

import { openSocket } from "./api.js";
import { asked } from "./classifier.js";
import { colourLabels, tag } from "./colour.js";
import { $, canvasOf, clock, el, oncePerFrame, say, sentence } from "./dom.js";
import { openMicrophone } from "./microphone.js";
import { drawPeaks } from "./plot.js";
import { peaks } from "./sound.js";
import { store } from "./store.js";
import { tracks } from "./timeline.js";
import { wavFile } from "./wav.js";

const SHOWN = 15; // seconds on the screen
const KEPT = 600; // seconds that can become clips
const CLIP = 5;
const HEIGHT = 96;
const BACKLOG = 2e6; // bytes that wait to be sent; beyond it the line is too slow

let session = null;
let takes = 0;

class Session {
  kept = []; // pieces that can become clips
  rate = 0; // known with the first piece
  microphone = null;
  socket = null;
  over = false;

  async start() {
    this.#forget();
    this.microphone = await openMicrophone((piece, rate) => this.#hear(piece, rate));
    // People may change their mind while the browser asks them for the microphone.
    if (this.over) return this.stop();
    this.rate = this.microphone.rate;
    this.ask();
  }

  /** Ask for labels from here on, by the site and with the words of now; the microphone goes on. */
  ask() {
    this.#hangUp();
    this.#forget();
    this.adapted = !["none", "zero-shot"].includes(store.site?.verdict);
    colourLabels(store.labels);
    say($("live-now"), "Listening …");
    $("live-was").replaceChildren();
    const question = { ...asked(), rate: this.rate, format: "f32le", channels: 1 };
    const socket = (this.socket = openSocket("/v1/live", question));
    socket.binaryType = "arraybuffer";
    // What was heard while the line opened comes first, so that both count from the same moment.
    socket.onopen = () => this.pieces.forEach((piece) => socket.send(piece));
    socket.onmessage = (event) => this.#told(JSON.parse(event.data));
    socket.onclose = () => end("The service closed the line. Try again.");
  }

  stop() {
    this.over = true;
    this.microphone?.stop();
    this.microphone = null;
    this.#hangUp();
  }

  #hangUp() {
    if (!this.socket) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }

  #forget() {
    this.pieces = [];
    this.windows = [];
    this.length = 0; // samples heard
    this.told = "";
  }

  get seconds() {
    return this.length / this.rate;
  }

  #hear(piece, rate) {
    this.rate = rate;
    this.pieces.push(piece);
    this.kept.push(piece);
    this.length += piece.length;
    if (this.pieces.length * piece.length > SHOWN * this.rate && this.socket?.readyState === WebSocket.OPEN)
      this.pieces.shift();
    if (this.kept.length * piece.length > KEPT * this.rate) this.kept.shift();
    draw();
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(piece);
    if (this.socket.bufferedAmount > BACKLOG) end("The line to the service is too slow for live sound.");
  }

  #ready({ window }) {
    $("live-now").textContent =
      window > 2 ? `Listening; the first label takes ${Math.ceil(window)} s …` : "Listening …";
  }

  #told(message) {
    if (message.type === "error")
      return end(message.message ?? "The service cannot label this.");
    if (message.type === "ready") return this.#ready(message);
    if (message.type !== "window") return;
    this.windows.push(message);
    const text = `${message.label}|${message.zero_shot}`;
    if (text === this.told) return;
    this.told = text;
    $("live-now").replaceChildren(tag(message.label));
    const differs = this.adapted && message.label !== message.zero_shot;
    $("live-was").replaceChildren(...(differs ? ["Zero-shot would say ", tag(message.zero_shot)] : []));
  }
}

const draw = oncePerFrame(() => {
  if (!session?.rate) return;
  const canvas = $("live-plot");
  const width = canvas.clientWidth;
  const columns = Math.max(1, Math.round(width / 2));
  const to = Math.max(SHOWN, session.seconds);
  const recent = joined(session.pieces);
  const share = Math.min(1, recent.length / (SHOWN * session.rate));
  const { low, high } = peaks(recent, Math.max(1, Math.round(columns * share)));
  const context = canvasOf(canvas, width, HEIGHT);
  const loud = Math.max(0.05, ...high);
  drawPeaks(context, low, high, width * share, HEIGHT, 0.9 / loud);
  $("live-timeline").replaceChildren(...tracks(session.windows.slice(-200), to - SHOWN, to, session.adapted));
});

function joined(pieces) {
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** What was heard, as clips that can be labelled and calibrated on like any other. */
function keep() {
  const samples = joined(session.kept);
  const step = CLIP * session.rate;
  const found = [];
  takes += 1;
  for (let at = 0; at < samples.length; at += step) {
    // A rest that is too short to say anything is left out.
    if (at && samples.length - at < step / 2) break;
    const name = `microphone ${takes} from ${clock(at / session.rate)}.wav`;
    found.push({ name, file: wavFile(name, samples.subarray(at, at + step), session.rate) });
  }
  store.add(found);
  $("live").hidden = true;
  session = null;
}

function end(reason = "") {
  session.stop();
  $("live").classList.remove("on");
  $("live-stop").hidden = true;
  $("live-keep").hidden = !session.kept.length;
  $("mic").disabled = false;
  if (reason) $("live-now").replaceChildren(el("span", { class: "error", text: sentence(reason) }));
  if (!session.kept.length && !reason) $("live").hidden = true;
}

async function begin() {
  $("mic").disabled = true;
  $("live").hidden = false;
  $("live").classList.add("on");
  $("live-stop").hidden = false;
  $("live-keep").hidden = true;
  $("live-timeline").replaceChildren();
  say($("live-now"), "Listening …");
  $("live-was").replaceChildren();
  session = new Session();
  const mine = session;
  try {
    await session.start();
  } catch (error) {
    if (mine === session) end(error.message);
  }
}

export function startLive() {
  $("mic").addEventListener("click", () => {
    begin();
    $("live-stop").focus();
  });
  $("live-stop").addEventListener("click", () => {
    end();
    (session.kept.length ? $("live-keep") : $("mic")).focus();
  });
  $("live-keep").addEventListener("click", keep);
  store.on("labels site", () => session?.microphone && session.ask());
}
