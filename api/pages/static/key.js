// The API key, where the server asks for one. It is in the memory of this page; in sessionStorage, too, if the user asks for it.

import { TAB, keep, kept } from "./kept.js";

const KEPT = "miniserve.key";
const NOT_ASKED = "This server asks for a key. Load the page again to enter one.";
let key = kept(TAB, KEPT) ?? "";
let asking = null;

/** As `fetch`, with the key. */
export function fetchWithKey(path, request = {}) {
  return fetch(path, key ? { ...request, headers: { ...request.headers, Authorization: `Bearer ${key}` } } : request);
}

/** As `fetchWithKey`, and asks the user where a key is missing or not valid. Throws an AbortError where there is none. */
export async function fetchAskingForKey(path, request) {
  for (;;) {
    const sent = key, response = await fetchWithKey(path, request);
    if (response.status !== 401) return response;
    if (sent === key) await askForKey();
    request?.signal?.throwIfAborted();
  }
}

/** Ends when there is a key that has not been tried. Throws an AbortError where the user does not give one. */
function askForKey() {
  asking ??= new Promise((resolve, reject) => {
    const [dialog, field] = [document.getElementById("key-dialog"), document.getElementById("key")];
    const end = (settle) => {
      asking = null;
      field.value = "";
      dialog.close();
      settle();
    };
    const giveUp = () => end(() => reject(new DOMException(NOT_ASKED, "AbortError")));
    document.getElementById("key-problem").textContent = key && "This key is not valid, or no longer valid.";
    document.getElementById("key-cancel").onclick = giveUp;
    dialog.oncancel = giveUp;
    document.getElementById("key-form").onsubmit = (event) => {
      event.preventDefault();
      use(field.value.trim(), document.getElementById("key-kept").checked);
      end(resolve);
    };
    use("", false);
    dialog.showModal();
  });
  return asking;
}

function use(given, isKept) {
  key = given;
  keep(TAB, KEPT, isKept ? key : "");
}
