// Shows what the hub pushes. A push has no text of a question unless its person, or
// who runs the hub, wants it. Its buttons decide only what the push shows all of.
"use strict";
self.addEventListener("push", (event) => {
  let said = {};
  try { said = event.data.json(); } catch {} // shown as a question
  const most = self.Notification?.maxActions ?? 0;
  const actions = said.actions ?? [];
  // Half of a choice is none: then a tap opens the card.
  const buttons = actions.length <= most ? actions : [];
  // A browser wants something to be shown for every push: what is over takes the
  // place of what was shown, without a sound. That a turn has ended is said by the page
  // if somebody looks at it: Chromium, which has buttons, then wants nothing else. What is
  // shown is not asked for here: it forgets what it has noted and does not show yet.
  event.waitUntil((async () => {
    const seen = Boolean(said.turn) && (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).some((page) => page.visibilityState === "visible");
    if (seen && most) return;
    const tag = said.id ?? "acp-bridge", silent = seen || Boolean(said.over);
    await self.registration.showNotification(said.over ? "No longer waiting" : said.title || "acp-bridge", {
      body: said.text ?? "A question is waiting for you.", tag, renotify: !silent, silent, icon: "/icon-192.png",
      actions: buttons.map(({ action, title }) => ({ action, title })), data: { card: said.over ? "" : said.card ?? "", tag: said.id, ref: said.ref, buttons },
    });
  })());
});

// A button is an answer. Whatever becomes of it is said in the place of the question.
async function act({ card, tag, ref, buttons }, action) {
  const button = buttons.find((b) => b.action === action);
  let problem = "The hub cannot be reached.";
  try {
    const reply = await fetch("/act", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...ref, pick: Number(action), token: button.token }) });
    const said = await reply.json();
    problem = said.accepted ? "" : said.error ?? problem; // another may have replied in the hub's place
  } catch {} // said below
  const text = problem ? { title: "Not sent: " + button.title, body: problem + " Open it to answer." } : { title: "Sent: " + button.title, body: "" };
  return self.registration.showNotification(text.title, { body: text.body, tag, silent: !problem, icon: "/icon-192.png", data: { card: problem ? card : "" } });
}

// A push opens its card.
self.addEventListener("notificationclick", (event) => {
  const data = event.notification.data ?? {};
  event.notification.close();
  if (event.action && data.buttons?.some((b) => b.action === event.action)) {
    event.waitUntil(act(data, event.action));
    return;
  }
  const where = "/" + (/^q[0-9a-f]+$/.test(data.card ?? "") ? "#" + data.card : "");
  event.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find((p) => new URL(p.url).pathname === "/");
    if (!page) return self.clients.openWindow(where);
    await page.focus();
    page.postMessage({ card: data.card });
  })());
});
