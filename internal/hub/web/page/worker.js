// Shows what the hub pushes. A push has no text of a question unless the hub was
// started with --notify-text.
"use strict";
self.addEventListener("push", (event) => {
  let said = {};
  try { said = event.data.json(); } catch { /* shown as a question */ }
  // A browser wants something to be shown for every push: what is over takes the
  // place of what was shown, without a sound.
  event.waitUntil(self.registration.showNotification(said.over ? "No longer waiting" : "acp-bridge", {
    body: said.text ?? "A question waits for you.", tag: said.id ?? "acp-bridge", silent: Boolean(said.over), icon: "/icon-192.png", data: { card: said.over ? "" : said.card ?? "" },
  }));
});
// A push opens its card.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const card = event.notification.data?.card;
  const where = "/" + (/^q[0-9a-f]+$/.test(card ?? "") ? "#" + card : "");
  event.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find((p) => new URL(p.url).pathname === "/");
    if (!page) return self.clients.openWindow(where);
    await page.focus();
    page.postMessage({ card });
  })());
});
