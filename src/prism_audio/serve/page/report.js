// Before and after a calibration: the verdict, the counts, the labels that changed, the view.

import { tag, tint } from "./colour.js";
import { el, plural, sentence } from "./dom.js";
import { saveAdapter } from "./download.js";
import { scatter } from "./scatter.js";
import { useVersion } from "./versions.js";
import { inWords } from "./words.js";

const LISTED = 200;

/** The whole report as elements; `start()` sets the view moving. */
export function report(calibration) {
  const { site, view } = calibration;
  const table = calibration.clips_table;
  const names = view?.labels.length === table.length ? table.map((row) => row.file) : [];
  const cloud = view?.labels.length ? scatter(view, site.labels, names) : null;
  const parts = [
    verdict(calibration),
    el(
      "div",
      { class: "columns" },
      part("Count of each label", counts(calibration.classes)),
      cloud && part("The recordings, from zero-shot to adapted", cloud.element),
    ),
    part(changedTitle(calibration), changes(table)),
  ];
  if (calibration.skipped?.length) parts.push(part("Left out", skipped(calibration.skipped)));
  return { elements: parts, start: () => cloud?.start() };
}

const part = (title, content) => el("section", { class: "part" }, el("h3", { text: title }), content);

function verdict({ site, clips, changed, taken, version }) {
  const words = inWords(site.verdict);
  const trouble = el("p", { class: "error", role: "alert", hidden: true });
  const download = el("button", {
    type: "button",
    class: "primary",
    id: "save-adapter",
    text: "Download the adapter",
  });
  download.addEventListener("click", async () => {
    trouble.hidden = true;
    try {
      await saveAdapter(site.name);
    } catch (error) {
      trouble.textContent = sentence(error.message);
      trouble.hidden = false;
    }
  });
  const change = el("button", {
    type: "button",
    id: "change-version",
    text: taken ? "Undo this calibration" : "Use it all the same",
  });
  change.addEventListener("click", async () => {
    trouble.hidden = true;
    try {
      await useVersion(site.name, taken ? site.previous : version);
      change.replaceWith(
        el("p", { class: "note", role: "status", text: taken ? "Undone." : "It is in use now." }),
      );
    } catch (error) {
      trouble.textContent = sentence(error.message);
      trouble.hidden = false;
    }
  });
  const title = taken ? words.title : "Not used: the site keeps its stronger correction";
  const text = taken ? words.text : `This calibration: ${words.title.toLowerCase()}. ${words.next}`;
  return el(
    "div",
    { class: `verdict ${taken ? site.verdict : "kept"}` },
    el("h3", { id: "verdict", text: title }),
    el("p", { class: "prose", text }),
    el("ul", { class: "reasons" }, ...(site.reasons ?? []).map((reason) => el("li", { text: reason }))),
    el("p", {
      class: "note muted",
      text: `Site “${site.name}”, ${plural(clips, "recording")}, ${plural(changed, "label")} changed.`,
    }),
    el("div", { class: "row" }, taken ? download : null, change),
    trouble,
  );
}

function counts(classes) {
  const most = Math.max(1, ...classes.map(({ before, after }) => Math.max(before, after)));
  const bar = (label, count, kind) => {
    const fill = tint(el("span", { class: `bar ${kind}` }), label);
    fill.style.width = `${(100 * count) / most}%`;
    return el(
      "td",
      {},
      el(
        "span",
        { class: "bar-cell" },
        el("span", { class: "bar-room" }, fill),
        el("span", { class: "count", text: count }),
      ),
    );
  };
  const head = el(
    "tr",
    {},
    ...["label", "zero-shot", "adapted"].map((text) => el("th", { scope: "col", text })),
  );
  const rows = classes.map(({ label, before, after }) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("span", { class: "named" }, tint(el("span", { class: "swatch" }), label), label),
      ),
      bar(label, before, "before"),
      bar(label, after, "after"),
    ),
  );
  return el(
    "div",
    { class: "table-room" },
    el("table", { class: "counts" }, el("thead", {}, head), el("tbody", {}, ...rows)),
  );
}

const changedTitle = ({ changed, clips }) => `Labels that changed: ${changed} of ${clips}`;

function changes(table) {
  const rows = table.filter((row) => row.changed);
  if (!rows.length)
    return el("p", { class: "muted", text: "None: zero-shot and adapted agree on all of them." });
  const head = ["recording", "zero-shot", "adapted"].map((text) => el("th", { scope: "col", text }));
  const body = rows
    .slice(0, LISTED)
    .map((row) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", class: "file", text: row.file }),
        el("td", {}, tag(row.zero_shot)),
        el("td", {}, tag(row.label)),
      ),
    );
  const content = el(
    "div",
    { class: "table-room", tabindex: 0, role: "region", "aria-label": "Labels that changed" },
    el("table", { class: "changes" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)),
  );
  if (rows.length <= LISTED) return content;
  return el(
    "div",
    {},
    content,
    el("p", { class: "note muted", text: `The first ${LISTED}; the files of results hold all.` }),
  );
}

function skipped(files) {
  return el(
    "ul",
    { class: "reasons" },
    ...files
      .slice(0, LISTED)
      .map(({ file, error }) => el("li", {}, el("strong", { text: `${file}: ` }), sentence(error.message))),
  );
}
