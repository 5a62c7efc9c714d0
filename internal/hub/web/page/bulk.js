// Allows the cards that were seen, once each. A list names them first. What is sent is what
// each card's own button sends: only for cards that are as they were when the list was shown.
const make = (name, text = "", more = {}) => Object.assign(document.createElement(name), { textContent: text, ...more });

export default function ({ open, may, allowing, hold, release, read, stop, labelOf, topicOf, settling }) {
  const list = open().filter(may).map((card) => ({ card, as: card.dataset.revision }));
  if (!list.length || document.getElementById("bulk")) return;
  const d = make("dialog", "", { id: "bulk" }), yes = make("button", "", { type: "button", className: "allow" }), ul = make("ul");
  d.setAttribute("aria-labelledby", "bulk-name");
  for (const l of list) {
    const li = make("li"), label = make("label"), button = labelOf(allowing(l.card));
    const where = [l.card.querySelector("h3").textContent, l.card.closest(".lane").querySelector(".lane-name strong").textContent].join(" · ");
    l.box = make("input", "", { type: "checkbox", checked: true, autocomplete: "off", onchange: () => d.update() });
    l.text = make("small", where);
    label.append(l.box, make("span", (button === "Allow" ? "" : button + " · ") + topicOf(l.card), { dir: "auto" }), l.text);
    li.append(label);
    ul.append(li);
  }
  const given = () => list.filter(({ box }) => box.checked);
  d.update = () => { // also called by the page, when a card has changed
    for (const l of list) {
      if (l.box.disabled || may(l.card) && l.card.dataset.revision === l.as) continue;
      l.box.checked = false;
      l.box.disabled = true;
      l.text.textContent = "no longer waiting as you saw it";
    }
    yes.textContent = "Allow " + given().length;
    yes.disabled = !given().length;
  };
  const since = performance.now();
  yes.onclick = (event) => {
    if (event.detail > 1 || event.timeStamp - since < settling) return; // it was for what was there before
    d.update();
    const cards = given().map((l) => l.card);
    d.close();
    send(cards);
  };
  d.onclose = () => d.remove();
  const acts = make("p", "", { className: "acts" });
  acts.append(yes, make("button", "Cancel", { type: "button", onclick: () => d.close() }));
  d.append(make("h2", "Allow these, once each?", { id: "bulk-name" }), ul, acts);
  d.update();
  document.body.append(d);
  d.showModal();

  // One Undo for all. What is done in a card meanwhile stops the one in it.
  function send(cards) {
    const bar = make("p", "", { className: "sending many" }), text = make("span"), left = new Set();
    bar.setAttribute("role", "status");
    const tell = () => { text.textContent = `Allowing ${left.size}…`; };
    const over = (act) => {
      left.delete(act);
      tell();
      if (!left.size) bar.remove();
    };
    const each = (f) => () => { for (const { card } of [...left]) f(card); };
    bar.append(text, make("button", "Undo", { type: "button", className: "undo", onclick: each(stop) }), make("button", "Send", { type: "button", className: "now", onclick: each(release) }));
    document.body.append(bar);
    for (const card of cards) {
      const act = Object.assign(read(card, allowing(card)), { bar, over });
      left.add(act);
      hold(act, "Sending “" + labelOf(act.button) + "”…", "Send", "Not sent");
    }
    tell();
    bar.querySelector(".undo").focus();
  }
}
