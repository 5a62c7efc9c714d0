package pending

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// The hub's word about a question is for whoever waits for it, once: a link that comes
// back says it again, and nothing stands still for that.
func TestTheHubsWordIsHeardOnce(t *testing.T) {
	ch := New(Options{})
	heard := make(chan error, 1)
	ch.expect("q", heard)
	for range 3 {
		ch.hear(desk.Entry{Item: desk.Item{Call: convert.Call{ID: "q"}}}, nil)
	}
	<-heard
}
