package hands_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// at is where the first element of a kind begins.
func (p *tab) at(selector string) (top float64) {
	p.t.Helper()
	p.reads(fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().top`, selector), &top)
	return top
}

// The first card is where it will be before a script has run: nobody presses what was
// somewhere else a moment ago.
func TestScriptsMoveNoCard(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	s.ask("c1", db)
	s.permit("c2", "Bash", "execute", "ls", map[string]any{"command": "npm test -- --reporter=dot"})
	p := s.phone(b)
	p.call("Network.enable", nil)
	p.call("Network.setCacheDisabled", map[string]any{"cacheDisabled": true})
	for i, query := range []string{"", "q=database", "agent=Claude+Code"} {
		p.call("Network.setBlockedURLs", map[string]any{"urls": []string{"*.js*"}})
		p.open(fmt.Sprint(s.url, "/?before=", i, "&", query))
		require.Equal(t, "false", p.eval(`document.documentElement.matches(".live")`))
		before := p.at(".card")
		p.call("Network.setBlockedURLs", map[string]any{"urls": []string{}})
		p.open(fmt.Sprint(s.url, "/?after=", i, "&", query))
		p.until(`document.documentElement.matches(".live")`)
		require.InDelta(t, before, p.at(".card"), 0.5, query)
	}
	require.Equal(t, "false", p.eval(`document.getElementById("filter").hidden`))
}

// A card that comes where nobody looks is told by a line that leads there, and moves
// nothing that somebody looks at.
func TestANewCardOutOfView(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	for i := range 4 {
		s.askIn("Claude Code", fmt.Sprint("/src/", i), fmt.Sprint("c", i), "toolu_1", "Question 0.\n\n"+fmt.Sprint(i))
	}
	first := `.lane:first-of-type .card`
	p := s.phone(b)
	p.until(`document.querySelectorAll(".card").length === 4`)
	require.Equal(t, "true", p.eval(`document.getElementById("unseen").hidden`), "what was there is not new")
	at := p.at(first)
	s.ask("c5", db)
	s.ask("c6", db)
	p.until(`document.getElementById("unseen").textContent === "2 new below ↓"`)
	p.until(seesAll("#unseen"))
	require.InDelta(t, at, p.at(first), 0.5)
	p.click("#unseen")
	p.until(seesAll(`.card[data-talk="/conversations/c5"] .who`))
	p.until(`document.activeElement.dataset.talk === "/conversations/c5"`)

	// Another one comes above what is looked at now.
	p.eval(`scrollTo({ top: 1e6, behavior: "instant" }); 0`)
	p.until(`document.getElementById("unseen").hidden`)
	at = p.at(`.card[data-talk="/conversations/c6"]`)
	s.askIn("Claude Code", "/src/0", "c7", "toolu_1", "Question 7.")
	p.until(`document.getElementById("unseen").textContent === "1 new above ↑"`)
	require.InDelta(t, at, p.at(`.card[data-talk="/conversations/c6"]`), 2)
	p.shot("new-above")
	p.click("#unseen")
	p.until(seesAll(`.card[data-talk="/conversations/c7"] .who`))
	p.until(`document.getElementById("unseen").hidden`)
}

// One that comes where the list does not reach, because it is on another page or the filter
// wants others, is one step away, too.
func TestANewCardOnAnotherPage(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{})
	for i := range 301 {
		s.ask(fmt.Sprint("c", i), db)
	}
	p := s.phone(b)
	p.until(`document.querySelectorAll(".card").length === 300`)
	require.Equal(t, "true", p.eval(`document.getElementById("unseen").hidden`))
	s.askIn("Kimi", "/src/kimi", "new", "toolu_1", "Is it seen?")
	p.until(`document.getElementById("unseen").textContent === "1 new, not in this list →"`)
	p.until(`document.querySelector(".count").textContent === "302 waiting"`)
	p.click("#unseen")
	p.until(seesAll(`.card[data-talk="/conversations/new"] .who`))
	p.until(`document.activeElement.dataset.talk === "/conversations/new" && document.getElementById("unseen").hidden`)
	require.Equal(t, "301", p.eval(`document.querySelectorAll(".card").length`))
}
