// What a test knows of a page as a person does: what is in view, and what it means. The
// page's time runs faster by a factor, so that many lives fit into a minute.
{
  let k = SPEED, from = 0, was = 0; // since when it runs so fast, in real time and in the page's
  const now = performance.now.bind(performance), set = setTimeout.bind(window);
  const stamp = Object.getOwnPropertyDescriptor(Event.prototype, "timeStamp").get;
  const paged = (t) => was + (t - from) * k;
  window.runs = (speed) => { const t = now(); [was, from, k] = [paged(t), t, speed]; };
  performance.now = () => paged(now());
  window.setTimeout = (f, ms = 0, ...rest) => set(f, ms / k, ...rest);
  Object.defineProperty(Event.prototype, "timeStamp", { get() { return paged(stamp.call(this)); } });
  const ask = fetch;
  window.sentAt = {}; // revision: when its answer left the page
  window.fetch = (url, o) => {
    if (url === "/answer") { sentAt[o.body.get("revision")] = performance.now(); writes("sent", o.body); }
    return ask(url, o);
  };
  // What happened last, for whoever looks into a life that went wrong.
  window.diary = [];
  const writes = (...what) => { diary.push([Math.round(performance.now()), ...what].join(" ")); if (diary.length > 150) diary.shift(); };

  const revision = (card) => card.dataset.revision.split("-")[0];
  const inView = (e) => { const b = e.getBoundingClientRect(); return b.height > 0 && b.top >= 56 && b.bottom <= innerHeight && b.left >= 0 && b.right <= innerWidth; };
  // The last line of what is permitted was on the screen: at a frame's beginning, or at its
  // end. A slow machine may have drawn no other.
  window.sawEnd = {};
  const saw = new IntersectionObserver((list) => {
    for (const { target, intersectionRatio } of list) if (intersectionRatio > 0.99 && target.isConnected) sawEnd[revision(target.closest(".card"))] = true;
  }, { rootMargin: "-56px 0px 0px 0px", threshold: [0, 1] });
  const look = () => {
    for (const card of document.querySelectorAll(".card.permission:not(.over)")) {
      const last = [...card.querySelectorAll(".thing :is(.l, p)")].findLast((e) => e.textContent.includes("the last line"));
      if (!last) continue;
      saw.observe(last);
      if (inView(last)) sawEnd[revision(card)] = true;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);

  // What a form says on the screen.
  const said = (card) => ({
    picks: [...card.querySelectorAll("input:checked")].map((i) => i.closest("label").querySelector(".label").textContent),
    text: card.querySelector("[name=t0]")?.value.trim() ?? "", note: card.querySelector("[name=n0]")?.value.trim() ?? "",
    plan: card.querySelector("[name=plan]")?.value.trim() ?? "", edited: card.querySelector("[name=plan]")?.value !== card.querySelector("[name=plan]")?.defaultValue,
    fields: card.matches(".form") ? [...card.querySelectorAll(".ask")].map(field) : null,
  });
  const field = (ask) => [...ask.querySelectorAll("input, select, textarea")].map((e) => e.matches("[role=switch]") ? (e.checked ? "Yes" : "No") : e.matches("[type=hidden]") ? "" : e.matches("select") ? e.value && e.selectedOptions[0].textContent :
    e.matches("[type=radio], [type=checkbox]") ? (e.checked ? e.closest("label").textContent.trim() : "") : e.value.trim()).filter(Boolean).join() || "Skip";
  const kinds = { ".option label": "option", ".acts .reject": "open", ".acts [name=a0]": "button", ".acts [value=answer]": "submit", ".acts .decline": "decline", ".dismiss": "dismiss", ".note summary": "open", ".dots": "dots", ".edit summary": "edit", ".edit button": "edited",
    ".reason button": "reason", "textarea, .field": "field", ".undo": "undo", ".now": "now", ".unfold": "unfold", ".thing .l": "text" };
  // What is for several cards.
  const several = { "main .bulk": "list", "#bulk .allow": "all", "#bulk .acts :last-child": "none", ".many .undo": "undo all", ".many .now": "now" };
  function describe(e) {
    const card = e?.closest?.(".card:not(.over)");
    for (const [selector, kind] of card ? [] : Object.entries(several)) {
      const it = e?.closest?.(selector);
      if (it) return { revision: "", kind, label: it.textContent, off: it.matches(":disabled"), list: [...document.querySelectorAll("#bulk li:has(:checked)")].map((li) => li.dataset.as.split("-")[0]) };
    }
    for (const [selector, kind] of card ? Object.entries(kinds) : []) {
      const it = e.closest(selector);
      if (it) return { revision: revision(card), kind, label: (it.querySelector(".label, span") ?? it).textContent.trim(), off: it.matches(":disabled"), ...said(card) };
    }
    return null;
  }
  window.targets = () => [...Object.keys(kinds).map((selector) => `.card:not(.over) :is(${selector})`), ...Object.keys(several)].flatMap((selector) => [...document.querySelectorAll(selector)]).filter((e) => e.checkVisibility() && inView(e)).map((e) => {
    const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
    return { x, y, ...describe(document.elementFromPoint(x, y)) };
  }).filter((t) => t.kind);
  // The state of hands: what has the focus, and what is on its way to be sent.
  window.hands = () => {
    const at = document.activeElement, card = at?.closest(".card:not(.over)");
    return { now: performance.now(), dialog: Boolean(document.querySelector("dialog[open]")), at: card ? { revision: revision(card), kind: "card", label: "", ...said(card), ...describe(at) } : null,
      inView: Boolean(card && inView(at === card ? card.querySelector(".who") : at)),
      options: card ? [...card.querySelectorAll(".option .label")].map((l) => l.textContent) : [],
      pending: [...document.querySelectorAll(".card:not(.over):has(.sending:not([hidden]))")].map(revision) };
  };
  // Whoever meets a link comes back: it is not followed.
  addEventListener("click", (event) => { if (event.target.closest?.("a")) event.preventDefault(); });
  // When hands last touched something, what was there, and how long they took between two touches.
  window.touched = { now: 0, what: null };
  window.slowest = 0;
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, (event) => {
    const t = performance.now();
    slowest = Math.max(slowest, t - touched.now);
    touched = { now: t, what: kind === "pointerdown" ? describe(event.target) : null };
  }, true);
  for (const kind of ["pointerdown", "click", "keydown", "focusin", "toggle"]) addEventListener(kind, (event) => {
    const card = event.target.closest?.(".card"), d = describe(event.target);
    writes(kind, event.key ?? event.detail, Math.round(event.timeStamp), event.target.className || event.target.tagName, card ? card.dataset.revision + " " + card.className : "", d ? d.kind + " " + d.label : "", "| " + document.getElementById("news")?.textContent);
  }, true);
}
