// Package hands is at the hub's page in a real Chromium, as people are: with a mouse, keys,
// fingers, and what they mean.
package hands_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(8)
	code := m.Run()
	endBrowser()
	os.Exit(code)
}
