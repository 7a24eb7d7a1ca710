// Labels for the clips: sends those that wait, anew when site or labels change, and can be stopped.

import { address, postJson, ServiceError } from "./api.js";
import { bytes } from "./dom.js";
import { bodyOf, inGroups, tooLarge } from "./groups.js";
import { labelText } from "./label_text.js";
import { store } from "./store.js";

const LARGE = 4e6; // bytes from which it is worth to tell how much was sent

/** The site and the words that every request names; an empty list of background words is sent, too. */
export function asked() {
  const words = { labels: store.typed && labelText(store.typed) };
  if (store.typedBackground) words.background = labelText(store.typedBackground) || " ";
  return { site: store.site?.name, ...words };
}

/** Errors that no other file would escape: the line, the token, the labels, the site. */
const concernsAll = (error) =>
  !(error instanceof ServiceError) ||
  [0, 401, 403, 404, 503].includes(error.status) ||
  ([400, 422].includes(error.status) && !error.body?.file);

/**
 * Tells "run" when its state changes: `{ busy, done, total, waiting, stopped, error }`; `waiting` is
 * for how many seconds the service asked, `error` what stopped it.
 */
class Classifier extends EventTarget {
  #pending = [];
  #abort = null;
  state = { busy: false, done: 0, total: 0, waiting: 0, stopped: false, error: null };

  /** Label these clips as well. */
  add(clips) {
    const sendable = clips.filter((clip) => this.#accept(clip));
    for (const clip of sendable) this.#pending.push(clip);
    const { busy, done, total } = this.state;
    this.#tell({
      done: busy ? done : 0,
      total: (busy ? total : 0) + sendable.length,
      stopped: false,
      error: null,
    });
    if (!busy) this.#run();
  }

  /** Label all clips anew; the one that is looked at comes first. */
  restart() {
    this.#stop();
    const clips = [...store.clips].sort((a, b) => (b === store.selected) - (a === store.selected));
    for (const clip of clips) clip.state = "waiting";
    if (clips.length) this.add(clips);
  }

  /** Leave the rest as it is. */
  cancel() {
    this.#stop();
    this.#tell({ busy: false, stopped: true });
  }

  /** Go on after a cancel. */
  resume() {
    this.add(store.clips.filter((clip) => clip.state === "waiting"));
  }

  /** These need no label any more. */
  drop(clips) {
    const gone = new Set(clips);
    // In place: a run takes from the same array.
    const all = this.#pending.splice(0);
    for (const clip of all) if (!gone.has(clip)) this.#pending.push(clip);
    this.#tell({ total: this.state.total - (all.length - this.#pending.length) });
    if (!store.clips.length) this.#stop();
  }

  #accept(clip) {
    clip.forget();
    const reason = tooLarge(clip.file, store.limits, bytes);
    store.update(clip, reason ? { state: "failed", error: { message: reason } } : {});
    return !reason;
  }

  #stop() {
    this.#abort?.abort();
    this.#abort = null;
    this.#pending = [];
    this.#tell({ busy: false, done: 0, total: 0, waiting: 0 });
    for (const clip of store.clips) {
      if (clip.state === "sending") store.update(clip, { state: "waiting" });
    }
  }

  #halt(error) {
    this.#stop();
    this.#tell({ stopped: true, error });
  }

  async #run() {
    const abort = (this.#abort = new AbortController());
    const question = { ...asked(), timeline: true };
    const send = (group) => this.#send(group, question, abort.signal);
    const failed = (group, error) => this.#failed(group, error, send);
    this.#tell({ busy: true });
    try {
      await inGroups(this.#pending, store.limits, send, failed, abort.signal);
    } catch (error) {
      if (error.name !== "AbortError" && this.#abort === abort) return this.#halt(error);
    }
    if (this.#abort === abort) this.#tell({ busy: false });
  }

  async #send(group, question, signal) {
    for (const clip of group) store.update(clip, { state: "sending", since: performance.now() });
    const onWait = (seconds) => {
      this.#tell({ waiting: seconds });
      setTimeout(() => this.#tell({ waiting: 0 }), 1000 * seconds);
    };
    const { body, headers } = bodyOf(group);
    const large = !group[0].row && group.some((clip) => clip.file.size > LARGE);
    const onSent = large ? (share) => this.#sent(group, share) : null;
    const path = address("/v1/classify", question);
    const answer = await postJson(path, body, { signal, onWait, onSent, headers });
    if (signal.aborted) return;
    this.#take(group, answer.results, answer.adapted);
  }

  /** How much of a large file has been sent; at 1 the service begins to listen. */
  #sent(group, share) {
    for (const clip of group) store.update(clip, { sent: share });
    this.#tell({});
  }

  /** Nothing of a group could be labelled: find out for each file why. */
  async #failed(group, error, send) {
    if (error.code === "unknown_row") return this.#sendAgain(group);
    if (error.name === "AbortError" || concernsAll(error)) throw error;
    if (group.length === 1 || error.status >= 500) return this.#fail(group, error);
    for (const clip of group) await send([clip]).catch((reason) => this.#failed([clip], reason, send));
  }

  #take(group, results, adapted) {
    const gone = [];
    group.forEach((clip, place) => {
      const result = results[place];
      if (result.error?.code === "unknown_row") gone.push(clip);
      else if (result.error) store.update(clip, { state: "failed", error: result.error });
      else store.update(clip, { state: "done", result, row: result.row, adapted, error: null });
    });
    this.#sendAgain(gone);
    this.#tell({ done: this.state.done + group.length - gone.length });
  }

  /** The service has forgotten these; their sound must be sent once more. */
  #sendAgain(clips) {
    for (const clip of clips) clip.row = null;
    this.#pending.push(...clips);
  }

  #fail(group, error) {
    for (const clip of group) {
      store.update(clip, { state: "failed", error: { code: error.code, message: error.message } });
    }
    this.#tell({ done: this.state.done + group.length });
  }

  #tell(fields) {
    Object.assign(this.state, fields);
    this.dispatchEvent(new CustomEvent("run", { detail: this.state }));
  }
}

export const classifier = new Classifier();
