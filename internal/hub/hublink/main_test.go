package hublink_test

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
)

func TestMain(m *testing.M) {
	paralleltest.Main(8)
	os.Exit(m.Run())
}
