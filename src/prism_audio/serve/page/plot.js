// A sound on a canvas, as waveform or spectrogram, in the colours of the theme.

import { canvasOf, themed } from "./dom.js";
import { peaks, spectrogram } from "./sound.js";

const RANGE = 65; // decibels from black to the brightest

export function drawWaveform(canvas, sound, width, height) {
  const context = canvasOf(canvas, width, height);
  const columns = Math.min(Math.round(width), 4096);
  const { low, high } = peaks(sound.samples, columns);
  const top = Math.max(0.02, ...high, ...low.map((value) => -value));
  drawPeaks(context, low, high, width, height, 0.92 / top);
}

/** Bars from the lowest to the highest sample of every column. */
export function drawPeaks(context, low, high, width, height, gain) {
  const middle = height / 2;
  const step = width / low.length;
  context.fillStyle = themed("--wave");
  for (let x = 0; x < low.length; x++) {
    const from = middle - Math.min(1, high[x] * gain) * middle;
    const to = middle - Math.max(-1, low[x] * gain) * middle;
    context.fillRect(x * step, from, Math.max(step, 0.6), Math.max(1, to - from));
  }
}

export function drawSpectrogram(canvas, sound, width, height) {
  const context = canvasOf(canvas, width, height);
  const { levels, columns, bands, loudest } = spectrogram(
    sound.samples,
    sound.rate,
    Math.min(Math.round(width), 2048),
  );
  const image = new ImageData(columns, bands);
  const shades = themed("--spectrum")
    .split(",")
    .map((shade) => shade.trim().split(/\s+/).map(Number));
  for (let x = 0; x < columns; x++) {
    for (let band = 0; band < bands; band++) {
      const strength = Math.min(1, Math.max(0, 1 + (levels[x * bands + band] - loudest) / RANGE));
      image.data.set(shade(shades, strength), 4 * ((bands - 1 - band) * columns + x));
    }
  }
  const small = new OffscreenCanvas(columns, bands);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, width, height);
}

function shade(shades, strength) {
  const place = strength * (shades.length - 1);
  const index = Math.min(shades.length - 2, Math.floor(place));
  const rest = place - index;
  const [from, to] = [shades[index], shades[index + 1]];
  return [0, 1, 2].map((c) => Math.round(from[c] + rest * (to[c] - from[c]))).concat(255);
}
