// The list of labels: typed text becomes the question, after a short rest.

import { classifier } from "./classifier.js";
import { $, debounce, plural, say, sentence } from "./dom.js";
import { labelText, parseLabels } from "./label_text.js";
import { store } from "./store.js";

const REST = 700;

let typing = false;

function describe() {
  const labels = parseLabels($("labels").value);
  const own = store.typed === null && store.typedBackground === null && !typing;
  $("labels-reset").hidden = own || !store.site?.labels.length;
  if (!labels.length)
    return say($("labels-state"), "Type at least one label; until then the site's own are used.");
  const refused = !typing && classifier.state.error?.code === "bad_labels";
  $("labels").setAttribute("aria-invalid", String(refused));
  $("labels-state").classList.toggle("error", refused);
  if (refused) return say($("labels-state"), sentence(classifier.state.error.message));
  const many = plural(labels.length, "label");
  if (typing) say($("labels-state"), `${many}, in use as soon as you stop typing`);
  else if (classifier.state.error) say($("labels-state"), `${many}, not yet in use`);
  else if (classifier.state.busy) say($("labels-state"), `${many}, labelling …`);
  else say($("labels-state"), own ? `${many}, the site's own` : `${many} in use`);
}

function show() {
  $("labels").value = labelText(store.labels);
  $("background").value = labelText(store.background);
  describe();
}

export function startLabels() {
  const apply = debounce(() => {
    typing = false;
    store.setLabels(parseLabels($("labels").value), parseLabels($("background").value));
    describe();
  }, REST);
  for (const field of [$("labels"), $("background")])
    field.addEventListener("input", () => {
      typing = true;
      describe();
      apply();
    });
  $("labels-reset").addEventListener("click", () => {
    apply.stop();
    typing = false;
    store.setLabels(null, null);
    show();
    $("labels").focus();
  });
  // Another site brings its own labels, unless others were typed.
  store.on("site", () => {
    if (store.typed === null && store.typedBackground === null && !typing) show();
    else describe();
  });
  classifier.addEventListener("run", describe);
}
