// A verdict in plain words.

const VERDICTS = {
  adapted: {
    short: "corrected",
    title: "The correction holds",
    text: () => "The recordings carry a full correction for this place. Every clip is corrected from now on.",
  },
  shrunk: {
    short: "partly corrected",
    title: "Part of the correction is used",
    text: (weight) =>
      "The recordings carry only part of a correction" +
      (weight === null || weight === undefined ? "" : `: ${Math.round(100 * weight)} % of it is used`) +
      ". More recordings of more of the labels would let it grow.",
  },
  "zero-shot": {
    short: "zero-shot",
    title: "No correction is used",
    text: () =>
      "The recordings cannot carry a correction, so labels stay as zero-shot gives them. " +
      "Add more recordings, of as many of the labels as you can.",
  },
  none: { short: "not calibrated", title: "Not calibrated", text: () => "This site has no correction yet." },
};

export const inWords = (verdict) => VERDICTS[verdict] ?? VERDICTS.none;
