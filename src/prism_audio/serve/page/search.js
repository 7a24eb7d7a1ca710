// Search the recordings: by words, or like the one that is chosen; the nearest come first.

import { address, postJson } from "./api.js";
import { $, say, sentence } from "./dom.js";
import { store } from "./store.js";

async function search(query) {
  say($("search-trouble"), "");
  const path = address(`/v1/sites/${encodeURIComponent(store.site.name)}/search`, query);
  const body = JSON.stringify({ rows: store.done.map((clip) => clip.row) });
  try {
    const { results } = await postJson(path, body, { headers: { "Content-Type": "application/json" } });
    const places = new Map(results.map(({ row }, place) => [row, place]));
    for (const clip of store.clips) clip.near = places.get(clip.row);
    show();
  } catch (error) {
    say($("search-trouble"), sentence(error.message));
  }
}

function show() {
  const order = $("order");
  order.querySelector("[value=near]").hidden = false;
  order.value = "near";
  order.dispatchEvent(new Event("change"));
  $("list").scrollTop = 0;
  if (store.clips.length) store.select(store.clips[0]);
}

export function startSearch() {
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("search").value.trim();
    if (text && store.done.length) search({ text });
  });
  $("search-like").addEventListener("click", () => {
    if (store.selected?.row) search({ like: store.selected.row });
  });
}
