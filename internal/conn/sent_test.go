package conn

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// What is done once a result was sent is done also if this side has ended the connection
// before: the peer gets the result. It is not if the peer has gone.
func TestSent(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(p *peer)
		want bool
	}{
		"nobody ends": {func(*peer) {}, true},
		"we end":      {func(p *peer) { go p.conn.Close() }, true},
		"it has gone": {func(p *peer) { p.in.Close() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				goOn := make(chan struct{})
				var mu sync.Mutex
				sent, then := false, false
				set := func(to *bool) func() {
					return func() {
						mu.Lock()
						defer mu.Unlock()
						*to = true
					}
				}
				p := newPeer(t, acceptor{accept: func(_ context.Context, method string, _ json.RawMessage) Answer {
					return func() (any, error) {
						<-goOn
						if method == "sent" {
							return Sent("it", set(&sent)), nil
						}
						return Then("it", set(&then)), nil
					}
				}}, nil)
				p.discard()
				p.write(`{"jsonrpc":"2.0","id":1,"method":"sent"}`, `{"jsonrpc":"2.0","id":2,"method":"then"}`)
				synctest.Wait()
				c.ends(p)
				synctest.Wait()
				close(goOn)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, c.want, sent)
				require.True(t, then)
			})
		})
	}
}
