package hands_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A receipt is one line, and true: a plan by its title, a script by its first command and
// how much more there is, several answers each by what it answers; in the same words where
// it was said and in every other browser.
func TestReceiptsAreTrue(t *testing.T) {
	t.Parallel()
	b := newChromium(t)
	script := "#!/bin/sh\nset -e\nnpm ci --ignore-scripts\n" + strings.Repeat("echo working\n", 52)
	for name, c := range map[string]struct {
		ask         func(s *site) *hub.Record
		do          func(p *tab)
		mine, other string
	}{
		"script": {func(s *site) *hub.Record {
			return s.permit("c1", "Bash", "execute", "", map[string]any{"command": script})
		}, func(p *tab) { p.click(".acts .reject"); p.click(".reason .reject") },
			"Rejected · npm ci --ignore-scripts +54 lines · you, on this device", "Rejected · npm ci --ignore-scripts +54 lines · by owner"},
		"plan": {func(s *site) *hub.Record {
			return s.permit("c1", "ExitPlanMode", "switch_mode", "", map[string]any{"plan": "# Rename a flag\n\nRename --foo to --bar\n"})
		}, func(p *tab) { p.click(".acts .allow:enabled") },
			"Allowed · Rename a flag · you, on this device", "Allowed · Rename a flag · by owner"},
		"several": {func(s *site) *hub.Record { return s.ask("c1", db, extras) }, func(p *tab) {
			p.click(`input[name=a0][value="1"]`)
			p.click(`input[name=a1][value="0"]`)
			p.click(`input[name=a1][value="2"]`)
			p.click(`button[value=answer]`)
		}, "Database: SQLite · Features: Auth, Mail · you, on this device", "Database: SQLite · Features: Auth, Mail · by owner"},
		"secret": {func(s *site) *hub.Record { return s.ask("c1", convert.Question{Text: "What is the password?"}) }, func(p *tab) {
			p.click(`textarea[name=t0]`)
			p.types("hunter2")
			p.click(`button[value=answer]`)
		}, "(not shown) · What is the password? · you, on this device", "(not shown) · What is the password? · by owner"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, hub.Options{Lease: time.Hour})
			r := c.ask(s)
			one, two := s.visit(b, 390, false), s.visit(b, 390, true)
			for _, p := range []*tab{one, two} {
				p.keepsReceipts()
				p.until(`document.querySelector(".live .card")`)
			}
			c.do(one)
			s.answered(r)
			for p, want := range map[*tab]string{one: c.mine, two: c.other} {
				p.until(`document.querySelector(".receipt > span")`)
				require.JSONEq(t, string(quoted(want)), p.eval(`document.querySelector(".receipt > span").innerText`))
			}
		})
	}
}

// Where nothing is left to dismiss, nothing offers it.
func TestNobodyDismissesNothing(t *testing.T) {
	t.Parallel()
	b, s := newChromium(t), newSite(t, hub.Options{Lease: 50 * time.Millisecond})
	s.ask("c1", db)
	p := s.visit(b, 390, false)
	p.keepsReceipts()
	p.until(`document.querySelector(".dismiss-all button")?.textContent === "Dismiss it"`)
	p.click(".dismiss-all button")
	p.until(`document.querySelector(".dismiss-all button").textContent === "Dismiss it? Its agent is told when it comes back."`)
	p.waits(600) // it is read first
	p.click(".dismiss-all button")
	p.until(`!document.querySelector(".card:not(.over)") && !document.querySelector(".dismiss-all")?.getClientRects().length`)
}
