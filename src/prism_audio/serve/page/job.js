// A calibration: what is sent, and following the job until its end.

import { address, getJson, pause, postJson, request, ServiceError } from "./api.js";
import { formOf, inGroups } from "./groups.js";
import { labelText } from "./label_text.js";
import { store } from "./store.js";

/**
 * Calibrate a site on clips that were labelled before; gives the service's CALIBRATION.
 *
 * `told({ text, done, total, sending })` hears of the progress; while `sending`, `signal` can stop it.
 */
export async function calibrate(clips, site, labels, told, signal) {
  const bytes = clips.reduce((sum, clip) => sum + clip.file.size, 0);
  const fits = clips.length <= store.limits.files && bytes < 0.95 * store.limits.bytes;
  const path = address("/v1/calibrate", { site, labels: labelText(labels) });
  const onWait = () => told({ text: "The service is busy; waiting for a place …", sending: true });
  told({ text: "Sending the recordings …", sending: true });
  const job = fits
    ? await postJson(path, formOf(clips), { signal, onWait })
    : await postJson(path, JSON.stringify({ embeddings: await embeddings(clips, told, signal) }), {
        signal,
        onWait,
        headers: { "Content-Type": "application/json" },
      });
  const done = await follow(job, told);
  if (done.state === "failed")
    throw new ServiceError(done.error?.code, done.error?.detail ?? "The calibration failed.");
  return done.result ?? (await getJson(job.url)).result;
}

/** More than one request can carry: embed in groups, then send the embeddings, which are small. */
async function embeddings(clips, told, signal) {
  const rows = new Map();
  const send = async (group) => {
    const answer = await postJson("/v1/embeddings", formOf(group), { signal });
    group.forEach((clip, place) => rows.set(clip, answer.results[place]?.embedding));
    told({
      text: `Listening to ${rows.size} of ${clips.length}`,
      done: rows.size,
      total: clips.length,
      sending: true,
    });
  };
  const failed = (group, error) => {
    throw error;
  };
  await inGroups([...clips], store.limits, send, failed, signal);
  const short = (value) => Number(value.toPrecision(6));
  return clips
    .map((clip) => rows.get(clip))
    .filter(Boolean)
    .map((row) => row.map(short));
}

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
