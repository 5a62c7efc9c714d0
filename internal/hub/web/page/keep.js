// What a promise says, or what is known after some milliseconds.
export const soon = (promise, ms) => Promise.race([promise, new Promise((done) => setTimeout(done, ms))]);

// What this browser keeps: drafts, cards that were put aside, what the page knows.
// A browser that keeps nothing works, too, for as long as the page is there.
const memory = new Map();
export function get(key) {
  try { return localStorage.getItem(key); } catch { return memory.get(key) ?? null; }
}
export function set(key, value) {
  memory.set(key, value);
  try { localStorage.setItem(key, value); } catch { /* no room, or not allowed */ }
}
export function drop(key) {
  memory.delete(key);
  try { localStorage.removeItem(key); } catch { /* not allowed */ }
}
function keys() {
  try { return Object.keys(localStorage); } catch { return [...memory.keys()]; }
}

export const fields = "textarea, .field"; // where somebody types
const drafts = "acp-bridge draft ", later = "acp-bridge later ", secretName = "acp-bridge page";

// What only this page and the hub know. The reply to the login has it, and no
// other: whoever has the cookie alone changes nothing.
const given = document.querySelector("main").dataset.page;
if (given) {
  set(secretName, given);
  history.replaceState(null, "", "/" + location.hash);
}
export const secret = () => get(secretName) || given; // another tab may have logged in since
export const headers = (more) => ({ "Acp-Bridge-Page": secret(), ...more });

// What was typed is kept until the question is settled, but for what nobody else may see.
export function keep(card) {
  const form = card.querySelector("form"), plain = (e) => !e.matches?.(".secret") && e.value !== e.defaultValue;
  const values = [...new FormData(form)].filter(([k]) => /^([abtn]\d+|plan)$/.test(k) && (/^[ab]/.test(k) || plain(form.elements[k])));
  if (values.length || [...form.elements].some((e) => e.defaultChecked)) set(drafts + card.id, JSON.stringify(values));
  else drop(drafts + card.id);
}
export function restore(card) {
  // Browsers fill controls by their place, with what was for another question. A field
  // that is reset is laid out at once, which takes its time on a phone.
  const form = card.querySelector("form");
  if (!form) return; // its line is here alone
  if ([...form.elements].some((e) => e.checked !== e.defaultChecked || "defaultValue" in e && e.value !== e.defaultValue)) form.reset();
  let values;
  try { values = JSON.parse(get(drafts + card.id)); } catch { return; }
  if (!Array.isArray(values)) return;
  for (const input of card.querySelectorAll("input[name^=a]")) {
    input.checked = values.some(([k, v]) => k === input.name && v === input.value);
  }
  for (const area of card.querySelectorAll(fields + ", select")) {
    const value = values.find(([k]) => k === area.name);
    if (!value) continue;
    area.value = value[1];
    for (let d = value[1] && area.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  }
}
export const begun = (card) => get(drafts + card.id) !== null;
// What is kept of cards that are not among these.
export const strays = (cards) => keys().filter((k) => [drafts, later].some((p) => k.startsWith(p) && !cards.some((c) => k === p + c.id)));
export const forget = (card) => { drop(drafts + card.id); drop(later + card.id); };
export function forgetAll() {
  for (const key of keys()) if (key.startsWith(drafts) || key.startsWith(later) || key === secretName) drop(key);
}

export const isLater = (card) => get(later + card.id) !== null;
export const putAside = (card, yes) => yes ? set(later + card.id, "1") : drop(later + card.id);
