// The microphone as pieces of mono float samples.

const REASONS = {
  NotAllowedError:
    "The browser was not allowed to use the microphone. Allow it in the address bar, then try again.",
  NotFoundError: "No microphone was found. Connect one, then try again.",
  NotReadableError: "The microphone is in use by another program. Close that one, then try again.",
};

/** Start to hear; `heard(Float32Array, rate)` gets the pieces. Gives `{ rate, stop() }`. */
export async function openMicrophone(heard) {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("Browsers give the microphone only to pages on this machine (localhost) or over https.");
  }
  // What makes speech pleasant to people bends the sounds that are to be recognised.
  const audio = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const stream = await navigator.mediaDevices.getUserMedia({ audio }).catch((error) => {
    throw new Error(REASONS[error.name] ?? `The microphone cannot be used: ${error.message}`);
  });
  const context = new AudioContext();
  const stop = () => {
    for (const track of stream.getTracks()) track.stop();
    if (context.state !== "closed") context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL("worklet.js", import.meta.url));
    const node = new AudioWorkletNode(context, "pieces", { numberOfOutputs: 0 });
    node.port.onmessage = (event) => heard(event.data, context.sampleRate);
    context.createMediaStreamSource(stream).connect(node);
    await context.resume();
  } catch (error) {
    stop();
    throw error;
  }
  return { rate: context.sampleRate, stop };
}
