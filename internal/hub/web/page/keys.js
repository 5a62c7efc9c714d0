// Keys for whoever answers many. Where somebody types, keys are letters.
import { halt } from "./act.js";
import { fields } from "./keep.js";
import { after, choose, moving, open, rest, say, settled, tap, typedIn, unfold } from "./page.js";
import { besides, bring, decidable, headOf, inView, touchesView, waits } from "./seen.js";

export function keys() {
  // What keys are for: the card that the person went to, by key or pointer, and when.
  // A card that has got the focus otherwise is not chosen.
  let chosen = null, since = -Infinity;
  const shown = () => open().filter((c) => !c.hidden);
  const focused = () => document.activeElement?.closest?.(".card");
  function aim(card) {
    if (card && card !== chosen) since = performance.now();
    chosen = card ?? chosen;
  }
  function now() {
    const card = focused() ?? chosen;
    return card?.isConnected && !card.hidden && !card.classList.contains("over") ? card : null;
  }
  function go(card, part) {
    aim(card);
    choose(card);
    rest(card);
    moving(() => bring(card, part));
  }
  // The next one stands below the card that the person is at, be it over or not. Whoever
  // is at none goes on from what the window shows.
  function move(by) {
    const list = shown(), card = focused() ?? chosen;
    if (!list.length) return;
    let next;
    if (!card?.isConnected) next = list.find(inHead) ?? list.find((c) => c.getBoundingClientRect().top > 0);
    else if (card !== chosen && by > 0 && list.includes(card)) next = card;
    else next = after(card, by);
    go(next ?? now() ?? list.at(by > 0 ? -1 : 0));
  }
  const inHead = (card) => inView(headOf(card));

  // Hands that type are not hands that press keys. They type where a field has the focus;
  // where it was taken away from under them; and where a letter comes that means nothing.
  // Then letters are passed over until the hands have rested.
  const pause = 2000;
  let field = null, quiet = -Infinity; // where somebody types; until when letters are passed over
  let pressed = null; // a card that was pressed, until that has come to a click in it
  const isField = (e) => e.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
  const isLetter = (event) => event.key === "Enter" || event.key?.length === 1 && !(event.ctrlKey || event.metaKey || event.altKey);
  function passes(event) {
    if (field && !field.checkVisibility() && !field.closest(".card")?.mine) {
      quiet = Infinity;
      say("What you were typing in has ended. Keys count again when you pause.");
    }
    if (pressed) {
      quiet = Infinity;
      say("Your click went to nothing. Keys count again when you pause.");
    }
    field = pressed = null;
    if (event.timeStamp >= quiet) return false;
    types(event);
    return true;
  }
  function types(event) {
    quiet = event.timeStamp + pause;
    open().forEach(halt);
  }
  const opened = (card) => card.querySelector(":is(.reason, .note)[open]") || typedIn(card);

  // What a key is for in a card.
  function part(card, key) {
    if (key >= "1" && key <= "9") return card.querySelectorAll(".ask :is([type=radio], [type=checkbox])")[key - 1] ?? card.querySelectorAll(".acts button[name=a0]")[key - 1];
    switch (key) {
      case "a": return card.querySelector(".acts .allow[name=a0]");
      case "r": return card.querySelector(".acts .reject");
      case "o": return card.querySelector(".own, .ask :is(textarea, .field)");
      case "s": return card.querySelector(".unfold");
      case "n": return card.querySelector(".later");
      case "z": return card.querySelector(".undo");
    }
  }
  const refuse = (card) => say(waits(card) ? "See all of it first" + (part(card, "s") ? ": press s." : ".") : "Not yet.");
  // A key counts for what is in view, and was there for long enough to be seen.
  function counts(card, what, event) {
    if (!touchesView(card) || !/[osnz]/.test(event.key) && !decidable(card, what)) {
      say("It was out of view. Press " + event.key + " again if you mean it.");
      go(card, what);
    } else if (/[osnz]/.test(event.key) || event.timeStamp - since >= 500 && settled(card, event)) return true;
    else say("The page has just moved. Press " + event.key + " again.");
  }
  let armed = null; // a button that Enter presses, if it comes next
  function act(card, event) {
    const what = part(card, event.key), line = card.matches(".row"); // a line has no parts before its card comes
    if (!what && !line) return types(event);
    if (event.repeat) return;
    if (line) return go(card);
    if (event.key !== "z") halt(card); // also if this key does not count
    if (document.activeElement.matches("button")) rest(card); // an Enter after it is not for that
    if (card !== chosen) return say("Press j to choose this card.");
    if (opened(card) && event.key !== "z") return say("A field is open in this card. Press Escape in it, or empty it, to use keys.");
    if (card.mine || what.matches("button:disabled:not(.unfold)")) return refuse(card);
    if (!counts(card, what.closest("label") ?? what, event)) return;
    if (event.key === "s") unfold(card);
    else if (what.matches(fields)) what.focus();
    else if (what.matches("input")) {
      what.checked = what.type === "radio" || !what.checked;
      what.dispatchEvent(new Event("input", { bubbles: true }));
      if (what.type === "radio") tap(card, what);
    } else if (what.name === "a0" && !(event.key === "r" && card.querySelector(".reason:not(.edit)"))) {
      armed = what;
      what.focus({ preventScroll: true });
      say("Press Enter: " + what.firstElementChild.textContent);
    } else what.click();
  }
  // So do the keys that a browser knows, for what has the focus.
  function reachable(target, event) {
    const card = target.closest(".card"), what = target.closest("label") ?? target;
    if (!touchesView(what)) {
      moving(() => bring(card, what));
      say("It was out of view. Press again if you mean it.");
      return false;
    }
    if (!settled(card, event)) say("The page has just moved. Press again.");
    return settled(card, event);
  }
  document.addEventListener("click", (event) => {
    if (event.detail !== 0 || !event.isTrusted || !event.target.closest("form.answer") || reachable(event.target, event)) return;
    halt(event.target.closest(".card"));
    event.preventDefault();
    event.stopPropagation();
  }, true);
  // Whose click was passed over (see page.js), or came to nothing, has gone to no card, and
  // does not know it yet.
  document.addEventListener("pointerdown", (event) => {
    chosen = null;
    field = isField(event.target) && event.target; // it may have the focus
    pressed = event.target.closest?.(".card");
  });
  document.addEventListener("pointercancel", () => { pressed = null; }); // it was to scroll
  document.addEventListener("click", (event) => {
    if (event.detail === 0 || event.target.closest(".card") !== pressed) return;
    aim(pressed);
    pressed = null;
  });
  document.addEventListener("focusin", (event) => { if (isField(event.target)) field = event.target; });
  document.addEventListener("keyup", (event) => { if (event.key === "Tab") aim(focused()); });
  document.addEventListener("keydown", (event) => {
    const typing = isField(event.target), card = now(), button = document.activeElement === armed && armed;
    if (isLetter(event)) armed = null;
    if (!typing && event.repeat && event.key === "Enter") event.preventDefault(); // it is held: one press is one act
    if (!typing && isLetter(event) && passes(event)) { event.preventDefault(); return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
      const form = event.target.closest?.("form.answer");
      const button = event.target.closest?.(".reason")?.querySelector("button") ?? form?.querySelector(".acts button[value=answer]");
      if (!button) return;
      event.preventDefault();
      if (button.disabled) refuse(form.closest(".card"));
      else if (reachable(event.target, event)) button.click();
      return;
    }
    if (event.key === "Enter" && event.target.matches(".field")) event.preventDefault(); // it is Submit that sends
    if (event.key === "Escape" && card) {
      halt(card);
      const details = typing && event.target.closest(".reason, .note");
      if (details && !typedIn(details)) details.open = false;
      if (typing || button) {
        field = pressed = null;
        rest(card);
      }
    }
    if (typing || !isLetter(event) || event.isComposing || besides() && event.key !== "?") return;
    if (button && event.key !== "Enter") {
      rest(card);
      if (event.key === " ") event.preventDefault();
    }
    if (/^(Enter|\s)$/.test(event.key)) return; // as the browser has it
    if (!getSelection().isCollapsed) return types(event);
    if (event.key === "?") document.getElementById("keys-button").click();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/" && !document.getElementById("filter-button").hidden) document.getElementById("filter-button").click();
    else if (card && /^[1-9arosnz]$/.test(event.key)) act(card, event);
    else return types(event);
    event.preventDefault();
  });
}
