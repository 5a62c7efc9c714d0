package web_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) {
	paralleltest.Main(8)
	code := m.Run()
	endBrowser()
	watchtest.Clean()
	os.Exit(code)
}
