package editor

import (
	"testing"

	_ "github.com/acp-bridge/acp-bridge/internal/conn/wiretest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
