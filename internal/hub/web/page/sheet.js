// What keys do, or away with it.
const help = [
  ["j, k", "next, previous"], ["1 to 9", "pick an option"], ["a, Enter", "allow"], ["r", "reject, with a reason"],
  ["o", "your own words"], ["s", "show all"], ["n", "not now"], ["z", "undo"], ["Ctrl+Enter", "submit"], ["/", "filter"], ["?", "these keys"],
];

export default function () {
  let d = document.getElementById("keys");
  if (d?.open) return d.close();
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
  d.showModal();
}
