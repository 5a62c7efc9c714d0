// Keys for whoever answers many. Where somebody types, keys are letters.
import { bring, decidable, inView, touchesView } from "./seen.js";

const help = [
  ["j, k", "next, previous"], ["1 to 9", "pick an option"], ["a", "allow"], ["r", "reject, with a reason if you type one"],
  ["o", "your own words"], ["s", "show all"], ["n", "not now"], ["z", "undo a pick"], ["Ctrl+Enter", "submit"], ["/", "filter"], ["?", "these keys"],
];

export function keys({ open, after, unfold, tap, stop, say, waits, rest, moving, settled }) {
  // What keys are for: the card that the person went to, by key or pointer, and when.
  // A card that has got the focus otherwise is not chosen yet.
  let chosen = null, since = -Infinity;
  const shown = () => open().filter((c) => !c.hidden);
  const focused = () => document.activeElement?.closest?.(".card");
  function choose(card) {
    if (card && card !== chosen) since = performance.now();
    chosen = card ?? chosen;
  }
  function now() {
    const card = focused() ?? chosen;
    return card?.isConnected && !card.hidden && !card.classList.contains("over") ? card : null;
  }
  function go(card, part) {
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
  const inHead = (card) => inView(card.querySelector(".who"));
  // What a key is for in a card.
  function part(card, key) {
    if (key >= "1" && key <= "9") return card.querySelectorAll(".ask input")[key - 1] ?? card.querySelectorAll(".acts button[name=a0]")[key - 1];
    switch (key) {
      case "a": return card.querySelector(".acts .allow[name=a0]");
      case "r": return card.querySelector(".reason:not(.edit) summary") ?? card.querySelector(".acts .reject");
      case "o": return card.querySelector(".own, .ask textarea");
      case "s": return card.querySelector(".unfold");
      case "n": return card.querySelector(".later");
      case "z": return card.querySelector(".undo");
    }
  }
  function press(card, button) {
    if (button.disabled) { say(waits(card) ? "See all of it first: press s." : "Not yet."); return; }
    button.click();
  }
  // Shows what a key would be for.
  function first(card, what, event) {
    say((decidable(card, what) ? "Is it this one?" : "It was out of view.") + " Press " + event.key + " again if you mean it.");
    go(card, what);
    return false;
  }
  // A key counts for what is in view, and was there for long enough to be seen.
  function counts(card, what, event) {
    if (card !== chosen || !decidable(card, what)) return first(card, what, event);
    if (event.timeStamp - since >= 500 && settled(card, event)) return true;
    say("The page has just moved. Press " + event.key + " again.");
    return false;
  }
  function act(card, event) {
    const what = part(card, event.key);
    if (!what || event.repeat) return;
    if (!touchesView(card)) return first(card, what, event);
    switch (event.key) {
      case "o": return what.focus();
      case "s": return unfold(card);
      case "n": case "z": return what.click();
    }
    if (what.matches("button:disabled")) return press(card, what);
    if (!counts(card, what.closest("label") ?? what, event)) return;
    if (what.matches("summary")) {
      what.parentElement.open = true;
      what.parentElement.querySelector("textarea").focus();
    } else if (what.matches("input")) {
      what.checked = what.type === "radio" || !what.checked;
      what.dispatchEvent(new Event("input", { bubbles: true }));
      if (what.type === "radio") tap(card, what);
    } else press(card, what);
  }
  function sheet() {
    let d = document.getElementById("keys");
    if (!d) {
      d = document.createElement("dialog");
      d.id = "keys";
      d.setAttribute("aria-labelledby", "keys-name");
      d.innerHTML = `<h2 id="keys-name">Keyboard shortcuts</h2><dl></dl><form method="dialog"><button class="quiet">Close</button></form>`;
      for (const [k, what] of help) {
        const dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.innerHTML = "<kbd></kbd>";
        dt.firstChild.textContent = k;
        dd.textContent = what;
        d.querySelector("dl").append(dt, dd);
      }
      document.body.append(d);
    }
    if (d.open) d.close(); else d.showModal();
  }
  document.getElementById("keys-button").onclick = () => { document.getElementById("menu").open = false; sheet(); };
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
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.addEventListener("pointerdown", (event) => choose(event.target.closest?.(".card")));
  document.addEventListener("keyup", (event) => { if (event.key === "Tab") choose(focused()); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
    const card = now();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = event.target.closest?.("form.answer");
      const button = event.target.closest?.(".reason")?.querySelector("button") ?? form?.querySelector(".acts button[value=answer]");
      if (!button) return;
      event.preventDefault();
      if (reachable(event.target, event)) press(form.closest(".card"), button);
      return;
    }
    if (event.key === "Escape" && card && stop(card)) return;
    if (typing) {
      if (event.key === "Escape" && card) rest(card);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]") && event.key !== "?") return;
    if (event.key === "?") sheet();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/" && !document.getElementById("filter-button").hidden) document.getElementById("filter-button").click();
    else if (card && /^[1-9arosnz]$/.test(event.key)) act(card, event);
    else return;
    event.preventDefault();
  });
}
