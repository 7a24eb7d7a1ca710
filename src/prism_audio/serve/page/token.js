// The token is asked for when the service wants one, and kept for this tab only.

import { $ } from "./dom.js";

let asking = null;

/** The token that the person types, null if they give none; `wrong`: the last one was refused. */
export function askToken(wrong) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token");
    $("token-wrong").hidden = !wrong;
    $("token-text").value = "";
    $("token-form").onsubmit = (event) => {
      event.preventDefault();
      const text = $("token-text").value.trim();
      if (!text) return;
      resolve(text);
      dialog.close();
    };
    dialog.onclose = () => {
      asking = null;
      resolve(null);
    };
    dialog.showModal();
  });
  return asking;
}
