package proxy_test

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(8)
	leaktest.Main(m)
}
