// Runs beside the sound: hands what the microphone hears to the page, in pieces of about 50 ms.

const LENGTH = Math.ceil(sampleRate / 20);

class Pieces extends AudioWorkletProcessor {
  #piece = new Float32Array(LENGTH);
  #filled = 0;

  process([input]) {
    for (const sample of input[0] ?? []) {
      this.#piece[this.#filled++] = sample;
      if (this.#filled === LENGTH) {
        this.port.postMessage(this.#piece, [this.#piece.buffer]);
        this.#piece = new Float32Array(LENGTH);
        this.#filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("pieces", Pieces);
