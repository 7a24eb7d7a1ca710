// What the page knows: the sites, the labels in use, and the clips with what was said of them.

/** A recording; `state` is waiting, sending, done or failed. */
class Clip {
  static #last = 0;

  constructor(file, name) {
    this.id = ++Clip.#last;
    this.file = file;
    this.name = name;
    this.row = null; // the service's id of its embedding, once it has one
    this.forget();
  }

  forget() {
    this.state = "waiting";
    this.error = null;
    this.sent = 0; // how much of a large file has reached the service, 0 to 1
  }

  /** Did the correction give it another label than zero-shot? Doubt alone is no change. */
  get changed() {
    if (this.state !== "done") return false;
    const { unknown, top, label, zero_shot: before } = this.result;
    return (unknown ? top[0].label : label) !== before;
  }

  /** Is its label no more than a guess? */
  get weak() {
    if (this.state !== "done") return false;
    const { unknown, probability } = this.result;
    return unknown || (probability !== null && probability < 0.5);
  }
}

/**
 * Tells what happens: "added" and "removed" (detail: clips), "changed" (a clip), "selected",
 * "site", "labels" (what is asked for from now on), "report" (a calibration).
 */
class Store extends EventTarget {
  clips = [];
  selected = null;
  limits = { files: 16, bytes: 32e6, seconds: 600, formats: ["wav", "flac", "ogg", "mp3"] };
  sites = [];
  defaultSite = null;
  site = null;
  typed = null; // labels that replace those of the site
  typedBackground = null; // background words that do
  report = null;

  tell(name, detail = null) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  on(names, action) {
    for (const name of names.split(" ")) this.addEventListener(name, (event) => action(event.detail));
  }

  /** Take in files: `[{ file, name }]`. */
  add(found) {
    const clips = found.map(({ file, name }) => new Clip(file, name));
    this.clips = this.clips.concat(clips);
    this.tell("added", clips);
    return clips;
  }

  remove(clips) {
    const gone = new Set(clips);
    const place = this.clips.indexOf(this.selected);
    this.clips = this.clips.filter((clip) => !gone.has(clip));
    this.tell("removed", clips);
    if (gone.has(this.selected)) this.select(this.clips[Math.min(place, this.clips.length - 1)] ?? null);
  }

  /** The order of the list: "given"; "doubt", the smallest margin first; "near", as a search found. */
  sort(order) {
    const place = {
      given: () => 0,
      doubt: (clip) => clip.result?.margin ?? Infinity,
      near: (clip) => clip.near ?? Infinity,
    }[order];
    // Two that nothing is known of are Infinity both, and their difference is no number.
    this.clips.sort((a, b) => place(a) - place(b) || a.id - b.id);
  }

  select(clip) {
    this.selected = clip;
    this.tell("selected", clip);
  }

  update(clip, fields) {
    Object.assign(clip, fields);
    this.tell("changed", clip);
    // The first that has something to show, until somebody chooses.
    if (!this.selected && clip.state === "done") this.select(clip);
  }

  setSites(sites, name) {
    this.sites = sites;
    this.site = sites.find((site) => site.name === name) ?? sites[0] ?? null;
    this.typed = this.#notOwn(this.typed, this.site?.labels);
    this.typedBackground = this.#notOwn(this.typedBackground, this.site?.background);
    this.tell("site", this.site);
  }

  /** Labels and background words typed by hand; null, or the site's own: those of the site. */
  setLabels(labels, background) {
    const before = JSON.stringify([this.labels, this.background]);
    this.typed = this.#notOwn(labels?.length ? labels : null, this.site?.labels);
    this.typedBackground = this.#notOwn(background, this.site?.background);
    if (JSON.stringify([this.labels, this.background]) !== before) this.tell("labels", this.labels);
  }

  #notOwn(words, own) {
    return words && JSON.stringify(words) !== JSON.stringify(own) ? words : null;
  }

  get background() {
    return this.typedBackground ?? this.site?.background ?? [];
  }

  get labels() {
    return this.typed ?? this.site?.labels ?? [];
  }

  get done() {
    return this.clips.filter((clip) => clip.state === "done");
  }
}

export const store = new Store();
