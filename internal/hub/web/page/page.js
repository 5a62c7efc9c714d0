// The page works without this script: every question is a plain form. With it,
// questions come and go by themselves, what was typed survives a reload, and an
// answer does not leave the page.
"use strict";
(() => {
  const cards = document.getElementById("cards");
  const link = document.getElementById("link");
  const news = document.getElementById("news");
  const drafts = "acp-bridge draft ";
  const name = (card) => drafts + card.id + " " + card.dataset.revision;
  const open = () => [...cards.querySelectorAll(".card:not(.over)")];
  const find = (id) => open().find((c) => c.id === id);

  // What only this page and the hub know. The reply to the login has it, and no
  // other: whoever has the cookie alone changes nothing.
  const secretName = "acp-bridge page";
  const given = document.querySelector("main").dataset.page;
  if (given) {
    try { localStorage.setItem(secretName, given); } catch { /* for as long as this page is there */ }
    history.replaceState(null, "", "/");
  }
  function secret() { // another tab may have logged in since
    try { return localStorage.getItem(secretName) ?? given; } catch { return given; }
  }
  document.getElementById("login").hidden = Boolean(secret());
  const headers = (more) => ({ "Acp-Bridge-Page": secret(), ...more });

  // What was typed is kept until the question is settled.
  function keep(card) {
    const values = [...new FormData(card.querySelector("form"))].filter(([k]) => /^[atn]\d+$/.test(k));
    try { localStorage.setItem(name(card), JSON.stringify(values)); } catch { /* no room, or not allowed */ }
  }
  function restore(card) {
    // Browsers fill controls by their place, with what was for another question.
    card.querySelector("form").reset();
    let values;
    try { values = JSON.parse(localStorage.getItem(name(card))); } catch { return; }
    if (!Array.isArray(values)) return;
    for (const input of card.querySelectorAll("input[name^=a]")) {
      input.checked = values.some(([k, v]) => k === input.name && v === input.value);
    }
    for (const area of card.querySelectorAll("textarea")) {
      const value = values.find(([k]) => k === area.name);
      if (!value) continue;
      area.value = value[1];
      if (value[1] && area.closest("details")) area.closest("details").open = true;
    }
  }
  function forget(card) {
    try { localStorage.removeItem(name(card)); } catch { /* not allowed */ }
  }

  function forgetAll() {
    try {
      for (const key of Object.keys(localStorage)) if (key.startsWith(drafts) || key === secretName) localStorage.removeItem(key);
    } catch { /* not allowed */ }
  }

  // Permission counts only for what was in view: until the end of all that is
  // permitted was, there is nothing to submit.
  const unseen = new WeakMap(); // card: the ends that were not in view yet
  const ends = new IntersectionObserver((list) => {
    for (const one of list) {
      const card = one.target.closest(".card");
      if (!one.isIntersecting || !card) continue;
      ends.unobserve(one.target);
      unseen.get(card)?.delete(one.target);
      ready(card);
    }
  });
  function watch(card) {
    if (!card.matches(".permission") || unseen.has(card)) return;
    unseen.set(card, new Set(card.querySelectorAll(".end")));
    for (const end of unseen.get(card)) ends.observe(end);
    ready(card);
  }
  const waits = (card) => (unseen.get(card)?.size ?? 0) > 0;
  function ready(card, busy = false) {
    for (const b of card.querySelectorAll("form.answer button")) b.disabled = busy || b.value === "answer" && waits(card);
    const more = card.querySelector(".more");
    if (more) more.hidden = !waits(card);
  }
  // A box that can be scrolled says that there is more below.
  const boxes = ".text, .label, .description, pre, .given";
  const signs = (box) => box.classList.toggle("below", box.scrollHeight - box.scrollTop - box.clientHeight > 4);
  const signAll = () => { for (const box of cards.querySelectorAll(boxes)) signs(box); };
  document.addEventListener("scroll", (event) => { if (event.target.matches?.(boxes)) signs(event.target); }, true);
  addEventListener("resize", signAll);

  // Somebody has begun to answer it, or is about to.
  function begun(card) {
    try { if (localStorage.getItem(name(card)) !== null) return true; } catch { /* not allowed */ }
    return card.contains(document.activeElement);
  }

  function count() {
    const shown = cards.querySelector(".count");
    const n = Number(shown?.dataset.count ?? open().length);
    document.title = (n ? `(${n}) ` : "") + "Questions";
  }

  // Whoever clicks on what has just come under the pointer meant something else:
  // for half a second such a click does nothing. The card that is in use stays
  // where it is on the screen.
  const settling = 500, resting = 3000;
  const placed = new WeakMap(); // card: when it came to its place
  let pointed = -Infinity; // when the pointer was moved last
  const top = (card) => card.getBoundingClientRect().top;
  function inUse(list) {
    return list.find((c) => performance.now() - pointed < resting && c.matches(":hover")) ??
      list.find((c) => c.contains(document.activeElement)) ??
      list.find((c) => scrollY > 0 && c.getBoundingClientRect().bottom > 0);
  }
  function rearrange(change) {
    const before = new Map(open().map((c) => [c, top(c)]));
    const used = inUse([...before.keys()]);
    change();
    if (used?.isConnected) scrollBy({ top: top(used) - before.get(used), behavior: "instant" });
    for (const card of open()) {
      if (before.has(card) && Math.abs(top(card) - before.get(card)) < 1) continue;
      placed.set(card, performance.now());
      card.classList.add("moved");
      setTimeout(() => card.classList.toggle("moved", performance.now() - placed.get(card) < settling), settling + 50);
    }
  }
  const tell = (line, text) => rearrange(() => {
    line.textContent = text;
    line.hidden = !text;
  });

  function problem(card, text) {
    const p = card.querySelector(".problem");
    p.textContent = text;
    p.hidden = !text;
  }

  // A card that is over says why, and goes once nobody reads in it.
  function end(card, text) {
    if (card.classList.contains("over")) return;
    const hadFocus = card.contains(document.activeElement);
    forget(card);
    rearrange(() => {
      card.classList.add("over");
      card.querySelector(".where").textContent = text;
      news.textContent = text;
    });
    if (hadFocus) rest(card);
    setTimeout(() => {
      const next = open()[0];
      if (card.contains(document.activeElement) && next) rest(next);
      rearrange(() => card.remove());
    }, 6000);
  }
  // The keys of somebody who is still typing do nothing here; Tab goes on from it.
  function rest(card) {
    card.tabIndex = -1;
    card.focus({ preventScroll: true });
  }

  const sayings = { answered: "Answered", declined: "Declined", cancelled: "Cancelled", failed: "Taken back", disconnected: "Taken back" };
  const ended = (c) => (sayings[c.outcome] ?? "Ended") + (c.by ? " by " + c.by : "") + (c.by && c.elsewhere ? ", as the agent's machine says" : "");

  async function submit(event) {
    const form = event.target.closest("form.answer");
    if (!form) return;
    event.preventDefault();
    const card = form.closest(".card");
    const doing = event.submitter?.value ?? "answer";
    if (doing === "answer" && waits(card)) return;
    const body = new URLSearchParams([...new FormData(form), ["do", doing]]);
    body.delete("page");
    problem(card, "");
    ready(card, true);
    try {
      const reply = await fetch("/answer", { method: "POST", body, headers: headers({ Accept: "application/json" }) });
      const said = await reply.json().catch(() => ({}));
      if (reply.ok) end(card, doing === "cancel" ? "Cancelled by you" : "Answered by you");
      else if (reply.status === 409) end(card, "Not taken: " + said.error);
      else problem(card, said.error ?? "The hub did not take it. Try again.");
    } catch {
      problem(card, "The hub cannot be reached. What you wrote is still here; try again.");
    }
    ready(card);
    refreshSoon();
  }

  // Cards that are there stay as they are: somebody may be typing.
  function show(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html").body;
    const keys = new Set([...fresh.querySelectorAll(".card")].map((c) => c.id + " " + c.dataset.revision));
    const all = Number(fresh.querySelector(".count").dataset.count) <= keys.size;
    for (const old of open()) {
      if (keys.has(old.id + " " + old.dataset.revision)) continue;
      if (!all && !begun(old)) {
        old.remove(); // it waits still, below the newest
      } else if (!old.dataset.ending) {
        old.dataset.ending = "yes";
        end(old, "No longer waiting");
      }
    }
    cards.querySelector(".count")?.replaceWith(fresh.querySelector(".count"));
    let place = cards.querySelector(".count");
    for (const card of [...fresh.querySelectorAll(".card")]) {
      let here = document.getElementById(card.id);
      if (here?.classList.contains("over")) {
        if (here.dataset.revision === card.dataset.revision) continue; // this list is older than its end
        here.remove();
        here = null;
      }
      if (!here) {
        place.after(card);
        restore(card);
        watch(card);
        here = card;
      } else {
        const gone = card.querySelector(".where");
        here.querySelector(".where").replaceWith(gone);
      }
      place = here;
    }
    count();
    signAll();
  }

  let busy = false, again = false, timer = 0;
  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const also = open().filter(begun).map((c) => c.id);
      const reply = await fetch("/cards" + (also.length ? "?also=" + also.join(",") : ""));
      if (reply.status === 401 || reply.status === 403) { location.reload(); return; }
      if (reply.ok) {
        const html = await reply.text();
        rearrange(() => show(html));
      }
    } catch { /* the stream says so */ }
    busy = false;
    if (again) { again = false; refreshSoon(); }
  }
  function refreshSoon() {
    clearTimeout(timer);
    timer = setTimeout(refresh, 50);
  }

  // Whether this browser is told of questions: its user has allowed it, and has
  // not stopped it here.
  const told = "acp-bridge told";
  function wanted() {
    if (!("Notification" in window) || Notification.permission !== "granted") return false;
    try { return localStorage.getItem(told) !== "no"; } catch { return true; }
  }
  function want(yes) {
    try { localStorage.setItem(told, yes ? "yes" : "no"); } catch { /* not allowed */ }
  }

  // Pushes come when the page is closed, too. Without them, because the browser
  // has no service for it or the hub no https, the page itself notifies.
  let pushed = false;
  async function subscribe() {
    if (!("serviceWorker" in navigator) || !("PushManager" in window)) return;
    try {
      const worker = await navigator.serviceWorker.register("/worker.js");
      for (const n of await worker.getNotifications()) n.close(); // they are seen now
      const { key } = await (await fetch("/push")).json();
      const bytes = Uint8Array.from(atob(key.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
      const wanted = { userVisibleOnly: true, applicationServerKey: bytes };
      let mine;
      try {
        mine = await worker.pushManager.subscribe(wanted);
      } catch (problem) { // it was for another hub's key
        const old = await worker.pushManager.getSubscription();
        if (!old) throw problem;
        await old.unsubscribe();
        mine = await worker.pushManager.subscribe(wanted);
      }
      const reply = await fetch("/push", { method: "POST", body: JSON.stringify(mine), headers: headers({ "Content-Type": "application/json" }) });
      pushed = reply.ok;
    } catch { /* not on this device */ }
  }

  // Both sides forget the subscription. Where only one can be told, pushes end, too.
  async function unsubscribe() {
    const worker = await navigator.serviceWorker?.getRegistration();
    const mine = await worker?.pushManager?.getSubscription();
    pushed = false;
    if (!mine) return true;
    const reply = await fetch("/push", { method: "DELETE", body: JSON.stringify(mine), headers: headers({ "Content-Type": "application/json" }) }).catch(() => null);
    const ended = await mine.unsubscribe().catch(() => false);
    return Boolean(reply?.ok || ended);
  }

  function notify() {
    if (pushed || !wanted() || !document.hidden) return;
    try { new Notification("A question waits for you", { tag: "acp-bridge" }); } catch { /* not on this device */ }
  }

  let source, retry = 1000;
  function listen() {
    source = new EventSource("/events");
    source.onopen = () => { retry = 1000; tell(link, ""); refreshSoon(); };
    source.onerror = () => {
      tell(link, "The hub cannot be reached. Trying again.");
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(() => { refresh(); listen(); }, retry);
      retry = Math.min(retry * 2, 15000);
    };
    source.addEventListener("state_change", (event) => {
      const c = JSON.parse(event.data);
      const card = find(c.card);
      if (c.outcome && card) end(card, ended(c));
      if (c.undelivered) tell(news, ended(c) + ", but it could not be delivered: " + c.undelivered);
      if (!c.outcome && !card) notify();
      refreshSoon();
    });
  }

  document.addEventListener("click", (event) => {
    const card = event.target.closest(".card");
    if (event.detail === 0 || !(event.timeStamp - placed.get(card) < settling)) return; // by key, or it was there
    event.preventDefault();
    event.stopPropagation();
    news.textContent = "The page has just moved. Click again.";
  }, true);
  document.addEventListener("pointermove", (event) => { pointed = event.timeStamp; });
  document.addEventListener("submit", submit);
  document.getElementById("logout").addEventListener("submit", (event) => {
    event.target.elements.page.value = secret();
    forgetAll();
  });
  document.addEventListener("input", (event) => {
    const card = event.target.closest(".card");
    if (!card?.querySelector("form.answer")) return;
    if (event.target.matches("[data-other]") && event.target.value) {
      event.target.closest(".option").querySelector("input").checked = true;
    }
    keep(card);
  });
  document.addEventListener("change", (event) => {
    if (event.target.value === "other" && event.target.checked) {
      event.target.closest(".option").querySelector("textarea")?.focus();
    }
  });

  const asking = document.getElementById("ask-notify");
  const asker = asking.querySelector("button");
  function showAsking() {
    asking.hidden = !("Notification" in window) || Notification.permission === "denied";
    asker.textContent = wanted() ? "Stop telling me of questions" : "Tell me when there is a question";
  }
  async function toggle() {
    if (wanted()) {
      const stopped = await unsubscribe();
      want(!stopped);
      return stopped ? "You are no longer told of questions." : "That could not be stopped. Try again.";
    }
    if (await Notification.requestPermission() !== "granted") return "This browser does not let the page tell you.";
    want(true);
    await subscribe();
    return pushed ? "You are told of questions, also when this page is closed." : "You are told of questions while this page is open.";
  }
  let toggling = false;
  asker.onclick = async () => {
    if (toggling) return;
    toggling = true;
    const said = await toggle();
    toggling = false;
    rearrange(() => { showAsking(); news.textContent = said; });
  };
  showAsking();
  if (wanted()) subscribe();
  // After the browser has filled in what it remembers of another page.
  addEventListener("pageshow", () => { open().forEach(restore); signAll(); });
  open().forEach(restore);
  open().forEach(watch);
  count();
  signAll();
  listen();
})();
