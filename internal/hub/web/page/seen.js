// Permission counts only for what was in view. The end of what is permitted carries
// a mark that the hub wants to have; the page hands it over when the end was on the
// screen, for long enough to be seen, in a window that somebody looks at.
const ends = new WeakMap(); // card: its mark, once the end was in view
const long = 150; // milliseconds
let ready = () => {};
const timers = new WeakMap();

const watcher = new IntersectionObserver((list) => {
  for (const one of list) {
    clearTimeout(timers.get(one.target));
    if (one.isIntersecting) timers.set(one.target, setTimeout(() => note(one.target), long));
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
// The mark, or undefined.
export const seen = (card) => ends.get(card);
export const waits = (card) => card.matches(".permission") && !ends.has(card);
