// The sound of a file as numbers: decoding, peaks for the waveform, energies for the spectrogram.

const RATE = 16000;
const LARGEST = 80e6;
const SIZE = 512;
const BANDS = 96;

/** Mono samples of a file, at a rate that is enough to draw; throws where the browser cannot decode it. */
export async function decode(file) {
  if (file.size > LARGEST) throw new Error("It is too large to draw");
  // decodeAudioData gives the rate of its context.
  const context = new OfflineAudioContext(1, 1, RATE);
  const buffer = await context.decodeAudioData(await file.arrayBuffer());
  const mono = new Float32Array(buffer.length);
  for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
    const samples = buffer.getChannelData(channel);
    for (let i = 0; i < mono.length; i++) mono[i] += samples[i] / buffer.numberOfChannels;
  }
  return { samples: mono, rate: RATE, seconds: buffer.duration };
}

/** Lowest and highest sample of each of `columns` stretches. */
export function peaks(samples, columns) {
  const low = new Float32Array(columns);
  const high = new Float32Array(columns);
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * samples.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * samples.length) / columns));
    let least = Infinity;
    let most = -Infinity;
    for (let i = from; i < to && i < samples.length; i++) {
      if (samples[i] < least) least = samples[i];
      if (samples[i] > most) most = samples[i];
    }
    low[column] = Number.isFinite(least) ? least : 0;
    high[column] = Number.isFinite(most) ? most : 0;
  }
  return { low, high };
}

/** Turn complex numbers into their discrete Fourier transform, in place; the length is a power of two. */
export function fft(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j], re[i]];
      [im[i], im[j]] = [im[j], im[i]];
    }
  }
  for (let span = 2; span <= n; span <<= 1) {
    const half = span >> 1;
    for (let k = 0; k < half; k++) {
      const angle = (-2 * Math.PI * k) / span;
      const c = Math.cos(angle);
      const s = Math.sin(angle);
      for (let start = k; start < n; start += span) {
        const other = start + half;
        const x = re[other] * c - im[other] * s;
        const y = re[other] * s + im[other] * c;
        re[other] = re[start] - x;
        im[other] = im[start] - y;
        re[start] += x;
        im[start] += y;
      }
    }
  }
}

const mel = (hertz) => 2595 * Math.log10(1 + hertz / 700);
const hertz = (m) => 700 * (10 ** (m / 2595) - 1);

/** First and last Fourier bin of every band; bands are equally wide to the ear. */
function bandEdges(rate) {
  const top = mel(rate / 2);
  const bin = (band) => (hertz((top * band) / BANDS) * SIZE) / rate;
  return Array.from({ length: BANDS }, (_, band) => {
    const from = Math.floor(bin(band));
    return [from, Math.max(from + 1, Math.ceil(bin(band + 1)))];
  });
}

/** Levels in decibels, `columns` by `bands` (low to high), with the loudest level. */
export function spectrogram(samples, rate, columns) {
  const edges = bandEdges(rate);
  const window = Float32Array.from(
    { length: SIZE },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE),
  );
  const levels = new Float32Array(columns * BANDS);
  const re = new Float32Array(SIZE);
  const im = new Float32Array(SIZE);
  let loudest = -Infinity;
  for (let column = 0; column < columns; column++) {
    const start = Math.round(((column + 0.5) * samples.length) / columns - SIZE / 2);
    for (let i = 0; i < SIZE; i++) re[i] = (samples[start + i] ?? 0) * window[i];
    im.fill(0);
    fft(re, im);
    for (let band = 0; band < BANDS; band++) {
      const [from, to] = edges[band];
      let power = 0;
      for (let k = from; k < to; k++) power += re[k] * re[k] + im[k] * im[k];
      const level = 10 * Math.log10(power / (to - from) + 1e-9);
      levels[column * BANDS + band] = level;
      if (level > loudest) loudest = level;
    }
  }
  return { levels, columns, bands: BANDS, loudest };
}
