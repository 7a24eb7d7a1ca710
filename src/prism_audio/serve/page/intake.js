// Files and folders from a drop or a picker.

import { $, plural, say } from "./dom.js";
import { store } from "./store.js";

/** Does the name end like that of a recording? Folders hold much else. */
const isSound = (name) => store.limits.formats.includes(name.toLowerCase().split(".").at(-1));

/** Every file below a dropped entry, as `{ file, name }` with its path as the name. */
async function* below(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject)).catch(() => null);
    if (file) yield { file, name: entry.fullPath.replace(/^\//, "") };
    return;
  }
  const reader = entry.createReader();
  // A folder gives its entries in batches, and an empty one at the end.
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)).catch(() => []);
    if (!batch.length) return;
    for (const child of batch) yield* below(child);
  }
}

async function dropped(transfer) {
  // The items are gone after the first await: take all of them now.
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const taken = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const found = [];
  let others = 0;
  for (const { entry, file } of taken) {
    if (entry?.isDirectory) {
      for await (const one of below(entry)) isSound(one.name) ? found.push(one) : others++;
    } else if (file) {
      found.push({ file, name: file.name });
    }
  }
  return { found, others };
}

function picked(files) {
  const found = [...files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
  const sounds = found.filter(({ file, name }) => !file.webkitRelativePath || isSound(name));
  return { found: sounds, others: found.length - sounds.length };
}

function take({ found, others }) {
  const byName = new Intl.Collator("en", { numeric: true });
  found.sort((a, b) => byName.compare(a.name, b.name));
  const left = others ? `${plural(others, "other file")} in the folder left out: no sound. ` : "";
  say($("left-out"), !found.length ? `${left}No recording found in what was given.` : left);
  if (found.length) store.add(found);
}

export function startIntake() {
  const area = $("drop");
  let depth = 0;
  const over = (change) => {
    depth = Math.max(0, depth + change);
    area.classList.toggle("over", depth > 0);
  };
  const withFiles = (event) => [...event.dataTransfer.types].includes("Files");
  // The whole window takes a drop, so that a near miss does not leave the page.
  addEventListener("dragenter", (event) => withFiles(event) && (event.preventDefault(), over(1)));
  addEventListener("dragleave", (event) => withFiles(event) && over(-1));
  addEventListener("dragover", (event) => withFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    over(-depth);
    say($("left-out"), "Reading …");
    take(await dropped(event.dataTransfer));
  });
  $("pick-folder").hidden = !("webkitdirectory" in $("folder"));
  for (const [button, input] of [
    ["pick-files", "files"],
    ["pick-folder", "folder"],
  ]) {
    $(button).addEventListener("click", () => $(input).click());
    $(input).addEventListener("change", () => {
      take(picked($(input).files));
      $(input).value = "";
    });
  }
}
