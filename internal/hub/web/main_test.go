package web_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	paralleltest.Main(8)
	code := m.Run()
	endBrowser()
	watchtest.Clean()
	os.Exit(code)
}
