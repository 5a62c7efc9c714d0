package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// The page's worker is let in by the page's own rules, and is there for all of
// the hub.
func TestPageHasAWorker(t *testing.T) {
	b, s := newChromium(t), newSite(t, hub.Options{})
	p := s.visit(b, 400, false)
	p.eval(`navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready).then(() => 0)`)
	require.Equal(t, "true", p.eval(`navigator.serviceWorker.ready.then((r) => r.scope === location.origin + "/" && r.active.state !== "redundant")`))
}
