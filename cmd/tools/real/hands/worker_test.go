package hands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// The page's worker is let in by the page's own rules, and is there for all of
// the hub.
func TestPageHasAWorker(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 400, false)
	p.eval(`navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready).then(() => 0)`)
	require.Equal(t, "true", p.eval(`navigator.serviceWorker.ready.then((r) => r.scope === location.origin + "/" && r.active.state !== "redundant")`))
}

// worker is the page's worker, as something to run scripts in.
func (p *tab) worker(origin string) *tab {
	p.t.Helper()
	p.eval(`navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready).then(() => 0)`)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var all struct {
			TargetInfos []struct{ TargetID, Type, URL string }
		}
		p.chromium.call("", "Target.getTargets", nil, &all)
		for _, one := range all.TargetInfos {
			if one.Type == "service_worker" && strings.HasPrefix(one.URL, origin) {
				var attached struct{ SessionID string }
				p.chromium.call("", "Target.attachToTarget", map[string]any{"targetId": one.TargetID, "flatten": true}, &attached)
				return &tab{chromium: p.chromium, session: attached.SessionID}
			}
		}
	}
	require.Fail(p.t, "there is no worker")
	return nil
}

// A push shows what it decides, with buttons; one tap on one of them is the answer, and
// the notification says that it was sent, or why not.
func TestPageAnswersByAPush(t *testing.T) {
	b, service := newChromium(t), newPushService(t)
	s := newSite(t, hub.Options{}).with(web.Options{URL: "https://hub.example", PushClient: service.Client()})
	p := s.visit(b, 400, false)
	b.call("", "Browser.setPermission", map[string]any{"browserContextId": b.context, "origin": s.url, "permission": map[string]any{"name": "notifications"}, "setting": "granted"}, nil)
	push := newBrowser(t, service.URL+"/b")
	secret := p.eval(`localStorage.getItem("acp-bridge page")`)
	require.NoError(t, json.Unmarshal([]byte(secret), &secret))
	as := []string{"Authorization", "", "Cookie", p.cookies(s.url), "Origin", s.url, "Acp-Bridge-Page", secret}
	s.expect(200, "GET", "/push", "", as...)
	s.expect(200, "POST", "/push", push.wanting(`["question","text"]`), as...)
	r := s.permit("c", "Bash", "execute", "Bash", map[string]any{"command": "npm test"})
	s.server.Push(t.Context(), r, "abc", web.PushQuestion, false)
	said, err := json.Marshal(push.open(<-service.got))
	require.NoError(t, err)

	w := p.worker(s.url)
	shown := func() string {
		return w.eval(`self.registration.getNotifications().then((l) => l.map((n) => [n.title, n.body, ...(n.actions ?? []).map((a) => a.title)]))`)
	}
	w.granted()
	w.happens(`new PushEvent("push", { data: ` + string(quoted(string(said))) + ` })`)
	require.JSONEq(t, `[["Claude Code wants to run a command · orders-service","npm test","Allow","Reject"]]`, shown())
	w.happens(`new NotificationEvent("notificationclick", { notification: (await self.registration.getNotifications())[0], action: "0" })`)
	require.Equal(t, []string{"Allow"}, s.answered(r)[0].Selected)
	require.JSONEq(t, `[["Sent: Allow",""]]`, shown())

	// The same one again, as from a phone that was asleep.
	w.happens(`new PushEvent("push", { data: ` + string(quoted(string(said))) + ` })`)
	require.Contains(t, shown(), "npm test")
	w.happens(`new NotificationEvent("notificationclick", { notification: (await self.registration.getNotifications())[0], action: "2" })`)
	require.Regexp(t, `^\[\["Not sent: Reject",".*answered.*"\]\]$`, shown())

	// What another replies in the hub's place says nothing.
	for _, reply := range []string{`"<html>Log in to this network", { status: 200 }`, `"", { status: 200 }`, `"{}", { status: 200 }`, `"", { status: 502 }`} {
		w.eval(`self.fetch = async () => new Response(` + reply + `); 0`)
		w.happens(`new PushEvent("push", { data: ` + string(quoted(string(said))) + ` })`)
		w.happens(`new NotificationEvent("notificationclick", { notification: (await self.registration.getNotifications())[0], action: "0" })`)
		require.JSONEq(t, `[["Not sent: Allow","The hub cannot be reached. Open it to answer."]]`, shown(), reply)
	}
}

// granted waits until a worker may show something, which it may learn late.
func (p *tab) granted() {
	p.t.Helper()
	for end := time.Now().Add(patience); p.eval(`Notification.permission === "granted"`) != "true"; time.Sleep(20 * time.Millisecond) {
		require.True(p.t, time.Now().Before(end))
	}
}

// happens dispatches an event in a worker and waits for what comes of it. To ask for
// the notifications before that is to lose some: Chromium forgets those that it has
// noted and does not show yet.
func (p *tab) happens(event string) {
	p.t.Helper()
	p.eval(`(async () => {
		const event = ` + event + `;
		let done;
		event.waitUntil = (promise) => { done = promise; };
		self.dispatchEvent(event);
		await done;
		return 0;
	})()`)
}

// That a turn has ended is no notification for somebody who looks at the page, which says
// it itself.
func TestPageInViewNeedsNoPushOfATurn(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 400, false)
	b.call("", "Browser.setPermission", map[string]any{"browserContextId": b.context, "origin": s.url, "permission": map[string]any{"name": "notifications"}, "setting": "granted"}, nil)
	w := p.worker(s.url)
	w.granted()
	push := func(said string) string {
		w.happens(`new PushEvent("push", { data: ` + string(quoted(said)) + ` })`)
		return w.eval(`self.registration.getNotifications().then((l) => l.map((n) => n.body))`)
	}
	w.eval(`{ const get = ServiceWorkerRegistration.prototype.getNotifications; self.looked = 0; ServiceWorkerRegistration.prototype.getNotifications = function (...what) { self.looked++; return get.apply(this, what); }; }; 0`)
	require.JSONEq(t, `[]`, push(`{"id":"t","text":"goose is done.","turn":true}`))
	require.Equal(t, "1", w.eval(`self.looked`), "by this test alone: whoever looks may lose what is not shown yet")
	require.JSONEq(t, `["A question is waiting for you."]`, push(`{"id":"q","text":"A question is waiting for you."}`))
	for end := time.Now().Add(patience); p.eval(`document.body.innerText.includes("goose is done")`) != "true"; time.Sleep(20 * time.Millisecond) { // it is told to those who are there
		require.True(t, time.Now().Before(end))
		s.expect(200, "POST", "/conversations/c1/turn", `{"event":"done","agent":"goose"}`)
	}
}

func quoted(s string) []byte {
	data, _ := json.Marshal(s) // a string always encodes
	return data
}

// cookies are those that the browser sends to an address.
func (p *tab) cookies(address string) string {
	var got struct {
		Cookies []struct{ Name, Value string }
	}
	p.chromium.call(p.session, "Network.getCookies", map[string]any{"urls": []string{address}}, &got)
	var list []string
	for _, c := range got.Cookies {
		list = append(list, c.Name+"="+c.Value)
	}
	return strings.Join(list, "; ")
}
