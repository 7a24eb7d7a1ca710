// A calibration: what is sent, and following the job until its end.

import { address, getJson, pause, postJson, request, ServiceError } from "./api.js";
import { bodyOf } from "./groups.js";
import { labelText } from "./label_text.js";

/**
 * Calibrate a site on clips that were labelled before; gives the service's result.
 *
 * The service still has their embeddings, so no sound is sent. `told({ text, done, total })` hears of
 * the progress; `signal` cancels it; `options` are more parameters of the request.
 */
export async function calibrate(clips, site, { labels, background }, told, signal, options = {}) {
  const words = { labels: labelText(labels), background: labelText(background) || " " };
  const path = address("/v1/calibrate", { site, ...words, ...options });
  const onWait = () => told({ text: "The service is busy; waiting for a place …" });
  told({ text: "Asking for a calibration …" });
  const { body, headers } = bodyOf(clips);
  const job = await postJson(path, body, { signal, onWait, headers });
  sessionStorage.setItem(KEY, JSON.stringify(job));
  return followed(job, told, signal);
}

/** The job that was under way when the page was reloaded; null if there is none. */
export const unfinished = () => JSON.parse(sessionStorage.getItem(KEY));

/** Follow a job to its end and give its result; `signal` cancels it. */
export async function followed(job, told, signal) {
  const cancel = () => request(job.url, { method: "DELETE" }).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const done = await follow(job, told);
    if (done.state === "cancelled") throw new DOMException("cancelled", "AbortError");
    if (done.state !== "done") throw new ServiceError(done.error?.code, done.error?.detail);
    return done.result ?? (await getJson(job.url)).result;
  } finally {
    sessionStorage.removeItem(KEY);
  }
}

const KEY = "prism-job";
const STAGES = {
  reading: "Listening",
  calibrating: "Working out the correction",
  storing: "Storing the site",
};

function describe(job, told) {
  if (job.state === "waiting") return told({ text: "Waiting for its turn …" });
  const left = job.seconds_left > 1 ? `, ${Math.ceil(job.seconds_left)} s left` : "";
  const count = job.stage === "reading" && job.total ? ` to ${job.done} of ${job.total}` : "";
  const known = job.stage === "reading" && job.total;
  told({
    text: `${STAGES[job.stage] ?? "Working"}${count}${left} …`,
    ...(known ? { done: job.done, total: job.total } : {}),
  });
}

/** Follow the events of a job until its end; where the line breaks, ask from time to time. */
async function follow(job, told) {
  for (;;) {
    try {
      const response = await request(job.events);
      for await (const present of events(response.body)) {
        if (ended(present)) return present;
        describe(present, told);
      }
    } catch (error) {
      if (error instanceof ServiceError && error.status) throw error;
    }
    await pause(1000);
    const present = await getJson(job.url);
    if (ended(present)) return present;
    describe(present, told);
  }
}

const ended = ({ state }) => ["done", "failed", "cancelled"].includes(state);

/** The data of server-sent events; `EventSource` cannot show a token. */
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}
