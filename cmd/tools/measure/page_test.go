//go:build unix

package measure_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// TestPageMeasured measures the page as a phone has it, on a CPU that is four times
// slower, with ten cards, with ACP_BRIDGE_MANY of them and with a diff of 200 kB. What it
// finds is logged; a machine with others on it says little.
func TestPageMeasured(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_MANY") == "" {
		t.Skip("ACP_BRIDGE_MANY does not say with how many")
	}
	many := many(0)
	number := browser.Eval[float64]
	// Modules have run when the page says that its content is there. Beside the clock, which
	// counts what else the machine does, is the time that the page's own thread has used.
	open := func(what string, s site) *browser.Page {
		p := browser.Open(t, s.Site)
		counts(p)
		p.Do(chromedp.Navigate(s.URL + "/?again"))
		p.Until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd`)
		used := metrics(p)
		slowed(p, 4)
		p.Do(chromedp.Navigate(s.URL + "/?throttled"))
		p.Until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd`)
		n := `performance.getEntriesByType("navigation")[0]`
		t.Logf("%s: four times %.0f ms of CPU until it was loaded and drawn, %.0f of them scripts, %.0f layout and style; by the clock, throttled, interactive after %.0f ms; %.1f MB of heap", what,
			used["TaskDuration"]*1000, used["ScriptDuration"]*1000, (used["LayoutDuration"]+used["RecalcStyleDuration"])*1000,
			number(p, n+`.domContentLoadedEventEnd`), number(p, `performance.memory.usedJSHeapSize`)/1e6)
		return p
	}
	ask := func(s site, n int) {
		for i := range n {
			_, err := s.Board.Ask(t.Context(), hub.Asking{Device: fmt.Sprint("bot", i%4), Conversation: fmt.Sprint("c", i), Agent: "Claude Code", Dir: fmt.Sprint("/src/p", i%20), Dialect: "bridge",
				Call: convert.Call{ID: fmt.Sprint("toolu_", i), Questions: []convert.Question{{Text: fmt.Sprint("Which database for service number ", i, "?"), Options: db.Options}}}})
			require.NoError(t, err)
		}
	}
	ten := newSite(t)
	ask(ten, 10)
	ten.compared(t)
	open("10 cards", ten)

	lots := newSite(t)
	ask(lots, many)
	p := open(fmt.Sprint(many, " waiting"), lots)
	number(p, `document.getElementById("filter-button").click(); 0`)
	took := number(p, fmt.Sprintf(`new Promise((done) => { const begin = performance.now(); const f = document.querySelector("#filter input[type=search]"); f.value = "number %d?"; f.dispatchEvent(new Event("input", { bubbles: true })); const look = () => { if (document.querySelectorAll(".card").length === 1) done(performance.now() - begin); else setTimeout(look, 5); }; look(); })`, many-1))
	t.Logf("a search finds one of them in %.0f ms, 250 of which it waits for the next letter", took)

	large := newSite(t)
	detail, err := json.Marshal(map[string]any{"file_path": "/a", "old_string": strings.Repeat("an old line of the file, which goes\n", 2700), "new_string": strings.Repeat("a new line of the file, which comes\n", 2700)})
	require.NoError(t, err)
	_, err = large.Board.Ask(t.Context(), hub.Asking{Conversation: "c1", Kind: "permission", Agent: "Claude Code", Dialect: "bridge", Detail: string(detail),
		About: about.About{Tool: about.Tool{Kind: "edit", Picks: []string{"allow_once", "reject_once"}}},
		Call:  convert.Call{ID: "toolu_c1", Name: "Edit", Questions: []convert.Question{{Text: "Edit a", Closed: true, Options: []convert.Option{{Label: "Allow"}, {Label: "Reject"}}}}}})
	require.NoError(t, err)
	p = open("a diff of 200 kB, folded", large)
	took = number(p, `new Promise((done) => { const begin = performance.now(); document.querySelector(".unfold").click(); const look = () => { if (document.querySelector(".thing .end")) requestAnimationFrame(() => done(performance.now() - begin)); else setTimeout(look, 5); }; look(); })`)
	t.Logf("all of it is drawn in %.0f ms", took)
}

// compared holds the page beside one with a button and nothing else: by the time that the
// thread of each has used, and by the clock, throttled, until it is drawn and its scripts
// have run. It takes the least of some, in turns, since the machine is never quiet.
func (s site) compared(t *testing.T) {
	nothing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin") // which has each page begin in a process of its own
		_, _ = io.WriteString(w, `<!DOCTYPE html><title>Nothing</title><p class="card"><button>Nothing</button>`)
	}))
	defer nothing.Close()
	p, empty := browser.Open(t, s.Site), browser.New(t)
	least := map[*browser.Page]map[string]float64{p: {}, empty: {}}
	for i := range 9 {
		for tab, url := range map[*browser.Page]string{p: s.URL, empty: nothing.URL} {
			slowed(tab, 1)
			tab.Do(chromedp.Navigate("about:blank")) // what the page before does is not counted
			browser.Call(tab, performance.Disable, cdp.Empty{})
			counts(tab)
			drawn(tab, fmt.Sprint(url, "/?", i))
			browser.Eval[float64](tab, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
			used := metrics(tab)
			tab.Do(chromedp.Navigate("about:blank"))
			slowed(tab, 4)
			used["Interactive"] = drawn(tab, fmt.Sprint(url, "/?throttled", i)) / 1000
			for name, n := range used {
				if old, ok := least[tab][name]; !ok || n < old {
					least[tab][name] = n
				}
			}
		}
	}
	for _, name := range []string{"TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "Interactive"} {
		s.t.Logf("%s: %.1f ms with cards, %.1f ms with nothing", name, 1000*least[p][name], 1000*least[empty][name])
	}
	s.t.Logf("10 cards take %.1f times as much as a page with nothing in it; throttled, they are interactive %.0f ms after it", least[p]["TaskDuration"]/least[empty]["TaskDuration"], 1000*(least[p]["Interactive"]-least[empty]["Interactive"]))
}

// drawn opens a page and returns after how many milliseconds it was drawn and its scripts
// had run.
func drawn(p *browser.Page, url string) (ms float64) {
	p.Do(chromedp.Navigate(url))
	p.Until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd && performance.getEntriesByType("paint").length`)
	return browser.Eval[float64](p, `Math.max(performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd, performance.getEntriesByType("paint")[0].startTime)`)
}

// counts begins to count what the thread of a page uses.
func counts(p *browser.Page) {
	browser.Call(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
}

func slowed(p *browser.Page, rate float64) {
	browser.Call(p, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
}

// metrics are what the browser counts of a page.
func metrics(p *browser.Page) map[string]float64 {
	all := map[string]float64{}
	for _, m := range browser.Call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		all[m.Name] = m.Value
	}
	return all
}
