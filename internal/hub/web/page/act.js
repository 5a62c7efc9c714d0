// An act belongs to what was on the screen when it began. One that can be taken back keeps
// what it will send, and whatever else is done in its card stops it.
import { seen } from "./seen.js";
import { fields } from "./keep.js";
import { moved, moving, rest, say, send } from "./page.js";

const pending = new Map(); // card: its act
export const isPending = (card) => pending.has(card);
export const isAlone = (card) => isPending(card) && !pending.get(card).bar; // not one of many
const state = (card) => new URLSearchParams(new FormData(card.querySelector("form.answer"))) + [...card.querySelectorAll("details")].map((d) => d.open).join();

// What a button does, or a pick: all of it is read now.
export function read(card, button) {
  const form = card.querySelector("form.answer"), doing = button?.name === "do" ? button.value : "answer";
  const body = new URLSearchParams([...new FormData(form), ["do", doing]]);
  body.delete("page");
  body.delete("seen");
  if (seen(card)) body.set("seen", seen(card));
  if (button?.name === "a0") body.set("a0", button.value);
  if (button?.name === "a0" && !button.matches(".reject")) body.delete("n0");
  const why = body.get("n0")?.trim();
  const words = button?.name === "a0" ? (told[labelOf(button)] ?? labelOf(button)) + (why ? ": " + short(why) : "") : answer(form);
  return { card, button, doing, body, words };
}
export const told = { Allow: "Allowed", Reject: "Rejected", "Approve the edited plan": "Approved as you edited it" };
export const labelOf = (button) => (button.querySelector("span") ?? button).textContent;
export const given = (ask) => [...ask.querySelectorAll(fields)].filter((t) => !t.name.startsWith("n") && t.value.trim()); // words
function answer(form) {
  const asks = [...form.querySelectorAll(".ask")];
  return short(asks.map((ask) => {
    const picks = [...ask.querySelectorAll(".option :checked")].map((i) => i.closest("label").querySelector(".label").textContent);
    for (const s of ask.querySelectorAll("select, .switch input")) picks.push(s.selectedOptions ? s.value && s.selectedOptions[0].textContent : s.checked ? "Yes" : "No");
    const words = given(ask).map((t) => t.matches(".secret") ? "(not shown)" : t.value.trim());
    const name = ask.querySelector(".chip, .text").textContent.trim();
    return (asks.length > 1 ? short(name, 40) + ": " : "") + [...picks, ...words].join(", ");
  }).join(" · "), 160);
}
export function short(t, most = 80) { return t.length > most ? t.slice(0, most) + "…" : t; }

let pressed = []; // acts that wait for how a press ends
export const isPressed = (card) => pressed.includes(pending.get(card));
export function stop(card) {
  const act = pending.get(card);
  if (!act) return;
  clearTimeout(act.timer);
  pending.delete(card);
  const line = card.querySelector(".sending");
  moving(() => {
    line.hidden = true;
    line.replaceChildren();
  });
  act.over?.(act);
  return act;
}

export function hold(act, text, now, not) {
  const { card } = act, line = card.querySelector(".sending");
  stop(card);
  say("");
  if (document.activeElement?.matches("button")) rest(card); // no Enter presses it again
  moving(() => {
    line.innerHTML = `<span></span><button type="button" class="undo">Undo</button><button type="button" class="now"></button>`;
    line.firstChild.textContent = text;
    line.lastChild.textContent = now;
    line.hidden = false;
  });
  if (act.button) moved(card); // that is where its buttons were
  pending.set(card, Object.assign(act, { not, state: state(card), until: performance.now() + 3000 }));
  runs(act);
}
const runs = (act, least = 0) => { act.timer = setTimeout(() => release(act.card), Math.max(least, act.until - performance.now())); };
// A press begins an act, of a key on Undo, too: what is pending in its card waits for how it ends.
let by = "";
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, (event) => {
  if (kind === "keydown" ? event.key !== " " || !event.target.matches(".undo") : event.button) return; // a menu keeps how it ends
  by = kind;
  pressed.push(...[...pending.values()].filter((act) => act.card.contains(event.target) || act.bar?.contains(event.target)));
  for (const act of pressed) clearTimeout(act.timer);
}, true);
const lifts = { pointerup: "pointerdown", pointercancel: "pointerdown", keyup: "keydown", blur: "keydown" };
for (const kind in lifts) document.addEventListener(kind, () => {
  if (by !== lifts[kind]) return;
  for (const act of pressed) if (pending.get(act.card) === act) runs(act, 1000); // its click comes first
  pressed = [];
}, true);
export function release(card) {
  const act = stop(card);
  if (act) send(act);
}
// Whoever goes on with something else in the card is told that it is not sent.
export function halt(card) {
  const act = stop(card);
  if (act) say(act.not + ": you went on with this card.");
}
function other(event) {
  const card = event.target.closest?.(".card"), act = pending.get(card);
  if (!act) return;
  if (event.type === "focusin" ? event.target.matches(fields + ", select") : state(card) !== act.state) halt(card);
}
for (const kind of ["input", "change", "focusin", "toggle"]) document.addEventListener(kind, other, true);
