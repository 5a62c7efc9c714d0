package hands_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// standIn takes the place of the browser's push service, which is not on this
// machine. What it is asked is real.
const standIn = `(() => {
  const key = "acp-bridge test subscription";
  const made = () => ({
    toJSON: () => JSON.parse(localStorage.getItem(key)),
    unsubscribe: async () => { localStorage.removeItem(key); return true; },
  });
  PushManager.prototype.subscribe = async () => { localStorage.setItem(key, %q); return made(); };
  PushManager.prototype.getSubscription = async () => localStorage.getItem(key) ? made() : null;
})();`

// Pushes are asked for with a button and stopped with it, in the browser and at the
// hub, and it stays so when the page is opened again.
func TestPageStopsPushes(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	rec := s.ask("c1", db)
	p := s.visit(b, 400, false)
	b.call("", "Browser.setPermission", map[string]any{"browserContextId": b.context, "origin": s.url, "permission": map[string]any{"name": "notifications"}, "setting": "granted"}, nil)
	p.eval(`localStorage.setItem("acp-bridge told", "no")`)
	p.call("Page.enable", nil)
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": fmt.Sprintf(standIn, newBrowser(t, "https://push.example/x").subscription())})
	const button = "#ask-notify button"
	shows := func(label string) {
		t.Helper()
		p.until(`document.readyState === "complete" && document.querySelector("#menu")`)
		p.eval(`document.querySelector("#menu").open = true; 0`)
		p.until(fmt.Sprintf(`document.readyState === "complete" && document.querySelector(%q)?.textContent === %q && !document.querySelector("#ask-notify").hidden`, button, label))
	}
	hubTells := func(want bool) {
		t.Helper()
		require.Eventually(t, func() bool { return s.server.Pushes(rec, web.PushQuestion) == want }, patience, time.Millisecond)
	}
	subscribed := func(want bool) {
		t.Helper()
		p.until(fmt.Sprintf(`(localStorage.getItem("acp-bridge test subscription") !== null) === %t`, want))
	}
	p.open(s.url + "/?1")
	shows("Notify me about questions")
	subscribed(false) // it was stopped once

	p.click(button)
	shows("Stop notifying me")
	p.until(`document.querySelector("#news").textContent === "Notifications are on, also while this page is closed."`)
	hubTells(true)
	for kind, want := range map[web.PushKind]bool{web.PushQuestion: true, web.PushWaiting: false, "done": false} {
		require.Equal(t, want, s.server.Pushes(rec, kind), kind)
	}
	p.click("#notify-kinds input[value=waiting]")
	p.click("#notify-kinds input[value=done]")
	require.Eventually(t, func() bool { return s.server.Pushes(rec, web.PushWaiting) && s.server.Pushes(rec, "done") }, patience, time.Millisecond)
	// Pushes that go on are not told as off.
	p.eval(`navigator.serviceWorker.getRegistration = async () => ({ pushManager: { getSubscription: async () => ({ unsubscribe: async () => false }) } });
		window.fetch = ((ask) => async (url, o) => { if (o?.method === "DELETE") throw new TypeError("no network"); return ask(url, o); })(fetch); 0`)
	p.click(button)
	p.until(`document.querySelector("#news").textContent === "They could not be turned off. Try again."`)
	shows("Stop notifying me")
	p.open(s.url + "/?2")
	shows("Stop notifying me")
	hubTells(true)
	subscribed(true)
	p.until(`[...document.querySelectorAll("#notify-kinds input:checked")].map((b) => b.value).join() === "waiting,done"`)
	p.shot("menu-told")
	require.Eventually(t, func() bool { return s.server.Pushes(rec, "done") && !s.server.Pushes(rec, "failed") }, patience, time.Millisecond)

	p.tabTo(`document.activeElement === document.querySelector("#ask-notify button")`)
	p.key("Enter")
	shows("Notify me about questions")
	p.until(`document.querySelector("#news").textContent === "Notifications are off."`)
	p.until(`document.activeElement === document.querySelector("#ask-notify button")`)
	hubTells(false)
	subscribed(false)
	p.open(s.url + "/?3")
	shows("Notify me about questions")
	hubTells(false)
	subscribed(false)
}

// A page without pushes notifies of what pushes tell, of each conversation.
func TestPageNotifiesWithoutPushes(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 400, false)
	b.call("", "Browser.setPermission", map[string]any{"browserContextId": b.context, "origin": s.url, "permission": map[string]any{"name": "notifications"}, "setting": "granted"}, nil)
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `delete window.PushManager; window.told = [];
		window.Notification = class { static permission = "granted"; constructor(text, { tag, renotify }) { told.push([text, tag, renotify]); } };
		Object.defineProperty(document, "hidden", { value: true });`})
	p.open(s.url + "/?1")
	p.until(`document.querySelector("#dot:not(.lost)")`)
	tells := func(conversation, event string, want int) {
		t.Helper()
		p.insists(fmt.Sprintf(`told.length >= %d`, want), func() { // the page may not listen yet
			s.expect(200, "POST", "/conversations/"+conversation+"/turn", fmt.Sprintf(`{"event":%q,"agent":"goose"}`, event))
		})
	}
	tells("c1", "waits", 1)
	require.Equal(t, `"goose waits in its terminal"`, p.eval(`told[0][0]`))
	p.eval(`told.length = 0; 0`)
	tells("c1", "done", 0) // nobody has asked for that
	tells("c2", "waits", 1)
	require.NotContains(t, p.eval(`told`), "done")
	tells("c1", "waits", 2)
	require.Equal(t, "true", p.eval(`told.at(-1)[1] !== told[0][1]`), "one takes not the place of the other")

	// A question takes the place of the one before it, and is heard all the same.
	p.eval(`told.length = 0; 0`)
	s.ask("c1", db)
	p.until(`told.length === 1`)
	s.ask("c2", db)
	p.until(`told.length === 2`)
	require.JSONEq(t, `[["acp-bridge", true], ["acp-bridge", true]]`, p.eval(`told.map(([, ...how]) => how)`))
}

// A browser that blocks notifications is told where to allow them, and the button stays.
func TestBlockedNotifications(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	for _, setting := range []string{"denied", "granted"} {
		b.call("", "Browser.setPermission", map[string]any{"browserContextId": b.context, "origin": s.url, "permission": map[string]any{"name": "notifications"}, "setting": setting}, nil)
		p := s.visit(b, 390, false)
		p.eval(`document.getElementById("menu").open = true; 0`)
		p.until(seesAll("#ask-notify button"))
		p.until(fmt.Sprintf(`document.querySelector("#ask-notify .hint").checkVisibility() === %t`, setting == "denied"))
		if setting == "denied" {
			p.until(`document.querySelector("#ask-notify .hint").textContent.includes("Allow them in its settings")`)
		}
	}
}
