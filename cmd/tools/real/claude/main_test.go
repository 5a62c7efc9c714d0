//go:build unix

package claude_test

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	leaktest.Parallel(8)
	leaktest.Main(m)
}
