//go:build unix

package pictures_test

import (
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// The README's pictures of the page, from the page:
//
//	ACP_BRIDGE_CHROMIUM=$(command -v chromium) ACP_BRIDGE_SCREENSHOTS=$PWD/.github/pictures go -C cmd/tools test ./pictures -run TestPage
func TestPage(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_SCREENSHOTS") == "" {
		t.Skip("ACP_BRIDGE_SCREENSHOTS does not say where they go")
	}
	s := watchtest.New(t, web.CanAsk)
	for _, c := range []struct{ talk, agent, dir, tool, kind, title, detail, allow, reject string }{
		{"c1", "Claude Code", "/src/orders", "Bash", "execute", "Set up CI", `{"command":"npm ci --ignore-scripts\nnpm test -- --reporter=dot"}`, "Allow", "Reject"},
		{"c2", "Kimi", "/src/web", "Edit", "edit", "Remember me", `{"file_path":"/src/web/src/session.ts","old_string":"const now = Date.now()\nreturn s.issued + 3600 < now","new_string":"const now = Date.now()\nconst life = s.remember ? 30 * DAY : HOUR\nreturn s.issued + life < now"}`, "Allow", "Reject"},
		{"c3", "Codex", "/src/web", "ExitPlanMode", "switch_mode", "Redis", `{"plan":"# Move sessions to Redis\n\n1. Add ` + "`SessionStore`" + ` with the two calls that are used\n2. Write through for a week, read from Postgres\n3. Switch reads, drop the table"}`, "Approve", "Keep planning"},
	} {
		a := hub.Asking{Conversation: c.talk, Agent: c.agent, Machine: "laptop", Dir: c.dir, Dialect: "bridge", Kind: "permission", Detail: c.detail,
			Call: convert.Call{ID: "toolu_" + c.talk, Name: c.tool, Questions: []convert.Question{{Text: c.tool, Closed: true, Options: []convert.Option{{Label: c.allow}, {Label: c.reject}}}}}}
		a.About.Title, a.About.Tool = c.title, about.Tool{Kind: c.kind, Picks: []string{"allow_once", "reject_once"}}
		_, err := s.Board.Ask(t.Context(), a)
		require.NoError(t, err)
	}
	for _, scheme := range []string{"light", "dark"} {
		p := browser.New(t)
		p.Do(chromedp.EmulateViewport(390, 1060, chromedp.EmulateMobile))
		browser.Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		p.LogIn(s)
		p.Until(`document.querySelectorAll(".acts .allow:enabled").length === 3 && document.readyState === "complete"`)
		p.Shot("page-" + scheme)
	}
}
