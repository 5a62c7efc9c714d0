package jetstream_test

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/desk/desktest"
	"github.com/acp-bridge/acp-bridge/adapter/desk/jetstream"
)

func TestDeskStore(t *testing.T) {
	desktest.Store(t, func(t *testing.T) (one, two desk.Store) {
		s := open(t, t.TempDir())
		return jetstream.Desk{Store: s}, jetstream.Desk{Store: s}
	})
}
