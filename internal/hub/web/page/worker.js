// Shows what the hub pushes. A push has no text of a question unless the hub was
// started with --notify-text.
"use strict";
self.addEventListener("push", (event) => {
  let said = {};
  try { said = event.data.json(); } catch { /* shown as a question */ }
  // A browser wants something to be shown for every push: what is over takes the
  // place of what was shown, without a sound.
  event.waitUntil(self.registration.showNotification(said.over ? "No longer waiting" : "acp-bridge", {
    body: said.text ?? "A question waits for you.", tag: said.id ?? "acp-bridge", silent: Boolean(said.over),
  }));
});
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find((p) => new URL(p.url).pathname === "/");
    return page ? page.focus() : self.clients.openWindow("/");
  })());
});
