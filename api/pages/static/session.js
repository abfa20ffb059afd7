// Asks for an API key and exchanges it for a session: a cookie that no script can read. The key is kept nowhere.

const dialog = document.getElementById("key-dialog");
const field = document.getElementById("key");
const problem = document.getElementById("key-problem");
let asking = null;

/** Ends when there is a session; throws an AbortError where the user does not want one. */
export function askKey() {
  asking ??= new Promise((resolve, reject) => {
    const end = (settle) => {
      asking = null;
      field.value = "";
      dialog.close();
      settle();
    };
    const giveUp = () => end(() => reject(new DOMException("no key", "AbortError")));
    document.getElementById("key-cancel").onclick = giveUp;
    dialog.oncancel = giveUp;
    document.getElementById("key-form").onsubmit = async (event) => {
      event.preventDefault();
      problem.textContent = await exchange(field.value.trim());
      if (problem.textContent) field.select();
      else end(resolve);
    };
    problem.textContent = "";
    dialog.showModal();
  });
  return asking;
}

/** What is wrong with the key, in a sentence; nothing if it is good. */
async function exchange(key) {
  try {
    const response = await fetch("/session", { method: "POST", headers: { Authorization: `Bearer ${key}` } });
    if (response.ok) return "";
    return (await response.json()).detail;
  } catch {
    return "The server cannot be reached, or the key holds characters that no key has.";
  }
}
