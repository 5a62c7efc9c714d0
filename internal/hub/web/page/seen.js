// Permission counts only for what was in view. The end of what is permitted carries
// a mark that the hub wants to have; the page hands it over when the end was on the
// screen, for long enough to be seen, in a window that somebody looks at.
const ends = new WeakMap(); // card: its mark, once the end was in view
const long = 150; // milliseconds
const away = new WeakSet(); // ends that were looked for and not in view
let ready = () => {};
const timers = new WeakMap();

const watcher = new IntersectionObserver((list) => {
  for (const one of list) {
    clearTimeout(timers.get(one.target));
    if (one.isIntersecting) timers.set(one.target, setTimeout(() => note(one.target), long));
    else away.add(one.target);
    ready(one.target.closest(".card"));
  }
}, { rootMargin: "-52px 0px 0px 0px" }); // not below the bar

function note(end) {
  const card = end.closest(".card");
  if (!card?.isConnected) return;
  if (document.hidden || !end.checkVisibility?.({ visibilityProperty: true })) {
    timers.set(end, setTimeout(() => note(end), long));
    return;
  }
  watcher.unobserve(end);
  ends.set(card, end.dataset.seen);
  ready(card);
}

export function onSeen(f) { ready = f; }
export function watch(card) {
  const end = card.querySelector(".thing .end");
  if (end && !ends.has(card)) watcher.observe(end);
}
export const below = (card) => away.has(card.querySelector(".thing .end"));
// The mark, or undefined.
export const seen = (card) => ends.get(card);
export const waits = (card) => card.matches(".permission") && !ends.has(card);

// Where the window begins below the bar, and where it ends.
function room() {
  const under = ["link", "bar"].map((n) => (document.getElementById(n) ?? document.querySelector("." + n)).getBoundingClientRect().bottom);
  const view = window.visualViewport;
  return [Math.max(...under, 0), view ? view.offsetTop + view.height : innerHeight];
}
// Whether an element is in the window: all of it, or as much as there is room for.
export function inView(element) {
  const [from, to] = room(), box = element.getBoundingClientRect();
  if (!element.checkVisibility?.({ visibilityProperty: true })) return false;
  return Math.min(box.bottom, to) - Math.max(box.top, from) >= Math.min(box.height, to - from) - 1;
}
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
  card.scrollIntoView({ block: "start", behavior: "instant" });
  if (part && !waits(card) && !decidable(card, part)) part.scrollIntoView({ block: "end", behavior: "instant" });
}
