package hubstore

import (
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
)

func TestMain(m *testing.M) {
	paralleltest.Main()
	os.Exit(m.Run())
}
