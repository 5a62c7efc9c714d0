// The page works without this script: every question is a plain form. With it,
// questions come and go by themselves, what was typed survives a reload, and an
// answer does not leave the page.
import { given, halt, hold, isPending, isPressed, labelOf, read, release, short, stop } from "./act.js";
import { begun, drop, fields, forget, forgetAll, headers, isLater, keep, putAside, restore, secret, soon, strays } from "./keep.js";
import { headOf, inView, isCut, lacks, touchesView, waits, watch } from "./seen.js";
import { notify, turned } from "./notify.js";
import { keys } from "./keys.js";
import { away } from "./away.js";
import { rows } from "./rows.js";

const byId = (id) => document.getElementById(id);
const cards = byId("cards");
const link = byId("link");
const news = byId("news");
const dot = byId("dot");
export const open = () => [...cards.querySelectorAll(".card:not(.over)")];
const find = (id) => open().find((c) => c.id === id);
document.documentElement.classList.add("live");
byId("login").hidden = Boolean(secret());

let hush = 0;
export function say(text, quiet = false) {
  news.textContent = text;
  news.classList.toggle("hidden", quiet);
  clearTimeout(hush);
  hush = setTimeout(() => { news.textContent = ""; }, 5000);
}

// Buttons that permit are there once the end was in view.
export function ready(card) {
  countSeen();
  const wait = waits(card), busy = Boolean(card.mine);
  for (const b of card.querySelectorAll("form.answer button:not(.unfold)")) b.disabled = busy || b.hasAttribute("data-gated") && wait;
  const more = card.querySelector(".more");
  if (!more) return;
  const way = wait && !card.querySelector(".unfold") && lacks(card);
  more.textContent = way + " to allow it.";
  more.hidden = !way;
}

export const unfold = (card) => lazy("unfold", { card, parse, rearrange, moved, watch, ready, problem });

// What may be allowed together: a plan is more than one call, an agent that is gone has it
// some time, and of several yeses nobody has chosen one.
const allowing = (card) => card.querySelector(".acts:not(:has(.other)) .allow[name=a0]:enabled");
const may = (card) => card.isConnected && card.matches(".permission:not(.plan, .away, .over, [hidden])") && allowing(card) && !waits(card) && !isPending(card) && !typedIn(card);
let counting = false;
function countSeen() {
  if (!counting) queueMicrotask(() => {
    const n = open().filter(may).length;
    for (const b of document.querySelectorAll(".bulk")) {
      if (b.hidden !== n < 2) moving(() => { b.hidden = n < 2; });
      b.textContent = `Allow the ${n} you have seen…`;
    }
    byId("bulk")?.update();
    counting = false;
  });
  counting = true;
}
// What few need is fetched when they do.
export async function lazy(name, given) {
  try { return (await import("/more.js"))[name](given); } catch { say("It could not be loaded. Reload the page and try again."); }
}
function lazily(buttons, name, given) {
  for (const b of document.querySelectorAll(buttons)) b.onclick = () => {
    byId("menu").open = false;
    lazy(name, given);
  };
}

function count() {
  draw();
  countSeen();
  const n = Number(byId("total")?.dataset.count ?? open().length);
  const aside = open().filter((c) => c.hidden).length;
  document.title = (dot.matches(".lost") ? "Not connected · " : n === 0 ? "" : n === 1 ? "1 question waiting · " : n + " questions waiting · ") + "acp-bridge";
  const shown = document.querySelector(".bar .count");
  shown.textContent = n === 0 ? "Nothing waiting" : n + " waiting";
  shown.dataset.count = n;
  byId("aside")?.remove();
  if (aside > 0) cards.insertAdjacentHTML("beforebegin", `<button type="button" class="ghost" id="aside">Show ${aside} put aside</button>`);
  try { navigator.setAppBadge?.(n)?.catch?.(() => {}); } catch {} // no badge here; of 0 there is none
}

// Whoever clicks on what has just come under the pointer meant something else:
// for half a second such a click does nothing. The card that is in use stays
// where it is on the screen.
const settling = 500, resting = 3000;
const placed = new WeakMap(); // card: when it came to its place
let pointerMoved = -Infinity;
const top = (card) => card.getBoundingClientRect().top;
export function inUse(list) {
  return list.find((c) => performance.now() - pointerMoved < resting && c.matches(":hover") && touchesView(c)) ?? // a browser notices late that it was scrolled away
    list.find((c) => c.contains(document.activeElement) && touchesView(c)) ??
    list.find((c) => scrollY > 0 && c.getBoundingClientRect().bottom > 60);
}
export const settled = (card, event) => !(event.timeStamp - placed.get(card) < settling);
export function moved(card) {
  placed.set(card, performance.now());
  card.classList.add("moved");
  setTimeout(() => card.classList.toggle("moved", performance.now() - placed.get(card) < settling), settling + 50);
}
// Its buttons are others now, and two clicks of a hurried hand mean the first of them alone.
function turns(card) {
  counted = null;
  moved(card);
}
// What was over the cards is gone, or what was in one: others are under the hand now.
const bared = () => open().forEach(moved);
document.addEventListener("close", bared, true); // dialogs
byId("menu").ontoggle = bared;
// What comes and goes in the open menu moves its rows.
let tallMenu = 0;
new ResizeObserver(([{ contentRect: { height } }]) => {
  if (tallMenu && height) moved(byId("menu").parentElement);
  tallMenu = height;
}).observe(document.querySelector(".sheet"));
// Notes which cards a change moves on the screen.
export function moving(change) {
  const before = new Map(open().filter((c) => !c.hidden).map((c) => [c, top(c)]));
  change(before);
  for (const card of open()) if (!before.has(card) || Math.abs(top(card) - before.get(card)) >= 1) moved(card);
}
// What appears in a card by itself moves its buttons, too.
export function grows(card, change) {
  const was = card.offsetHeight;
  moving(change);
  if (card.offsetHeight !== was) moved(card);
}
// A card that ends keeps its foot where it is: the receipt takes the place of its
// buttons, and what is below stays there.
export function rearrange(change, ending, at) {
  moving((before) => {
    const used = ending?.alone ? ending : at ?? inUse([...before.keys()]);
    const edge = () => used && used.getBoundingClientRect()[used === ending ? "bottom" : "top"], was = edge();
    change();
    if (used?.isConnected && !used.hidden) scrollBy(0, edge() - was);
  });
}

// What is wrong stands above the buttons, where it is seen. When the hub is back, it says
// what that means.
const lost = "The hub cannot be reached. What you wrote is still here; try again.";
const isLost = (card) => card.querySelector(".problem")?.textContent === lost;
function problem(card, text) {
  const p = card.querySelector(".problem");
  if (p.textContent === text || card.matches(".over")) return;
  grows(card, () => {
    p.textContent = text;
    p.hidden = !text;
    if (text) touchesView(card) ? p.scrollIntoView({ block: "nearest" }) : say(text);
  });
}

// A card that is over is a line that says what was answered, by whom, and how far
// it got. It goes once nobody reads in it.
const over = new Map(); // id: its card
function end(card, what, said, steps) {
  const first = !card.matches(".over"), hadFocus = card.contains(document.activeElement), others = begun(card);
  if (first) {
    stop(card);
    forget(card);
    card.classList.remove("row");
  }
  rearrange(() => {
    if (first) {
      card.classList.add("over");
      card.hidden = false;
      card.insertAdjacentHTML("beforeend", `<p class="receipt"><span><b dir="auto"></b> <span class="what" dir="auto"></span></span> <span class="steps"></span></p>`);
    }
    tell(card, what, said, steps);
  }, first || touchesView(card) ? card : null);
  if (!first) return;
  over.set(card.id, card);
  setTimeout(() => { if (acting === card) acting = null; }, 10000);
  if (hadFocus) rest(card);
  if (card.alone) moving(() => card.scrollIntoView({ block: "nearest" }));
  const goes = () => setTimeout(() => go(card), 6000);
  Promise.resolve(card.way).then(() => others && !card.mine && lazy("unsent", { card, moving, tidy })).then(goes);
}
function tell(card, what, said, steps) {
  const head = card.querySelector(".receipt b"), tail = card.querySelector(".receipt .what");
  if (what) head.textContent = what;
  const several = card.querySelectorAll(".ask").length > 1 && head.textContent.includes(": "); // each says what it is about
  const topic = several ? "" : card.dataset.topic;
  tail.textContent = (head.textContent ? "· " : "") + (topic && topic + " · ") + said;
  if (steps) card.querySelector(".steps").replaceChildren(...steps.map(([text, done]) => {
    const s = document.createElement("span");
    s.className = done ? "done" : "todo";
    s.textContent = text + " ";
    return s;
  }));
}
function go(card) {
  const next = beside(card);
  if (card.contains(document.activeElement) && next) rest(next); // Tab goes on from there
  over.delete(card.id);
  rearrange(() => { card.remove(); tidy(); });
}
function tidy() {
  for (const lane of cards.querySelectorAll(".lane:not(:has(.card, .unsent))")) lane.remove();
}
// What stands below a card, or above it.
export function after(card, by = 1) {
  const list = open().filter((c) => !c.hidden && c !== card);
  const below = (c) => card.compareDocumentPosition(c) & Node.DOCUMENT_POSITION_FOLLOWING;
  return by > 0 ? list.find(below) : list.findLast((c) => !below(c));
}
const beside = (card) => after(card) ?? after(card, -1);
// The keys of somebody who is still typing do nothing here; Tab goes on from it.
export function rest(card) { card.focus({ preventScroll: true }); }

const sayings = { answered: "answered", declined: "declined", cancelled: "dismissed", failed: "withdrawn", disconnected: "withdrawn" };
const ended = (c) => (c.by || c.outcome === "answered" ? sayings[c.outcome] ?? "ended" : c.outcome === "disconnected" ? "left to the terminal, where it may still be open" : "withdrawn") + (c.by ? " by " + c.by : "") + (c.by && c.elsewhere ? ", according to the agent's machine" : "");
const receipts = { accepted: 1, unknown: 1, delivered: 2, consumed: 3 };
const stepsOf = (c) => c.by && receipts[c.receipt] ? ["sent", "delivered", "used"].map((s, i) => [s, i < receipts[c.receipt]]) : [];

// One tap is an answer: it can be taken back for as long as it is not sent.
export function tap(card, input) {
  const form = card.querySelector("form");
  const typed = [...form.querySelectorAll(fields)].some((t) => t.value.trim()) || form.querySelector("details.note[open]");
  stop(card);
  if (card.mine || typed || !form.hasAttribute("data-tap") || waits(card) || unseenPick(card)) return;
  hold(read(card), "Sending “" + input.closest("label").querySelector(".label").textContent + "”…", "Send", "Not sent");
}
// What is picked has been in view, to the end of its preview.
function unseenPick(card) {
  const option = [...card.querySelectorAll(".option:has(:checked)")].find(isCut);
  if (option) problem(card, "See all of “" + short(option.querySelector(".label").textContent, 40) + "” first: its preview goes on.");
  return option;
}

// Whoever leaves the page has answered: also by a link, be it in the card itself. There is no
// Undo on the other side, and what was not sent would wait unnoticed.
const sendAll = () => {
  for (const card of open()) (isPressed(card) ? halt : release)(card);
  return Promise.all(open().map((card) => card.way));
};
addEventListener("pagehide", sendAll);
document.addEventListener("visibilitychange", () => { if (document.hidden) sendAll(); else refreshSoon(); });

export async function send(act) {
  const { card, button, doing } = act;
  if (card.mine || doing !== "cancel" && (!button || button.hasAttribute("data-gated")) && waits(card)) return;
  stop(card);
  problem(card, "");
  card.mine = "you, on this device"; // also if the hub tells it before it replies
  card.alone = !act.bar; // the page goes on from it
  ready(card);
  const late = setTimeout(() => problem(card, "This is still being sent."), 2000);
  await (card.way = post(act));
  clearTimeout(late);
  card.way = null;
  ready(card);
  refreshSoon();
}
// Whether the hub has accepted it.
async function post({ card, doing, body, words }) {
  try {
    const keepalive = body.toString().length < 60000; // browsers take no more of what outlives the page
    const reply = await fetch("/answer", { method: "POST", body, keepalive, headers: headers({ Accept: "application/json" }), signal: AbortSignal.timeout?.(30000) });
    const said = await reply.json();
    if (!said.accepted && !said.error) throw Error(); // another has replied in the hub's place
    if (said.accepted) {
      let next = open().find((c) => !c.hidden && c.dataset.talk === card.dataset.talk && card.compareDocumentPosition(c) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (compact()) next ??= after(card);
      const told = card.querySelector(".steps *"); // by the stream
      end(card, { cancel: "Dismissed", decline: "Declined" }[doing] ?? words, card.mine, told ? null : stepsOf({ by: card.mine, receipt: "accepted" }));
      if (next && card.alone) advance(next);
    } else if (delete card.mine, reply.status === 409) {
      end(card, "Not accepted", said.error, []);
    } else {
      if (reply.status === 401) alert("You are logged out. Not sent: " + card.dataset.topic); // and the page goes
      problem(card, sentence(said.error));
    }
    return Boolean(said.accepted);
  } catch (e) {
    delete card.mine;
    problem(card, e.name === "TimeoutError" ? "The hub has not replied: it may have your answer, or not. Try again; only one counts." : lost);
    broken();
    return false;
  }
}
const sentence = (t) => { const s = t.replace(/^bad request:\s/, ""); return s.charAt(0).toUpperCase() + s.slice(1).replace(/([^.!?])$/, "$1."); };
// After an answer the next of the same agent comes into view, at its top. If it was not
// there yet, that is for as long as its person does nothing else.
let acting = null, came = null; // the card that was used last; one that goes on from it
let opening = ""; // the id of a line whose card is on its way, for as long as nothing else is done
export function fetches(card) {
  opening = card.matches(".stub") ? card.id : "";
  if (opening) refresh();
  return opening;
}
for (const kind of ["pointerdown", "click", "keydown", "wheel", "touchmove"]) {
  addEventListener(kind, (event) => { opening = ""; acting = /wheel|move/.test(kind) ? null : event.target.closest?.(".card"); }, { capture: true, passive: true });
}
const follows = (card) => acting?.alone && !card.hidden && acting.dataset.talk === card.dataset.talk;
function advance(next) {
  choose(next);
  const box = next.getBoundingClientRect();
  const said = next.previousElementSibling; // what was answered stands above it
  if (box.top < 56 || box.top > innerHeight * 0.6) moving(() => (said?.matches(".over") ? said : next).scrollIntoView());
  moved(next);
}

export const typedIn = (card) => [...card.querySelectorAll(fields)].some((t) => t.value.trim() && t.value !== t.defaultValue);
function submit(event) {
  if (event.target.matches("#filter, .pages")) { event.preventDefault(); want(event.target, event.submitter); return; }
  if (event.target.matches(".dismiss-all")) { event.preventDefault(); lazy("dismissAll", { form: event.target, open, headers, say, sentence, refreshSoon, settling, moving }); return; }
  const form = event.target.closest("form.answer");
  if (!form) return;
  event.preventDefault();
  const card = form.closest(".card");
  const button = event.submitter;
  if (button?.matches(".unfold")) { halt(card); unfold(card); return; }
  const reason = button?.matches(".acts .reject:not(.always)") && card.querySelector(".reason:not(.edit)");
  if (reason) { openField(reason, true); return; }
  const dismisses = button?.matches(".dismiss");
  const declines = button?.matches(".decline"), plan = card.querySelector(".edit textarea"), edited = plan && plan.value !== plan.defaultValue;
  if ((dismisses || declines ? typedIn(card) : edited && button?.matches(".reason .reject")) && !button.dataset.sure) {
    const text = button.textContent;
    button.dataset.sure = "yes";
    moving(() => { button.textContent = text + ", and lose what you wrote?"; });
    turns(card);
    setTimeout(() => { delete button.dataset.sure; moving(() => { button.textContent = text; }); }, 5000);
    return;
  }
  if (dismisses || declines) {
    turns(card);
    if (dismisses) hold(read(card, button), "Dismissing…", "Dismiss", "Not dismissed"); else hold(read(card, button), "Declining…", "Decline", "Not declined");
    return;
  }
  const gated = button?.hasAttribute("data-gated"), picks = button?.name === "a0", permits = picks && gated;
  if (permits && card.querySelector("textarea[name=n0]")?.value.trim()) problem(card, "A reason goes with a rejection. Clear it to allow this.");
  else if (permits && edited && !button.closest(".edit")) problem(card, "You have edited the plan. Approve the edited plan below, or undo your edits.");
  else if (picks || !lacking(card) && !unseenPick(card)) {
    const act = read(card, button);
    if (gated && byKey) hold(act, "Sending “" + (picks ? labelOf(button) : act.words) + "”…", "Send", "Not sent"); else send(act);
  }
}
// Whoever submits with gaps is taken to the first one.
const answers = (ask) => ask.querySelector("input:checked, .switch") || given(ask).length || ask.querySelector("select")?.value;
function lacking(card) {
  const all = [...card.querySelectorAll(".ask")], gaps = all.filter((a) => !answers(a) && !a.matches("[data-optional]")), first = gaps[0];
  grows(card, () => { for (const a of all) a.classList.toggle("missing", gaps.includes(a)); });
  if (!first) return false;
  problem(card, gaps.length < all.length ? gaps.length + " of " + all.length + " questions have no answer yet." : "Nothing is answered yet.");
  if (!inView(first)) moving(() => first.scrollIntoView());
  first.querySelector("input, textarea, select").focus({ preventScroll: true });
  return true;
}

// Cards that are there stay as they are: somebody may be typing.
const touched = (card) => card.mine || begun(card) || isPending(card) || card.contains(document.activeElement);
function parse(html) {
  const body = new DOMParser().parseFromString(html, "text/html").body;
  for (const n of body.querySelectorAll("noscript")) n.remove(); // what is for pages without this script
  return body;
}
function show(html) {
  const fresh = parse(html);
  facets(fresh.querySelector("#filter"));
  const keys = new Set([...fresh.querySelectorAll(".card")].map((c) => c.id));
  const all = Number(fresh.querySelector("#total").dataset.count) <= keys.size;
  for (const old of open()) {
    if (keys.has(old.id)) continue;
    if (!all && !touched(old)) old.remove(); // it waits still, on another page
    else if (!old.dataset.ending && !old.way) {
      old.dataset.ending = "yes";
      end(old, "", "no longer waiting", []);
    }
  }
  for (const part of cards.querySelectorAll("#cards > :not(.lane)")) part.remove();
  let place = null;
  for (const lane of [...fresh.children]) {
    let here = lane.matches(".lane") ? byId(lane.id) : null;
    const list = lane.matches(".lane") ? [...lane.querySelectorAll(".card")] : [];
    if (!here) {
      here = lane;
      for (const c of list) c.remove();
      if (place) place.after(here); else cards.prepend(here);
    }
    place = here;
    if (here !== lane && here.matches(".lane")) {
      for (const part of here.querySelectorAll(":scope > :not(.card, .unsent)")) part.remove();
      here.prepend(...[...lane.children].filter((c) => !c.matches(".card")));
    }
    fill(here, list);
  }
  tidy();
  count();
  times();
  addresses();
}
function fill(lane, list) {
  let place = [...lane.children].findLast((c) => !c.matches(".card, .unsent"));
  for (const card of list) {
    let here = byId(card.id);
    if (here?.classList.contains("over")) {
      if (here.dataset.revision === card.dataset.revision) continue; // this list is older than its end
      here.remove();
      here = null;
    }
    if (!here) {
      while (place.nextElementSibling?.matches(".over, .unsent")) place = place.nextElementSibling;
      place.after(card);
      begin(card);
      here = card;
      if (follows(card)) came ??= card;
    } else if (here.matches(".stub") && !card.matches(".stub")) {
      const focus = here.contains(document.activeElement);
      here.replaceWith(card);
      begin(card);
      if (focus) rest(card);
      if (card.id === opening) came = card;
      here = card;
    } else {
      const [was, now] = [here, card].map((c) => c.querySelector(".where"));
      if (was && now && !was.isEqualNode(now)) { was.replaceWith(now); moved(here); } // its buttons have
      if (!isPending(here)) { // the agent's next process may ask it now
        here.dataset.revision = card.dataset.revision;
        for (const r of here.querySelectorAll("[name=revision]")) r.value = parseInt(card.dataset.revision);
      }
      here.classList.toggle("away", card.matches(".away"));
      if (here.parentElement !== lane && !touched(here)) place.after(here);
    }
    if (here.parentElement === lane) place = here;
  }
}
function begin(card) {
  restore(card);
  card.hidden = isLater(card);
  watch(card);
  ready(card);
  dots(card);
}

// What of it is wanted: the filter, and the page.
const names = ["q", "agent", "project", "in", "from"];
const wanted = new URLSearchParams([...new URLSearchParams(location.search)].filter(([k, v]) => names.includes(k) && v));
const filter = byId("filter"), filterButton = byId("filter-button");
function openFilter(yes) {
  moving(() => {
    filter.hidden = !yes;
    if (yes) scrollTo(0, 0);
  });
  filterButton.setAttribute("aria-expanded", yes);
  if (yes) filter.querySelector("input[type=search]").focus({ preventScroll: true });
}
function facets(fresh) {
  if (!fresh) return;
  fresh.remove();
  if (filter.contains(document.activeElement)) return; // somebody is at it
  for (const s of filter.querySelectorAll("select")) s.remove();
  filter.querySelector("input[type=search]").after(...fresh.querySelectorAll("select"));
}
function want(form, submitter) {
  for (const k of names) {
    const v = new FormData(form).get(k);
    if (v) wanted.set(k, v); else wanted.delete(k);
  }
  if (submitter?.name === "from") {
    wanted.set("from", submitter.value);
    scrollTo(0, 0);
  }
  history.replaceState(null, "", "/" + (wanted.size ? "?" + wanted : "") + location.hash);
  filterButton.classList.toggle("on", names.slice(0, 4).some((k) => wanted.get(k)));
  return refresh();
}
let typing = 0;
filter.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => want(filter), 250); });
filterButton.onclick = () => openFilter(filter.hidden);
filter.hidden = !filter.matches(".on");
let busy = false, again = false, timer = 0;
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const also = [...open().filter((c) => c.id === opening || touched(c) && !c.matches(".stub:focus, .stub:focus-within")).map((c) => c.id), ...(location.hash.startsWith("#q") ? [location.hash.slice(1)] : [])];
    const query = new URLSearchParams(wanted), unsent = open().filter(isLost);
    if (also.length) query.set("also", also.join(","));
    const reply = await fetch("/cards" + (query.size ? "?" + query : ""), { signal: AbortSignal.timeout?.(30000) });
    if (reply.status === 401 || reply.status === 403) {
      await sendAll(); // it is told what cannot be sent any more
      location.reload();
      return;
    }
    if (reply.ok) {
      const html = await reply.text();
      came = null;
      rearrange(() => show(html));
      for (const c of unsent.filter(isLost)) problem(c, "The hub is back. This was not sent.");
      if (came) advance(came);
      point();
    }
  } catch { broken(); }
  busy = false;
  if (again) { again = false; refreshSoon(); }
}
function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 50);
}

function connected(yes) {
  const text = yes ? "" : "The hub cannot be reached. Trying again.";
  dot.classList.toggle("lost", !yes);
  dot.setAttribute("aria-label", yes ? "Connected" : "Not connected");
  if (link.textContent !== text) rearrange(() => { link.textContent = text; link.hidden = yes; count(); });
}
// The stream tells what has changed since the first list was made. A list that was read
// later says that a card has ended, and not who answered.
let from = byId("total").dataset.at, source, retry = 1000, before = false, trying = 0;
// A stream may seem to be open long after the network has gone.
function broken() {
  connected(false);
  source?.close();
  clearTimeout(trying);
  trying = setTimeout(() => { refresh(); listen(); }, retry);
  retry = Math.min(retry * 2, 15000);
}
addEventListener("offline", broken);
addEventListener("online", () => { retry = 500; broken(); });
function listen() {
  source?.close();
  source = new EventSource("/events?after=" + from);
  source.onopen = () => {
    retry = 1000;
    connected(true);
    if (before) refreshSoon();
    before = true;
  };
  source.onerror = () => {
    connected(false);
    if (source.readyState === EventSource.CLOSED) broken();
  };
  source.addEventListener("turn", (event) => turned(JSON.parse(event.data)));
  source.addEventListener("state_change", async (event) => {
    const c = JSON.parse(event.data), way = find(c.card)?.way;
    from = event.lastEventId;
    if (way) await soon(way, 2000); // the reply says whose it is
    const card = find(c.card) ?? over.get(c.card);
    if (c.outcome && card) {
      const over = card.matches(".over");
      end(card, card.querySelector(".receipt b")?.textContent ? "" : c.answer ?? "", !card.way && card.mine || (c.answer && c.by && !c.elsewhere ? "by " + c.by : ended(c)), stepsOf(c));
      if (!over && !card.mine) say("A question was " + ended(c));
    }
    if (c.undelivered) say("A question was " + ended(c) + ", but it could not be delivered: " + c.undelivered);
    if (c.outcome) unseen.delete(c.card);
    else if (!card) { fresh(c); notify(); }
    refreshSoon();
  });
}
// A screen reader hears what is new and what it is about.
function fresh(c) {
  unseen.add(c.card);
  say("New: " + (c.questions?.[0]?.header || c.questions?.[0]?.question || "a question").slice(0, 100), true);
}
// Of what has come where nobody looks, a line over the page says where; it leads there.
const unseen = new Set(), pill = byId("unseen"); // ids of cards
function point() {
  const list = open().filter((c) => !c.hidden && unseen.has(c.id));
  for (const c of list) if (inView(headOf(c))) unseen.delete(c.id);
  const left = list.filter((c) => unseen.has(c.id)), below = left.filter((c) => top(headOf(c)) > 99);
  const away = [...unseen].filter((id) => !find(id)); // on another page, or not what the filter wants
  pill.to = below[0] ?? left.at(-1) ?? away[0];
  if (!pill.to && !pill.hidden) bared();
  pill.hidden = !pill.to;
  pill.textContent = below.length ? below.length + " new below ↓" : left.length ? left.length + " new above ↑" : away.length + " new, not in this list →";
}
pill.onclick = () => { if (pill.to.id) visit(pill.to); else location.hash = pill.to; point(); };
addEventListener("scroll", () => { if (unseen.size) point(); }, { passive: true });

// Times are told as how long ago they were.
function times() {
  for (const t of document.querySelectorAll(":is(.who, .brief) time")) {
    const s = (Date.now() - Date.parse(t.dateTime)) / 1000;
    const ago = s < 5 ? "now" : s < 60 ? Math.floor(s) + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " days";
    if (t.textContent !== ago) t.textContent = ago; // else it is laid out again
  }
}
setInterval(times, 10000);

// A click is for what was there when it began: when the pointer went down.
let began = null;
document.addEventListener("pointerdown", (event) => { began = { timeStamp: event.timeStamp, card: event.target.closest?.(".card, .bar") }; }, true);
let byKey = false, pointed = null; // how something was pressed last; the radio button of a label
let counted = null; // the card of the last click, or its line with Undo; the second of a double click is for what the first was for
document.addEventListener("click", (event) => {
  const card = event.target.closest(".card, .bar"), press = began ?? { timeStamp: event.timeStamp, card };
  const part = event.target.closest(".sending, .card, .bar"), stray = press.card !== card || event.detail > 1 && counted !== part;
  began = null;
  byKey = event.detail === 0;
  if (!byKey) counted = null;
  if (!byKey && card && (stray || !settled(card, press))) { // not by key (see keys.js), and it was not there
    event.preventDefault();
    event.stopPropagation();
    say("The page has just moved. Click again.");
    open().forEach(halt); // nobody knows which of them it was meant for
  } else if (!card) halt(press.card); // it has begun in one
  else {
    if (card.mine && event.target.closest(".option")) {
      event.preventDefault();
      say("This is still being sent.");
    }
    if (byKey) return;
    counted = part;
    pointed = event.target.closest("label")?.control;
    setTimeout(() => { pointed = null; }); // its click comes at once, if it comes
  }
}, true);
document.addEventListener("click", (event) => {
  const card = event.target.closest(".card");
  if (event.target.closest("#aside")) {
    rearrange(() => { for (const c of open()) if (c.hidden) { putAside(c, false); c.hidden = false; } count(); });
  } else if (card && event.target.closest(".undo")) {
    const act = stop(card), form = card.querySelector("form");
    if (!byKey) turns(card);
    if (!act?.button) for (const i of card.querySelectorAll("input:checked")) i.checked = false;
    keep(card);
    form.tabIndex = -1; // from there Ctrl+Enter submits, and no other one
    rest(act?.doing !== "answer" ? card : !act.button && card.querySelector(".ask [type=radio]") || form);
  } else if (card && event.target.closest(".now")) {
    release(card);
  } else if (card && event.target.closest(":is(.reason, .note) > summary")) {
    event.preventDefault(); // it opens here, so that a phone has its keyboard up at once
    const details = event.target.closest("details");
    openField(details, !details.open || event.detail > 1); // two clicks of a hurried hand are one
  } else if (event.target.matches(".copy")) {
    const code = event.target.previousElementSibling;
    const done = navigator.clipboard?.writeText(code.textContent).then(() => say("Copied."));
    if (!done) getSelection().selectAllChildren(code); // plain http has no clipboard
  } else if (card && event.target.closest(".brief")) {
    event.preventDefault(); // it is for pages without this script
    choose(card);
  } else if (card && event.target.closest(".dots")) {
    moving(() => { card.querySelector(".also").toggleAttribute("open"); });
    dots(card);
  } else if (card && event.target.closest(".later")) {
    const next = beside(card);
    stop(card);
    putAside(card, true);
    rearrange(() => { card.hidden = true; count(); });
    if (next) { choose(next); rest(next); }
    say("Put aside on this device. It is still waiting.");
  } else if (event.target.matches(".option input[type=radio]") && event.target === pointed) {
    tap(card, event.target);
  }
  const menu = byId("menu");
  if (menu.open && !menu.contains(event.target)) menu.open = false;
});
document.addEventListener("pointermove", (event) => {
  pointerMoved = event.timeStamp;
  if (acting?.matches(".over") && event.target.closest?.(".card:not(.over)")) acting = null;
});
document.addEventListener("submit", submit);
document.addEventListener("wheel", () => { if (document.activeElement.type === "number") document.activeElement.blur(); }, { passive: true }); // who scrolls sets no number
// Whoever logs out has answered, in each tab.
const tabs = new BroadcastChannel("acp-bridge");
const leave = (form) => lazy("logout", { form, tabs, sendAll, secret, forgetAll, say });
tabs.onmessage = ({ data }) => { if (data === "leaving") leave(); };
byId("logout").addEventListener("submit", (event) => {
  event.preventDefault();
  say("Logging out…");
  leave(event.target);
});
document.addEventListener("input", (event) => {
  const card = event.target.closest(".card");
  if (!card?.querySelector("form.answer")) return;
  const ask = event.target.closest(".missing");
  if (ask && answers(ask)) {
    grows(card, () => ask.classList.remove("missing"));
    if (!card.querySelector(".missing")) problem(card, "");
  }
  if (event.target.matches(".own") && event.target.value) {
    for (const i of event.target.closest(".ask").querySelectorAll("input[type=radio]:checked")) i.checked = false;
  }
  keep(card);
  if (event.target.matches(fields) && tall !== (tall = event.target.offsetHeight)) bared();
});
let tall = 0; // the field that has the focus: as tall as what is in it, which moves what is below
document.addEventListener("focusin", (event) => { tall = event.target.offsetHeight; });

// What opens moves nothing that is above it: the button that opened it stays under the hand.
function openField(details, yes) {
  halt(details.closest(".card"));
  moving(() => { details.open = yes; });
  if (yes) details.querySelector("textarea").focus();
}
const dots = (card) => card.querySelector(".dots")?.setAttribute("aria-expanded", card.querySelector(".also").open);

// What to type has this page's address in it.
function addresses() {
  for (const code of cards.querySelectorAll(".nothing code")) if (code.textContent.endsWith("--hub ")) code.textContent += location.origin;
}

// After the browser has filled in what it remembers of another page.
addEventListener("pageshow", () => open().forEach(restore));
navigator.serviceWorker?.addEventListener("message", (event) => {
  if (/^q[0-9a-f]+$/.test(event.data?.card ?? "")) location.hash = event.data.card;
});
addEventListener("hashchange", () => { refresh().then(goTo); });
function goTo() {
  const card = location.hash.startsWith("#q") && find(location.hash.slice(1));
  if (!card) return;
  if (card.hidden) { putAside(card, false); card.hidden = false; }
  visit(card);
}
function visit(card) {
  choose(card);
  moving(() => card.scrollIntoView());
  rest(card);
}
export const { draw, choose, compact } = rows();
lazily("#phone-button", "phone", { headers });
lazily("#keys-button", "sheet");
lazily(".bulk", "bulk", { open, may, allowing, hold, release, read, stop, labelOf, countSeen, bared, settling });
away();
keys();
open().forEach(begin);
if (open().some((c) => c.matches(".stub") && begun(c))) refreshSoon();
addresses();
count();
times();
// Cards further down are laid out once the page can be used.
function whole() { rearrange(() => document.documentElement.classList.add("whole")); }
if (location.hash) whole(); else addEventListener("load", () => setTimeout(whole));
goTo();
listen();
if (strays(open()).length) lazy("sweep", { open, strays, parse, drop });
