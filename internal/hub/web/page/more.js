// What few need: the page fetches it when they do.
const make = (name, text = "", more = {}) => Object.assign(document.createElement(name), { textContent: text, ...more });

// Allows the cards that were seen, once each. A list names them first. What is sent is what
// each card's own button sends: only for cards that are as they were when the list was shown.
export function bulk({ open, may, allowing, hold, release, read, stop, labelOf, countSeen, bared, settling }) {
  const list = open().filter(may).map((card) => ({ card, as: card.dataset.revision }));
  if (!list.length || document.getElementById("bulk")) return;
  const d = make("dialog", "", { id: "bulk" }), yes = make("button", "", { type: "button", className: "allow" }), ul = make("ul");
  d.setAttribute("aria-labelledby", "bulk-name");
  for (const l of list) {
    const li = make("li"), label = make("label"), button = labelOf(allowing(l.card));
    const where = [l.card.querySelector("h3").textContent, l.card.closest(".lane").querySelector(".lane-name strong").textContent].join(" · ");
    l.box = make("input", "", { type: "checkbox", checked: true, autocomplete: "off", onchange: () => d.update() });
    l.text = make("small", where);
    label.append(l.box, make("span", (button === "Allow" ? "" : button + " · ") + l.card.dataset.topic, { dir: "auto" }), l.text);
    li.dataset.as = l.as;
    li.append(label);
    ul.append(li);
  }
  let since = performance.now(); // when the button came to its place; rows move when one of them changes
  ul.onclick = (event) => { if (event.detail && event.timeStamp - since < settling) event.preventDefault(); }; // so are boxes
  const given = () => list.filter(({ box }) => box.checked);
  d.update = () => { // also called by the page, when a card has changed
    for (const l of list) {
      if (l.box.disabled || may(l.card) && l.card.dataset.revision === l.as) continue;
      l.box.checked = false;
      l.box.disabled = true;
      l.text.textContent = "no longer waiting as you saw it";
      since = performance.now();
    }
    yes.textContent = "Allow " + given().length;
    yes.disabled = !given().length;
  };
  yes.onclick = (event) => {
    if (event.detail > 1 || event.timeStamp - since < settling) return; // it was for what was there before
    d.update();
    const cards = given().map((l) => l.card);
    d.close();
    send(cards);
  };
  d.onkeydown = ({ key }) => { if (/^\S$/.test(key) && document.activeElement === yes) yes.blur(); }; // whoever types means no Enter
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
      countSeen();
      if (!left.size) { bar.remove(); bared(); }
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
    countSeen();
    bar.querySelector(".undo").focus();
  }
}

// Dismisses what is left of agents that are gone, once it was said how many that are.
export async function dismissAll({ form, open, headers, say, sentence, refreshSoon, settling, moving }) {
  const button = form.querySelector("button");
  const shown = open().filter((c) => !c.hidden).map((c) => c.id + "-" + c.dataset.revision);
  const list = form.elements.these.value.split(" ").filter((n) => shown.includes(n)), these = list.join(" ");
  if (!list.length) return;
  if (button.dataset.sure !== these) {
    button.dataset.sure = these;
    button.since = performance.now();
    moving(() => { button.textContent = list.length === 1 ? "Dismiss it? Its agent is told when it comes back." : `Dismiss these ${list.length}? Their agents are told when they come back.`; });
    return;
  }
  if (performance.now() - button.since < settling) return; // a double click
  const reply = await fetch("/dismiss", { method: "POST", body: new URLSearchParams({ these }), headers: headers({ Accept: "application/json" }) }).catch(() => null);
  const said = await reply?.json().catch(() => ({})) ?? {};
  say(said.dismissed ? said.dismissed + " dismissed." : sentence(said.error ?? "The hub did not accept it. Try again."));
  refreshSoon();
}

// Adds a phone: a link for its camera, made when somebody asks for it. It works once.
function draw(said) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${said.size} ${said.size}`);
  svg.setAttribute("class", "qr");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "QR code of the link below");
  svg.setAttribute("shape-rendering", "crispEdges");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", said.path);
  svg.append(path);
  return svg;
}

const plain = "This is plain http: anyone on the same network can read questions, answers and logins, and answer in your name. Use it at home only. There are no push notifications.";

function tell(said, lan) {
  const away = make("p", "acp-bridge-hub help operate has ways to reach it from anywhere.", { className: "soft" });
  if (!said.link && said.lan === "off") {
    return [make("p", "Only this machine reaches the hub. Let phones on this network in?"), ...(location.protocol === "http:" ? [make("p", plain, { className: "warn" })] : []),
      make("button", "Let this network in", { type: "button", className: "allow", onclick: () => lan(true) }), away];
  }
  if (!said.link) return [make("p", "This machine has no address on a network now: only it reaches the hub."), away];
  const list = [make("p", "Scan this with the phone's camera. It works once, within 15 minutes, and lets the phone answer."), draw(said),
    make("p", said.link, { className: "address" })];
  if (said.others?.length) list.push(make("p", "If that does not work, begin it with " + said.others.join(" or ") + " instead.", { className: "soft" }));
  if (said.fingerprint) {
    list.push(make("p", "The phone's browser will warn about an unknown certificate. Continue if it has this fingerprint (SHA-256):"), make("p", said.fingerprint, { className: "address" }));
  } else if (said.plain) {
    list.push(make("p", plain, { className: "warn" }));
  }
  list.push(make("p", "The phone has a name of its own in receipts. acp-bridge-hub device remove NAME revokes its access.", { className: "soft" }));
  if (said.lan === "on") list.push(make("button", "Keep this network out again", { type: "button", className: "link", onclick: () => lan(false) }));
  return list;
}

export async function phone({ headers }) {
  if (document.getElementById("phone")) return;
  const d = make("dialog", "", { id: "phone" });
  d.setAttribute("aria-labelledby", "phone-name");
  const body = make("div");
  body.setAttribute("role", "status");
  const close = make("button", "Close", { className: "quiet", type: "button", onclick: () => d.close() });
  d.append(make("h2", "Add a phone", { id: "phone-name" }), body, close);
  d.onclose = () => d.remove(); // with the code in it
  document.body.append(d);
  d.showModal();
  async function post(path, body) {
    const reply = await fetch(path, { method: "POST", body, headers: headers({ Accept: "application/json", "Content-Type": "application/json" }) });
    const said = await reply.json();
    if (!reply.ok) throw new Error(said.error);
    return said;
  }
  const show = async (first) => {
    try {
      if (first) await post("/lan", first);
      body.replaceChildren(...tell(await post("/phones"), (on) => show(JSON.stringify({ on }))));
    } catch (problem) {
      body.replaceChildren(make("p", "That did not work: " + problem.message, { className: "problem" }));
    }
  };
  await show();
}

// What keys do, or away with it.
const help = [
  ["j, k", "next, previous"], ["1 to 9", "pick an option"], ["a, Enter", "allow"], ["r", "reject, with a reason"],
  ["o", "your own words"], ["s", "show all"], ["n", "not now"], ["z", "undo"], ["Ctrl+Enter", "submit"], ["/", "filter"], ["?", "these keys"],
];

export function sheet() {
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

// What was typed for a question that others ended stays below it, to be copied, until its
// person discards it.
export function unsent({ card, moving, tidy }) {
  const words = [...card.querySelectorAll("textarea:not(.secret), .field")].filter((f) => f.value.trim() && f.value !== f.defaultValue).map((f) => f.value).join("\n\n");
  if (!words) return;
  const box = make("div", "", { className: "unsent news" }), text = make("textarea", "", { readOnly: true, value: words });
  text.setAttribute("aria-label", "What you wrote");
  box.append(make("p", "What you wrote was not sent · " + card.dataset.topic, { dir: "auto" }), text, make("button", "Discard it", { type: "button", className: "link", onclick: () => moving(() => {
    box.remove();
    tidy();
  }) }));
  moving(() => (card.isConnected ? card : document.getElementById(card.id))?.after(box)); // it may be asked anew by now
}

// What was kept of questions that have ended since goes.
export async function sweep({ open, strays, parse, drop }) {
  const names = strays(open()).slice(0, 40); // as many as may be asked for
  const reply = await fetch("/cards?also=" + names.map((n) => n.split(" ")[2]).join(",")).catch(() => null);
  if (reply?.ok) strays([...parse(await reply.text()).querySelectorAll(".card")]).filter((n) => names.includes(n)).forEach(drop);
}

// Pushes, on this device. Undefined is that nobody knows.
export async function subscribe({ kinds, headers }) {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return;
  try {
    const worker = await navigator.serviceWorker.register("/worker.js");
    for (const n of await worker.getNotifications()) n.close(); // they are seen now
    const { key } = await (await fetch("/push")).json();
    const bytes = Uint8Array.from(atob(key.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const wants = { userVisibleOnly: true, applicationServerKey: bytes };
    let mine;
    try {
      mine = await worker.pushManager.subscribe(wants);
    } catch (problem) { // it was for another hub's key
      const old = await worker.pushManager.getSubscription();
      if (!old) throw problem;
      await old.unsubscribe();
      mine = await worker.pushManager.subscribe(wants);
    }
    const reply = await fetch("/push", { method: "POST", body: JSON.stringify({ ...mine.toJSON(), kinds: ["question", ...kinds()] }), headers: headers({ "Content-Type": "application/json" }) });
    return reply.ok;
  } catch {} // not on this device
}

// Both sides forget the subscription. Where only one can be told, pushes end, too.
export async function unsubscribe({ headers }) {
  const worker = await navigator.serviceWorker?.getRegistration();
  const mine = await worker?.pushManager?.getSubscription();
  if (!mine) return true;
  const reply = await fetch("/push", { method: "DELETE", body: JSON.stringify(mine), headers: headers({ "Content-Type": "application/json" }) }).catch(() => null);
  const ended = await mine.unsubscribe().catch(() => false);
  return Boolean(reply?.ok || ended);
}

// Logs out behind all that is pending, or on its way, in any tab. What could not be sent
// stays, and so does the login; meanwhile nothing else is taken. The tab with the form says
// "leaving", each other one "waiting", and then what came of it. "staying" is the end of that.
export async function logout({ form, tabs, sendAll, secret, forgetAll, say }) {
  const kinds = ["pointerdown", "click", "keydown", "submit"];
  const no = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    say("You are logging out: this does nothing any more.");
  };
  for (const kind of kinds) addEventListener(kind, no, true);
  const stay = (text) => {
    for (const kind of kinds) removeEventListener(kind, no, true);
    say(text);
  };
  if (!form) {
    tabs.addEventListener("message", ({ data }) => { if (data === "staying") stay(""); });
    setTimeout(stay, 60000, ""); // the other tab has gone, and said nothing
    tabs.postMessage("waiting");
    tabs.postMessage((await sendAll()).includes(false) ? "not sent" : "sent");
    return;
  }
  const others = new Promise((done) => {
    let left = 0, late = false;
    const look = () => { if (late && !left) done(true); };
    tabs.addEventListener("message", ({ data }) => {
      left += { waiting: 1, sent: -1 }[data] ?? 0;
      if (data === "not sent") done(false);
      look();
    });
    setTimeout(() => { late = true; look(); }, 500);
    setTimeout(done, 40000, false); // no answer is on its way for so long
  });
  tabs.postMessage("leaving");
  const all = [...await sendAll(), await others];
  if (all.includes(false)) {
    tabs.postMessage("staying");
    return stay("You are still logged in: an answer was not accepted. Its card says why.");
  }
  form.elements.page.value = secret();
  forgetAll();
  form.submit();
}

// All of what is permitted takes the place of its beginning.
export async function unfold({ card, parse, rearrange, moved, watch, ready, problem }) {
  const button = card.querySelector(".unfold");
  if (!button || button.disabled) return;
  button.disabled = true;
  try {
    const reply = await fetch("/cards?whole=" + card.id);
    const fresh = parse(await reply.text()).querySelector("#" + card.id);
    if (!reply.ok || !fresh) throw new Error();
    rearrange(() => card.querySelector(".thing").replaceWith(fresh.querySelector(".thing")));
    moved(card); // its buttons have
    watch(card);
    ready(card);
  } catch {
    button.disabled = false;
    problem(card, "The rest could not be loaded. Try again.");
  }
}
