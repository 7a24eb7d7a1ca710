// A verdict in plain words: what it means, and what to do next.

const MORE = "Record more, with as many of the labels in it as you can, and calibrate again.";
const VERDICTS = {
  adapted: {
    short: "corrected",
    title: "The correction holds",
    next: "Use the site as it is.",
    text: "The recordings carry a full correction for this place. Every clip is corrected from now on.",
  },
  shrunk: {
    short: "partly corrected",
    title: "Part of the correction is used",
    next: MORE,
    text: `The recordings carry a part of a correction, and that part is used. ${MORE}`,
  },
  "zero-shot": {
    short: "zero-shot",
    title: "No correction is used",
    next: MORE,
    text: `The recordings cannot carry a correction, so labels stay as zero-shot gives them. ${MORE}`,
  },
  none: {
    short: "not calibrated",
    title: "Not calibrated",
    next: "",
    text: "This site has no correction yet.",
  },
};

export const inWords = (verdict) => VERDICTS[verdict] ?? VERDICTS.none;
