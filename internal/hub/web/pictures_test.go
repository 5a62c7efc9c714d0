package web_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// The README's pictures of the page, from the page:
//
//	ACP_BRIDGE_CHROMIUM=$(command -v chromium) ACP_BRIDGE_SCREENSHOTS=$PWD/.github/pictures go test ./internal/hub/web -run TestPictures
func TestPictures(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_SCREENSHOTS") == "" {
		t.Skip("ACP_BRIDGE_SCREENSHOTS does not say where they go")
	}
	b, s := newChromium(t), newSite(t, hub.Options{})
	q := db
	q.Options = []convert.Option{
		{Label: "PostgreSQL", Description: "Battle-tested relational DB"}, {Label: "SQLite", Description: "Lightweight, file-based"}, {Label: "MongoDB", Description: "Document store"}}
	s.ask("c1", q)
	for name, dark := range map[string]bool{"page-light": false, "page-dark": true} {
		p := s.visit(b, 390, dark)
		p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 640, "deviceScaleFactor": 1, "mobile": true})
		p.until(`document.querySelector(".card") && document.readyState === "complete"`)
		p.shot(name)
	}
}
