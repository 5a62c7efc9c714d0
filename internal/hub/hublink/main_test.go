package hublink_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(16)
	os.Exit(m.Run())
}
