package hands_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// driven is a real browser, driven over its debugging pipe. All tests of the
// package share one; each has a profile of its own in it.
type driven struct {
	in  *os.File
	end func()

	mu      sync.Mutex
	serial  int
	replies map[int]chan json.RawMessage
	ended   chan struct{}
}

// chromium is a profile in the browser.
type chromium struct {
	*driven
	t        *testing.T
	context  string
	patience time.Duration // with a reply, and with what a page should come to
}

var theBrowser struct {
	sync.Mutex
	*driven
}

// endBrowser ends it when all tests are done.
func endBrowser() {
	if b := theBrowser.driven; b != nil {
		b.end()
	}
}

// newChromium opens a profile in the browser that ACP_BRIDGE_CHROMIUM names.
func newChromium(t *testing.T) *chromium {
	path := os.Getenv("ACP_BRIDGE_CHROMIUM")
	if path == "" {
		t.Skip("ACP_BRIDGE_CHROMIUM does not name a Chromium")
	}
	theBrowser.Lock()
	if theBrowser.driven == nil {
		theBrowser.driven = startBrowser(t, path)
	}
	theBrowser.Unlock()
	return theBrowser.profile(t)
}

// profile opens one in the browser.
func (d *driven) profile(t *testing.T) *chromium {
	b := &chromium{driven: d, t: t, patience: patience}
	var made struct{ BrowserContextID string }
	b.call("", "Target.createBrowserContext", nil, &made)
	b.context = made.BrowserContextID
	t.Cleanup(func() { b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": b.context}, nil) })
	return b
}

// startBrowser starts the program at the path, with a command before it if that says where.
func startBrowser(t *testing.T, path string, in ...string) *driven {
	ours, theirs := pipe(t)
	back, forth := pipe(t)
	dir, err := os.MkdirTemp("", "chromium-")
	require.NoError(t, err)
	args := append(in, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-features=PreloadTopChromeWebUI,InitialWebUI,WebUIReloadButton,WebUIOmniboxPopup,WebUIOmniboxAimPopup", // pages of the window itself were most of the work
		"--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--user-data-dir="+dir, "about:blank")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.ExtraFiles = []*os.File{ours, forth}
	require.NoError(t, cmd.Start())
	ours.Close()
	forth.Close()
	b := &driven{in: theirs, replies: map[int]chan json.RawMessage{}, ended: make(chan struct{})}
	go func() { b.read(back); close(b.ended) }()
	b.end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		theirs.Close()
		back.Close()
		<-b.ended
		_ = os.RemoveAll(dir) // its children may still write
	}
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	return r, w
}

func (b *driven) read(r *os.File) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID int
		}
		if json.Unmarshal(line[:len(line)-1], &m) == nil && m.ID != 0 {
			b.mu.Lock()
			c := b.replies[m.ID]
			delete(b.replies, m.ID)
			b.mu.Unlock()
			c <- line[:len(line)-1]
		}
	}
}

// call makes a call of the browser's protocol; the reply's result goes into v.
func (b *chromium) call(session, method string, params map[string]any, v any) {
	b.t.Helper()
	reply := b.send(session, method, params)
	var r struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	require.NoError(b.t, json.Unmarshal(reply, &r))
	require.Nil(b.t, r.Error, "%s: %s", method, reply)
	if v != nil {
		require.NoError(b.t, json.Unmarshal(r.Result, v))
	}
}

func (b *chromium) send(session, method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	reply, err := b.answer(session, method, params)
	require.NoError(b.t, err)
	return reply
}

// answer waits for the reply to a call: a script may promise what never comes.
func (b *chromium) answer(session, method string, params map[string]any) (json.RawMessage, error) {
	m := map[string]any{"method": method, "params": params}
	if session != "" {
		m["sessionId"] = session
	}
	b.mu.Lock()
	b.serial++
	id, c := b.serial, make(chan json.RawMessage, 1)
	b.replies[id], m["id"] = c, id
	data, err := json.Marshal(m)
	if err == nil {
		_ = b.in.SetWriteDeadline(time.Now().Add(b.patience)) // it may read no more
		_, err = b.in.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case reply := <-c:
		return reply, nil
	case <-b.ended:
		return nil, fmt.Errorf("the browser has ended before its reply to %s", data)
	case <-time.After(b.patience):
		return nil, fmt.Errorf("no reply within %s to %s", b.patience, data)
	}
}

// What a script promises may never come: the wait for it ends, and says what it was for.
func TestAWaitForAScriptEnds(t *testing.T) {
	t.Parallel()
	b := newChromium(t)
	p := b.newTab(390, false)
	b.patience = time.Second
	_, err := b.answer(p.session, "Runtime.evaluate", map[string]any{"expression": `new Promise(() => {})`, "awaitPromise": true})
	b.patience = patience
	require.ErrorContains(t, err, "new Promise")
	require.Equal(t, "2", p.eval(`1 + 1`))
}

// tab is a page in the browser.
type tab struct {
	*chromium
	session string
	twice   bool // its hands are hurried: they click twice
	mute    bool // it runs no scripts of its own, and cannot say what a click has met
}

func (b *chromium) newTab(width int, dark bool) *tab {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": b.context}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{chromium: b, session: attached.SessionID}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
	p.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}) // as if somebody looked at it
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	// What is said stays, so that a test that is slow can read it.
	p.call("Page.enable", nil)
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{ const set = setTimeout.bind(window); window.setTimeout = (f, ms) => ms === 5000 ? 0 : set(f, ms); }`})
	return p
}

func (p *tab) call(method string, params map[string]any) {
	p.t.Helper()
	p.chromium.call(p.session, method, params, nil)
}

func (p *tab) open(url string) {
	p.t.Helper()
	p.eval(`window.left = true`)
	p.call("Page.navigate", map[string]any{"url": url})
	p.until(fmt.Sprintf(`!window.left && location.href.startsWith(%q) && document.readyState === "complete"`, url))
}

// reload opens the same page again, and waits for it.
func (p *tab) reload() {
	p.t.Helper()
	p.eval(`window.left = true`)
	p.call("Page.reload", nil)
	p.until(`!window.left && document.readyState === "complete"`)
}

// eval runs a script and returns its value as JSON.
func (p *tab) eval(script string) string {
	p.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.chromium.call(p.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &r)
	require.Empty(p.t, string(r.ExceptionDetails), script)
	return string(r.Result.Value)
}

// until waits until a script is true.
func (p *tab) until(script string) {
	p.t.Helper()
	for end := time.Now().Add(p.patience); ; {
		if p.try(script) {
			return
		}
		time.Sleep(20 * time.Millisecond) // the page has no other way to tell
		if time.Now().After(end) {
			p.shot("failed")
			p.t.Fatalf("never true: %s\n%s", script, p.eval("document.body.innerText"))
		}
	}
}

// try is eval for a page that may be changing under it.
func (p *tab) try(script string) bool {
	reply := p.send(p.session, "Runtime.evaluate", map[string]any{"expression": "Boolean(" + script + ")", "returnByValue": true})
	var r struct {
		Result struct{ Result struct{ Value any } }
	}
	return json.Unmarshal(reply, &r) == nil && r.Result.Result.Value == true
}

// click clicks the middle of an element with the mouse, once the page has its
// style and stands still. A page may still move between the look and the click: one
// that has met something else is done again, as a person would. A button that is
// disabled takes none.
func (p *tab) click(selector string) {
	p.t.Helper()
	for end := time.Now().Add(p.patience); !p.hits(selector); {
		if time.Now().After(end) {
			p.shot("failed")
			p.t.Fatalf("no click meets %s\n%s", selector, p.eval("document.body.innerText"))
		}
	}
}

// hits clicks once, and reports whether the element got it.
func (p *tab) hits(selector string) bool {
	p.t.Helper()
	p.until(`document.readyState === "complete" && !document.querySelector(".moved") && document.querySelector(` + fmt.Sprintf("%q", selector) + `)`)
	var at *struct {
		X, Y     float64
		Off, Far bool
	}
	script := fmt.Sprintf(`(() => { const e = document.querySelector(%[1]q); if (!e) return null; const far = e.getBoundingClientRect(); e.scrollIntoView({block: "center", behavior: "instant"});
		window.testClick = {e}; document.addEventListener("click", (c) => {
			const met = e.isConnected ? e.contains(c.target) : c.target.closest(%[1]q); // it may have been drawn anew
			if (window.testClick && met && !c.defaultPrevented) window.testClick.hit = true; // else the page says that it has moved
		}, {capture: true, once: true});
		const b = e.getBoundingClientRect(); return {X: b.x + b.width/2, Y: b.y + b.height/2, Off: e.matches(":disabled"), Far: far.top < 0 || far.bottom > innerHeight}; })()`, selector)
	p.reads(script, &at)
	if at == nil {
		return false
	}
	if at.Far {
		// A person looks at what has come into view, for as long as the page needs to see it there.
		p.eval(`new Promise((done) => { setTimeout(done, 2000); requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 250))); })`)
	}
	p.presses(at.X, at.Y, map[bool]int{true: 2, false: 1}[p.twice])
	// Without testClick there is another page: the click has led there.
	return p.mute || at.Off || !p.try(`window.testClick && !testClick.hit && !testClick.e.matches(":disabled")`)
}

// presses presses a place with the pointer, some times in a row.
func (p *tab) presses(x, y float64, times int) {
	p.t.Helper()
	for n := range times {
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": n + 1})
		}
	}
}

// reads reads something of the page.
func (p *tab) reads(script string, v any) {
	p.t.Helper()
	require.NoError(p.t, json.Unmarshal([]byte(p.eval(script)), v))
}

// insists does something until it has come true: a key or a click on what has just moved
// counts for nothing, and a person does it again.
func (p *tab) insists(script string, do func()) {
	p.t.Helper()
	for range 12 {
		do()
		for range 100 {
			if p.try(script) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	p.until(script)
}

func (p *tab) words(text string) { p.call("Input.insertText", map[string]any{"text": text}) }

// key presses one key.
func (p *tab) key(name string) {
	p.t.Helper()
	keys := map[string]struct {
		code int
		text string
	}{"Tab": {9, ""}, " ": {32, " "}, "Enter": {13, "\r"}, "Escape": {27, ""}, "Backspace": {8, ""}, "ArrowDown": {40, ""}}
	k := keys[name]
	params := map[string]any{"type": "keyDown", "key": name, "code": strings.ReplaceAll(name, " ", "Space"), "windowsVirtualKeyCode": k.code}
	if k.text != "" {
		params["text"] = k.text
	}
	p.call("Input.dispatchKeyEvent", params)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": strings.ReplaceAll(name, " ", "Space"), "windowsVirtualKeyCode": k.code})
}

// letter presses a key that writes a letter.
func (p *tab) letter(c string) {
	p.t.Helper()
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": c, "text": c})
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": c})
}

// tabTo presses Tab until a script says that the focus is where it should be.
func (p *tab) tabTo(script string) {
	p.t.Helper()
	for range 60 {
		if p.eval(script) == "true" {
			return
		}
		p.key("Tab")
	}
	p.t.Fatalf("the keyboard does not reach %s", script)
}

// shot keeps a picture of the page, if somebody wants to look at it.
func (p *tab) shot(name string) {
	p.picture(name, map[string]any{"format": "png"})
}

// whole keeps pictures of all of the page, a long screen at a time.
func (p *tab) whole(name string, width int) {
	if os.Getenv("ACP_BRIDGE_SCREENSHOTS") == "" {
		return
	}
	const height = 2000
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	var all int
	p.reads(`document.documentElement.scrollHeight`, &all)
	for i := 0; i*height < all; i++ {
		p.eval(fmt.Sprintf(`scrollTo(0, %d); new Promise((done) => setTimeout(done, 400))`, i*(height-100)))
		p.shot(fmt.Sprintf("%s-%d", name, i))
	}
}

func (p *tab) picture(name string, how map[string]any) {
	dir := os.Getenv("ACP_BRIDGE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	p.chromium.call(p.session, "Page.captureScreenshot", how, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600))
}
