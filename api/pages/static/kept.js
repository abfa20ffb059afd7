// What the browser keeps for the pages. Where it denies that, or a value is larger than it allows, nothing is kept.

export const TAB = "sessionStorage", BROWSER = "localStorage"; // how long: until the tab is closed; until it is removed

/** The value; null where there is none. */
export function kept(where, name) {
  try {
    return window[where].getItem(name); // reading `window[where]` may throw, too
  } catch {
    return null;
  }
}

/** Replace the value; an empty one removes it. */
export function keep(where, name, value) {
  try {
    window[where].removeItem(name);
    if (value) window[where].setItem(name, value);
  } catch { /* denied, or too large */ }
}
