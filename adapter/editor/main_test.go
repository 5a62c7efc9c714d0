package editor

import (
	"testing"

	_ "github.com/acp-bridge/acp-bridge/internal/conn/wiretest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
