package hands_test

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// axe runs axe-core, whose file ACP_BRIDGE_AXE names, on the page as it is.
func (p *tab) axe(what string) {
	p.t.Helper()
	source, err := os.ReadFile(os.Getenv("ACP_BRIDGE_AXE"))
	require.NoError(p.t, err)
	p.eval(string(source) + "; 0")
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	p.reads(`axe.run(document).then(r => r.violations)`, &violations)
	for _, v := range violations {
		for _, n := range v.Nodes {
			p.t.Errorf("%s: %s (%s)\n%s\n%s", what, v.Help, v.ID, n.HTML, n.FailureSummary)
		}
	}
}

// TestPageIsAccessible checks every page with axe-core, on a phone and on a desk,
// in the light and in the dark.
func TestPageIsAccessible(t *testing.T) {
	b := newChromium(t)
	if os.Getenv("ACP_BRIDGE_AXE") == "" {
		t.Skip("ACP_BRIDGE_AXE does not name axe-core's file")
	}
	s := newSite(t, hub.Options{})
	login := b.newTab(360, false)
	login.open(s.url + "/login")
	login.axe("login")
	s.ask("c0", db)
	_, err := s.board.Cancel(t.Context(), hub.Ref{Conversation: "c0"}, "phone")
	require.NoError(t, err)
	for i, width := range []int{360, 1440} {
		dark := i == 1
		what := fmt.Sprintf("%d pixels, dark %t", width, dark)
		p := s.visit(b, width, dark)
		p.axe("nothing waits, " + what)
		r := s.ask(fmt.Sprint("c", i+1), db, extras, free)
		p.until(`document.querySelector(".card")`)
		p.eval(`document.querySelector("details").open = true`)
		p.axe("questions, " + what)
		p.click(`button[value=answer]`)
		p.until(`!document.querySelector(".card .problem").hidden`)
		p.axe("something is missing, " + what)
		_, err := s.board.Cancel(t.Context(), hub.Ref{Conversation: r.Conversation}, web.Owner)
		require.NoError(t, err)
		p.until(`document.querySelector(".card.over")`)
		p.axe("it was cancelled, " + what)
		p.open(s.url + "/history?" + url.Values{"q": {"database"}}.Encode())
		p.until(`document.querySelector(".past")`)
		p.axe("history, " + what)
	}
}
