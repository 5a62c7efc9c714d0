// Where many wait, only the card that somebody is at is open: the others are a line each,
// with what it is about and how old it is. A tap or a key opens one. Nothing is decided in a
// line, and what has been begun stays open. Of those far down the hub has sent no more than
// the line: it is asked for the card then.
import { isAlone } from "./act.js";
import { begun } from "./keep.js";
import { fetches, inUse, moved, moving, open, rearrange, rest } from "./page.js";

const many = 12, few = 6; // it begins with so many, and ends where fewer are left

export function rows() {
  let compact = false, chosen = null;
  const holds = (card, focus) => card.contains(focus) && focus !== card && !focus.matches(".brief");
  const busy = (card) => begun(card) || isAlone(card) || card.alone || holds(card, document.activeElement) || card.querySelector(".problem:not([hidden])");
  function fold(card, yes) {
    if (card.matches(".row") === yes || card.matches(".stub")) return;
    card.classList.toggle("row", yes);
    moved(card); // what is under the hand is another thing
  }
  function draw() {
    const list = open().filter((c) => !c.hidden), was = compact;
    compact = list.length >= (was ? few : many);
    if (compact && !was) chosen = inUse(list);
    for (const card of list) fold(card, compact && card !== chosen && !busy(card));
  }
  function choose(card) {
    chosen = card;
    if (fetches(card) || !card.matches(".row")) return;
    rearrange(draw, null, card);
    rest(card);
    const box = card.getBoundingClientRect(); // all of it is in view, or its beginning
    moving(() => scrollBy(0, Math.max(0, Math.min(box.bottom + 16 - innerHeight, box.top - 64))));
  }
  return { draw, choose, compact: () => compact };
}
