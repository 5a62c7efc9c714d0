// What a promise says, or what is known after some milliseconds.
export const soon = (promise, ms) => Promise.race([promise, new Promise((done) => setTimeout(done, ms))]);

// What this browser keeps: drafts, cards that were put aside, what the page knows.
// A browser that keeps nothing works, too, for as long as the page is there.
const memory = new Map();
const tab = "sessionStorage", all = "localStorage"; // of this tab alone, and of the browser
export function get(key, where = all) {
  try { return window[where].getItem(key); } catch { return memory.get(key) ?? null; }
}
export function set(key, value, where = all) {
  memory.set(key, value);
  try { window[where].setItem(key, value); } catch {} // no room, or not allowed
}
export function drop(key) {
  memory.delete(key);
  try { for (const where of [tab, all]) window[where].removeItem(key); } catch {} // not allowed
}
function kept() {
  try { return Object.keys({ ...localStorage, ...sessionStorage }); } catch { return [...memory.keys()]; }
}

export const fields = "textarea, .field"; // where somebody types
const drafts = "acp-bridge draft ", later = "acp-bridge later ", secretName = "acp-bridge page";

// What only this page and the hub know. The reply to the login has it, and no
// other: whoever has the cookie alone changes nothing.
const handed = document.querySelector("main").dataset.page;
if (handed) {
  set(secretName, handed);
  history.replaceState(null, "", "/" + location.hash);
}
export const secret = () => get(secretName) || handed; // another tab may have logged in since
export const headers = (more) => ({ "Acp-Bridge-Page": secret(), ...more });

// What was typed is kept until the question is settled, but for what nobody else may see.
// Each tab has its own words, and begins with the last that were written in any.
const words = (card) => get(drafts + card.id, tab) ?? get(drafts + card.id);
export function keep(card) {
  const form = card.querySelector("form"), plain = (e) => !e.matches?.(".secret") && e.value !== e.defaultValue;
  const values = [...new FormData(form)].filter(([k]) => /^([abtn]\d+|plan)$/.test(k) && (/^[ab]/.test(k) || plain(form.elements[k])));
  const key = drafts + card.id, was = get(key, tab), now = values.length || [...form.elements].some((e) => e.defaultChecked) ? JSON.stringify(values) : "";
  if (now || was === get(key)) set(key, now); // what is emptied here stays what another tab has written
  set(key, now, tab);
}
export function restore(card) {
  // Browsers fill controls by their place, with what was for another question. A field
  // that is reset is laid out at once, which takes its time on a phone.
  const form = card.querySelector("form");
  if (!form) return; // its line is here alone
  if ([...form.elements].some((e) => e.checked !== e.defaultChecked || "defaultValue" in e && e.value !== e.defaultValue)) form.reset();
  let values;
  try { values = JSON.parse(words(card) || ""); } catch { return; }
  set(drafts + card.id, words(card), tab); // so that what is emptied here is known to be these
  for (const input of card.querySelectorAll("input[name^=a]")) {
    input.checked = values.some(([k, v]) => k === input.name && v === input.value);
  }
  for (const area of card.querySelectorAll(fields + ", select")) {
    const value = values.find(([k]) => k === area.name);
    if (!value) continue;
    area.value = value[1];
    for (let d = area.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  }
}
export const begun = (card) => Boolean(words(card));
// What is kept of cards that are not among these.
export const strays = (cards) => kept().filter((k) => [drafts, later].some((p) => k.startsWith(p) && !cards.some((c) => k === p + c.id)));
export const forget = (card) => [drafts, later].forEach((p) => drop(p + card.id));
export const forgetAll = () => [...strays([]), secretName].forEach(drop);
addEventListener("storage", () => get(secretName) ?? forgetAll()); // another tab has logged out

export const isLater = (card) => get(later + card.id) !== null;
export const putAside = (card, yes) => yes ? set(later + card.id, "1") : drop(later + card.id);
