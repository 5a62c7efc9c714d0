// Keys for whoever answers many. Where somebody types, keys are letters.
const help = [
  ["j, k", "next, previous"], ["1 to 9", "pick an option"], ["a", "allow"], ["r", "reject, with a reason if you type one"],
  ["o", "own words"], ["s", "show all"], ["n", "not now"], ["z", "take a pick back"], ["Ctrl+Enter", "submit"], ["/", "filter"], ["?", "these keys"],
];

export function keys({ open, unfold, tap, stop, say, waits, rest }) {
  let current = null;
  const shown = () => open().filter((c) => !c.hidden);
  function now() {
    const focused = document.activeElement?.closest?.(".card:not(.over)");
    if (focused) current = focused;
    return current?.isConnected && !current.hidden && !current.classList.contains("over") ? current : null;
  }
  function move(by) {
    const list = shown();
    if (!list.length) return;
    const i = list.indexOf(now());
    current = list[i < 0 ? 0 : Math.max(0, Math.min(list.length - 1, i + by))];
    rest(current);
    current.scrollIntoView({ block: "start", behavior: "instant" });
  }
  function pick(card, n) {
    const input = card.querySelectorAll(".ask input")[n - 1];
    const button = card.querySelectorAll(".acts button[name=a0]")[n - 1];
    if (input) {
      input.checked = input.type === "radio" || !input.checked;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      if (input.type === "radio") tap(card, input);
    } else if (button) press(card, button);
  }
  function press(card, button) {
    if (!button) return;
    if (button.disabled) { say(waits(card) ? "See all of it first: s shows it." : "Not yet."); return; }
    button.click();
  }
  function act(card, key) {
    if (key >= "1" && key <= "9") return pick(card, Number(key));
    switch (key) {
      case "a": return press(card, card.querySelector(".acts .allow[name=a0]"));
      case "r": {
        const reason = card.querySelector(".reason");
        if (!reason) return press(card, card.querySelector(".acts .reject"));
        reason.open = true;
        return reason.querySelector("textarea").focus();
      }
      case "o": return card.querySelector(".own, .ask textarea")?.focus();
      case "s": return unfold(card);
      case "n": return card.querySelector(".later")?.click();
      case "z": return card.querySelector(".undo")?.click();
    }
  }
  function sheet() {
    let d = document.getElementById("keys");
    if (!d) {
      d = document.createElement("dialog");
      d.id = "keys";
      d.setAttribute("aria-labelledby", "keys-name");
      d.innerHTML = `<h2 id="keys-name">Keys</h2><dl></dl><form method="dialog"><button class="quiet">Close</button></form>`;
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
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
    const card = now();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = event.target.closest?.("form.answer");
      const button = event.target.closest?.(".reason")?.querySelector("button") ?? form?.querySelector(".acts button[value=answer]");
      if (button) { event.preventDefault(); press(form.closest(".card"), button); }
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
    else if (card && /^[1-9arosnz]$/.test(event.key)) act(card, event.key);
    else return;
    event.preventDefault();
  });
}
