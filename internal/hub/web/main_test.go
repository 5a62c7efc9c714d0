package web_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
)

func TestMain(m *testing.M) {
	paralleltest.Main(8)
	code := m.Run()
	endBrowser()
	os.Exit(code)
}
