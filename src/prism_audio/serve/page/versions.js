// The panel of a site: its versions, undo, reset, rename, delete, upload and download.

import { getJson, request } from "./api.js";
import { $, el, plural, say, sentence } from "./dom.js";
import { saveAdapter } from "./download.js";
import { store } from "./store.js";
import { inWords } from "./words.js";

const path = (name, rest = "") => `/v1/sites/${encodeURIComponent(name)}${rest}`;
let reload = null;

/** Make a version the one in use; 0 is plain zero-shot. */
export async function useVersion(site, version) {
  await request(`${path(site, "/use")}?version=${version}`, { method: "POST" });
  await reload(site);
}

/** Do something, and say what went wrong in the panel. */
async function attempt(action, done) {
  say($("site-trouble"), "");
  try {
    await action();
    say($("site-done"), done);
  } catch (error) {
    say($("site-done"), "");
    say($("site-trouble"), sentence(error.message));
  }
}

async function show() {
  const site = store.site;
  if ($("site-panel").hidden || !site) return;
  const { in_use: used, versions } = await getJson(path(site.name, "/history"));
  if (site !== store.site) return;
  $("site-panel-title").textContent = `Site “${site.name}”`;
  $("site-undo").hidden = site.previous === null;
  $("site-save").hidden = site.verdict === "none";
  $("site-delete").hidden = site.name === store.defaultSite;
  const zero = { version: 0, verdict: "none", clips: null, date: null, labels: null };
  const rows = [...versions].reverse().concat(zero);
  $("site-versions").replaceChildren(
    ...rows.map((entry) => row(site, entry, used, Math.max(0, ...versions.map((v) => v.version)))),
  );
}

function row(site, { version, verdict, weight, clips, date, labels }, used, latest) {
  const about = version
    ? `${plural(clips ?? 0, "recording")}, ${plural(labels.length, "label")}, ${new Date(date).toLocaleString()}`
    : "without any correction";
  const share = verdict === "shrunk" && weight ? ` ${Math.round(100 * weight)} %` : "";
  const offered = version === latest && version > used && version > 0;
  const button = el("button", {
    type: "button",
    text: offered ? "Use this one" : "Go back to it",
    "aria-label": `Use ${version ? `version ${version}` : "zero-shot"}`,
    onclick: () => attempt(() => useVersion(site.name, version), `Version ${version || "zero-shot"} is in use.`),
  });
  return el(
    "li",
    { class: version === used ? "used" : null },
    el("span", { class: `chip ${verdict}`, text: (version ? inWords(verdict).short : "zero-shot") + share }),
    el("span", { class: "note", text: `${version ? `Version ${version}: ` : ""}${about}` }),
    version === used ? el("span", { class: "note in-use", text: "in use" }) : button,
  );
}

async function upload(file) {
  const name = file.name.replace(/\.safetensors$/i, "").toLowerCase().replace(/[^a-z0-9_-]+/g, "-").slice(0, 64);
  await request(path(name), {
    method: "PUT",
    body: file,
    headers: { "Content-Type": "application/octet-stream" },
  });
  await reload(name);
}

/** `refresh(site)` loads the sites anew and chooses one. */
export function startVersions(refresh) {
  reload = refresh;
  $("manage").addEventListener("click", () => {
    const open = ($("site-panel").hidden = !$("site-panel").hidden);
    $("manage").setAttribute("aria-expanded", String(!open));
    attempt(show, "");
  });
  $("site-undo").addEventListener("click", () =>
    attempt(() => useVersion(store.site.name, store.site.previous), "Undone; undo again to take it back."),
  );
  $("site-save").addEventListener("click", () => attempt(() => saveAdapter(store.site.name), ""));
  $("site-rename").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("site-new-name").value.trim();
    attempt(async () => {
      await request(`${path(store.site.name, "/rename")}?name=${encodeURIComponent(name)}`, { method: "POST" });
      await reload(name);
      $("site-new-name").value = "";
    }, `The site is called “${name}” now.`);
  });
  $("site-delete").addEventListener("click", () => {
    const { name } = store.site;
    if (!confirm(`Delete the site “${name}” and all its versions? This cannot be undone.`)) return;
    attempt(async () => {
      await request(path(name), { method: "DELETE" });
      await reload();
    }, `The site “${name}” is deleted.`);
  });
  $("site-upload").addEventListener("click", () => $("site-file").click());
  $("site-file").addEventListener("change", () => {
    const [file] = $("site-file").files;
    if (file) attempt(() => upload(file), "The adapter is in use.");
    $("site-file").value = "";
  });
  store.on("site", () => attempt(show, $("site-done").textContent));
}
