// Package browser shows the hub's page in a real Chromium, and does there what people
// do.
package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Page is a tab of a phone.
type Page struct {
	t   *testing.T
	ctx context.Context
}

// Needs skips a test if ACP_BRIDGE_CHROMIUM names no browser, and returns its path.
func Needs(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_CHROMIUM")
	if path == "" {
		t.Skip("SKIPPED: ACP_BRIDGE_CHROMIUM does not name a Chromium")
	}
	return path
}

// New opens an empty page in a browser of its own.
func New(t *testing.T) *Page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Needs(t)), chromedp.NoSandbox, chromedp.WSURLReadTimeout(watchtest.Patience),
		chromedp.Flag("disable-features", "Translate,PreloadTopChromeWebUI,InitialWebUI,WebUIReloadButton,WebUIOmniboxPopup,WebUIOmniboxAimPopup")) // pages of the window itself
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, closed := chromedp.NewContext(allocator)
	t.Cleanup(func() { closed(); stop() })
	p := &Page{t: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile)))     // it starts the browser
	Call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // as if somebody looked at it
	return p
}

// Open logs the owner in at a hub, and waits for its page.
func Open(t *testing.T, s *watchtest.Site) *Page {
	t.Helper()
	p := New(t)
	p.LogIn(s)
	return p
}

// LogIn logs the owner in at a hub, and waits for its page.
func (p *Page) LogIn(s *watchtest.Site) {
	p.t.Helper()
	code, err := s.Access.Code(web.Owner)
	require.NoError(p.t, err)
	p.Do(chromedp.Navigate(s.URL + "/login?code=" + code))
	p.Insist(`document.querySelector("#cards") && document.readyState === "complete"`, func() { p.Click("main button") })
}

// Do does what the driver offers.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, watchtest.Patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// Call makes a call of the browser's protocol.
func Call[P, R any](p *Page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, watchtest.Patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	require.NoError(p.t, err, command.Method)
	return result
}

// Eval runs a script, waits for what it promises, and returns its value.
func Eval[T any](p *Page, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, watchtest.Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, script)
	return value
}

// Try reports whether a script is true, on a page that may be changing under it.
func (p *Page) Try(script string) bool {
	yes, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+script+")"))
	return err == nil && yes
}

// Until waits until a script is true.
func (p *Page) Until(script string) {
	p.t.Helper()
	for end := time.Now().Add(watchtest.Patience); !p.Try(script); time.Sleep(20 * time.Millisecond) { // the page has no other way to tell
		if time.Now().After(end) {
			require.Fail(p.t, "never true: "+script, "%s", Eval[string](p, "document.body.innerText"))
		}
	}
}

// Insist does something until a script is true: a click on what has just moved counts
// for nothing, and a person does it again.
func (p *Page) Insist(script string, do func()) {
	p.t.Helper()
	for range 12 {
		do()
		for range 100 {
			if p.Try(script) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	p.Until(script)
}

// Click clicks the middle of an element, if it is there and enabled.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Until(`document.readyState === "complete" && !document.querySelector(".moved")`)
	at := Eval[*struct{ X, Y float64 }](p, fmt.Sprintf(`(() => { const e = document.querySelector(%q); if (!e || e.matches(":disabled")) return null;
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const b = e.getBoundingClientRect(); return { X: b.x + b.width/2, Y: b.y + b.height/2 }; })()`, selector))
	if at != nil {
		p.Do(chromedp.MouseClickXY(at.X, at.Y))
	}
}

// Type types words where the focus is.
func (p *Page) Type(text string) { Call(p, input.InsertText, input.InsertTextParams{Text: text}) }

// Shot keeps a picture of the page, if ACP_BRIDGE_SCREENSHOTS says where.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("ACP_BRIDGE_SCREENSHOTS")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600))
}
