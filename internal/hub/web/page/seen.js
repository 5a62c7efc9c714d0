// What is decided was in view. The end of what is permitted, and of a preview, is looked
// for: it counts when it was on the screen, for long enough to be seen, in a window that
// somebody looks at. The end of what is permitted carries a mark that the hub wants to have.
import { grows, ready } from "./page.js";

const long = 150; // milliseconds
const found = new WeakSet(), missed = new WeakSet(); // ends that were in view; that were looked for and were not
const timers = new WeakMap();

const watcher = new IntersectionObserver((list) => {
  for (const { target, isIntersecting } of list) {
    clearTimeout(timers.get(target));
    if (isIntersecting) timers.set(target, setTimeout(() => note(target), long));
    else if (target.checkVisibility()) missed.add(target);
    const box = target.closest(".preview");
    box?.classList.toggle("cut", !isIntersecting && box.scrollHeight > box.clientHeight + 1);
    ready(target.closest(".card"));
  }
}, { rootMargin: "-96px 0px 0px 0px" }); // with the line above it below the bar

// Whoever has a dialog or the menu open looks at no card.
export const besides = () => document.querySelector("dialog[open], .menu[open]");
// Words and buttons may lie over an end, or over the line above it.
function covered(end) {
  const { top, bottom } = end.getBoundingClientRect();
  return [...document.querySelectorAll("#link, #unseen, #news, .many")].some((e) => {
    const box = e.getBoundingClientRect();
    return box.top < bottom && box.bottom > top - 44;
  });
}
function note(end, hidden) {
  const card = end.closest(".card");
  if (!card?.isConnected) return;
  const inside = inView(end, true), hides = document.hidden || besides() || covered(end) || !inside;
  if (!inside && end.checkVisibility()) { // outside of what is zoomed to
    missed.add(end);
    ready(card);
  }
  if (hides || hidden) { // it was not there for so long yet
    timers.set(end, setTimeout(() => note(end, hides), long));
    return;
  }
  watcher.unobserve(end);
  if (end.dataset.seen) grows(card, () => corners(end.parentElement));
  found.add(end);
  ready(card);
}
// What is wider than its box, or than the card, has its end in its far corner, too.
function corners(thing) {
  for (const box of [thing, ...thing.querySelectorAll("*")]) {
    const wide = box.scrollWidth > box.clientWidth + 1, cut = box !== thing && getComputedStyle(box).overflow === "visible";
    if (cut || !wide && (box === thing || box.scrollHeight <= box.clientHeight + 1)) continue;
    const corner = document.createElement("span");
    corner.className = "end corner";
    corner.style.insetInlineStart = box.scrollWidth - 2 + "px";
    corner.style.top = box.scrollHeight - 2 + "px";
    box.classList.add("boxed");
    box.append(corner);
    watcher.observe(corner);
  }
}

const ends = (part) => [...part.querySelectorAll(".end")];
export function watch(card) {
  for (const end of ends(card)) if (!found.has(end)) watcher.observe(end);
}
const isSeen = (part) => ends(part).every((e) => found.has(e));
// Whether something in a part was looked for, and never in view.
export const isCut = (part) => ends(part).find((e) => missed.has(e) && !found.has(e));
export const waits = (card) => card.matches(".permission") && !seen(card);
// The mark, or undefined.
export function seen(card) {
  const thing = card.querySelector(".thing");
  return thing && isSeen(thing) ? thing.querySelector("[data-seen]")?.dataset.seen : undefined;
}
// How to see what was not in view yet.
export function lacks(card) {
  const end = isCut(card.querySelector(".thing"));
  return end && (visualViewport.scale > 1 ? "Zoom out" : end.dataset.seen ? "↓ Scroll to the end" : "→ Scroll to its right end");
}

// Where the window begins below the bar, and where it ends; and its sides.
function room() {
  const under = ["link", "bar"].map((n) => (document.getElementById(n) ?? document.querySelector("." + n)).getBoundingClientRect().bottom);
  const { offsetTop, offsetLeft, width, height } = visualViewport; // what its person has zoomed to
  return [Math.max(...under, offsetTop), offsetTop + height, offsetLeft, offsetLeft + width];
}
const holds = (from, to, a, b, room) => Math.min(b, to) - Math.max(a, from) >= Math.min(b - a, room) - 1;
// Whether an element is in the window: all of it, or as much as there is room for; or from
// side to side, with nothing beside the window.
export function inView(element, wide) {
  const [from, to, left, right] = room(), box = element.getBoundingClientRect();
  if (!element.checkVisibility({ visibilityProperty: true })) return false;
  return holds(from, to, box.top, box.bottom, to - from) && holds(left, right, box.left, box.right, wide ? box.width : right - left);
}
// Where a card, or its line, says whose it is.
export const headOf = (card) => card.querySelector(card.matches(".row") ? ".brief" : ".who");
// Whether any of it is.
export function touchesView(element) {
  const [from, to] = room(), box = element.getBoundingClientRect();
  return Math.min(box.bottom, to) - Math.max(box.top, from) >= Math.min(box.height, 16);
}
// Whether somebody who looks at the window sees which card it is that the part belongs
// to: its head is in view, too, or, where both do not fit, most of the window is the card's.
export function decidable(card, part) {
  if (!inView(part)) return false;
  const head = card.querySelector(".who"), [from, to] = room(), box = card.getBoundingClientRect();
  if (part.getBoundingClientRect().bottom - head.getBoundingClientRect().top <= to - from) return inView(head);
  return Math.min(box.bottom, to) - Math.max(box.top, from) >= (to - from) / 2;
}
// Brings a card there, with the part if both fit.
export function bring(card, part) {
  card.scrollIntoView();
  if (part && !waits(card) && !decidable(card, part)) part.scrollIntoView({ block: "end" });
}
