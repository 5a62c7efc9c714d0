package web_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(8)
	os.Exit(m.Run())
}
