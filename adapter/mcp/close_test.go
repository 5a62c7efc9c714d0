package mcp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

type nobody struct{}

func (nobody) Ask(context.Context, convert.Call) (convert.Outcome, error) { panic("it was asked") }

// A call that comes when the server has closed asks nobody: Close waits for what
// was asked before, and for nothing else.
func TestNothingIsAskedBehindClose(t *testing.T) {
	s := New(Options{Resolver: nobody{}})
	s.Close()
	ticket := s.ask(nil, convert.Call{Questions: []convert.Question{{Text: "Go?"}}})
	<-ticket.done
	require.Equal(t, convert.Disconnected, ticket.outcome.Status)
}
