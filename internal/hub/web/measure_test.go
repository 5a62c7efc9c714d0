package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// TestPageMeasured measures the page as a phone has it, on a CPU that is four times
// slower, with ten cards, with ACP_BRIDGE_MANY of them and with a diff of 200 kB. What it
// finds is logged; a machine with others on it says little.
func TestPageMeasured(t *testing.T) {
	many, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_MANY"))
	if err != nil {
		t.Skip("ACP_BRIDGE_MANY does not say with how many")
	}
	b := newChromium(t)
	number := func(p *tab, script string) (n float64) {
		require.NoError(t, json.Unmarshal([]byte(p.eval(script)), &n), script)
		return n
	}
	// Modules have run when the page says that its content is there. Beside the clock, which
	// counts what else the machine does, is the time that the page's own thread has used.
	open := func(what string, s *site) *tab {
		p := s.visit(b, 390, false)
		p.call("Performance.enable", map[string]any{"timeDomain": "threadTicks"})
		p.open(s.url + "/?again")
		p.until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd`)
		used := p.metrics()
		p.call("Emulation.setCPUThrottlingRate", map[string]any{"rate": 4})
		p.open(s.url + "/?throttled")
		p.until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd`)
		n := `performance.getEntriesByType("navigation")[0]`
		t.Logf("%s: four times %.0f ms of CPU until it was loaded and drawn, %.0f of them scripts, %.0f layout and style; by the clock, throttled, interactive after %.0f ms; %.1f MB of heap", what,
			used["TaskDuration"]*1000, used["ScriptDuration"]*1000, (used["LayoutDuration"]+used["RecalcStyleDuration"])*1000,
			number(p, n+`.domContentLoadedEventEnd`), number(p, `performance.memory.usedJSHeapSize`)/1e6)
		return p
	}
	ask := func(s *site, n int) {
		for i := range n {
			_, err := s.board.Ask(t.Context(), hub.Asking{Device: fmt.Sprint("bot", i%4), Conversation: fmt.Sprint("c", i), Agent: "Claude Code", Dir: fmt.Sprint("/src/p", i%20), Dialect: "bridge",
				Call: convert.Call{ID: fmt.Sprint("toolu_", i), Questions: []convert.Question{{Text: fmt.Sprint("Which database for service number ", i, "?"), Options: db.Options}}}})
			require.NoError(t, err)
		}
	}
	ten := newSite(t, hub.Options{})
	ask(ten, 10)
	ten.compared(b)
	open("10 cards", ten)

	lots := newSite(t, hub.Options{})
	ask(lots, many)
	p := open(fmt.Sprint(many, " waiting"), lots)
	p.eval(`document.getElementById("filter-button").click(); 0`)
	took := number(p, fmt.Sprintf(`new Promise((done) => { const begin = performance.now(); const f = document.querySelector("#filter input[type=search]"); f.value = "number %d?"; f.dispatchEvent(new Event("input", { bubbles: true })); const look = () => { if (document.querySelectorAll(".card").length === 1) done(performance.now() - begin); else setTimeout(look, 5); }; look(); })`, many-1))
	t.Logf("a search finds one of them in %.0f ms, 250 of which it waits for the next letter", took)

	large := newSite(t, hub.Options{})
	large.permit("c1", "Edit", "edit", "Edit a", map[string]any{"file_path": "/a", "old_string": strings.Repeat("an old line of the file, which goes\n", 2700), "new_string": strings.Repeat("a new line of the file, which comes\n", 2700)})
	p = open("a diff of 200 kB, folded", large)
	took = number(p, `new Promise((done) => { const begin = performance.now(); document.querySelector(".unfold").click(); const look = () => { if (document.querySelector(".thing .end")) requestAnimationFrame(() => done(performance.now() - begin)); else setTimeout(look, 5); }; look(); })`)
	t.Logf("all of it is drawn in %.0f ms", took)
}

// compared holds the page beside one with a button and nothing else: by the time that the
// thread of each has used, and by the clock, throttled, until it is drawn and its scripts
// have run. It takes the least of some, in turns, since the machine is never quiet.
func (s *site) compared(b *chromium) {
	nothing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin") // which has each page begin in a process of its own
		_, _ = io.WriteString(w, `<!DOCTYPE html><title>Nothing</title><p class="card"><button>Nothing</button>`)
	}))
	defer nothing.Close()
	p, empty := s.visit(b, 390, false), b.newTab(390, false)
	least := map[*tab]map[string]float64{p: {}, empty: {}}
	for i := range 9 {
		for tab, url := range map[*tab]string{p: s.url, empty: nothing.URL} {
			tab.call("Emulation.setCPUThrottlingRate", map[string]any{"rate": 1})
			tab.open("about:blank") // what the page before does is not counted
			tab.call("Performance.disable", nil)
			tab.call("Performance.enable", map[string]any{"timeDomain": "threadTicks"})
			tab.drawn(fmt.Sprint(url, "/?", i))
			tab.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
			used := tab.metrics()
			tab.open("about:blank")
			tab.call("Emulation.setCPUThrottlingRate", map[string]any{"rate": 4})
			used["Interactive"] = tab.drawn(fmt.Sprint(url, "/?throttled", i)) / 1000
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
func (p *tab) drawn(url string) (ms float64) {
	p.t.Helper()
	p.open(url)
	p.until(`document.querySelector(".card") && performance.getEntriesByType("navigation")[0].loadEventEnd && performance.getEntriesByType("paint").length`)
	require.NoError(p.t, json.Unmarshal([]byte(p.eval(`Math.max(performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd, performance.getEntriesByType("paint")[0].startTime)`)), &ms))
	return ms
}

// metrics are what the browser counts of a page.
func (p *tab) metrics() map[string]float64 {
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.chromium.call(p.session, "Performance.getMetrics", nil, &r)
	all := map[string]float64{}
	for _, m := range r.Metrics {
		all[m.Name] = m.Value
	}
	return all
}
