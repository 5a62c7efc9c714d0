package hands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func (s *site) askIn(agent, dir, conversation, id, text string) *hub.Record {
	s.t.Helper()
	return s.post(hub.Asking{Conversation: conversation, Agent: agent, Machine: "laptop", Dir: dir, Dialect: "bridge",
		About: about.About{Title: "About " + conversation}, Call: convert.Call{ID: id, Questions: []convert.Question{{Text: text}}}})
}

// A long title is all there on its conversation's page and on cards, on any screen, and
// makes none wider. History is all there, a page at a time.
func TestLongTitlesAndPastCards(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	title := strings.Repeat("Move the sessions of the orders service to Redis without a break ", 2) + "und_ein_Wort_ohne_Ende_das_nirgends_bricht THE END"
	long := func(a *hub.Asking) { a.Title = title }
	for i := range 101 {
		r := s.permit("c1", "Bash", "execute", "Bash", map[string]any{"command": fmt.Sprint("make ", i)}, func(a *hub.Asking) { a.Call.ID += fmt.Sprint(i) }, long)
		_, err := s.board.Cancel(t.Context(), r.Ref(), "phone")
		require.NoError(t, err)
	}
	s.permit("c1", "Bash", "execute", "Bash", map[string]any{"command": "make all"}, long)
	for _, width := range []int{320, 390, 1280} {
		p := s.visit(b, width, width == 390)
		fits := func(what string) {
			t.Helper()
			require.Equal(t, "true", p.eval(`document.documentElement.scrollWidth <= innerWidth`), "%s is wider than %d", what, width)
			require.JSONEq(t, `[]`, p.eval(`[...document.querySelectorAll("h1, h2, h3, .where a, .lane-name *")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow === "hidden" && !e.classList.contains("hidden")).map((e) => e.innerText)`), "%s cuts something at %d", what, width)
			p.shot(fmt.Sprintf("title-%s-%d", what, width))
		}
		p.until(`document.querySelector(".card .where a")`)
		fits("card")
		p.open(s.url + "/conversations/c1")
		p.until(`document.querySelector("main h1")?.innerText.endsWith("THE END")`)
		fits("conversation")
		p.open(s.url + "/history")
		p.until(`document.querySelectorAll(".past").length === 100 && document.querySelector(".past .by").innerText.includes("orders-service")`)
		fits("history")
		p.click(".pages a")
		p.until(`document.querySelectorAll(".past").length === 1 && document.body.innerText.includes("make 0") && !document.querySelector(".pages a")`)
	}
}

// In the browser: filter, next page, put aside, keys.
func TestPageFiltersAndKeys(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: time.Hour})
	for i := range 310 {
		s.askIn(fmt.Sprint("Agent", i%2), "/src/p", fmt.Sprint("c", i), "q", fmt.Sprintf("Question %d.", i))
	}
	p := s.visit(b, 1100, false)
	p.until(`document.querySelectorAll(".row").length === 300 && document.querySelector(".pages span").innerText.includes("1 to 300 of 310")`)
	p.click(".pages button")
	p.until(`document.querySelectorAll(".card").length === 10 && document.querySelector(".pages span").innerText.includes("301 to 310 of 310")`)
	p.click("#filter-button")
	p.click("#filter input[type=search]")
	p.words("question 309.")
	p.until(`document.querySelectorAll(".card").length === 1 && location.search.includes("q=question")`)
	p.shot("filter")
	p.eval(`document.querySelector("#filter input[type=search]").value = ""; document.querySelector("#filter").requestSubmit(); document.activeElement.blur()`)
	p.until(`document.querySelectorAll(".card").length === 300`)
	p.letter("j")
	p.letter("j")
	require.Equal(t, "1", p.eval(`[...document.querySelectorAll(".card")].indexOf(document.activeElement)`))
	p.letter("n")
	p.until(`document.querySelector("#aside")?.innerText === "Show 1 put aside" && document.querySelector(".bar .count").innerText === "310 waiting"`)
	p.letter("?")
	p.until(`document.querySelector("dialog[open]")`)
	p.shot("keys")
}
