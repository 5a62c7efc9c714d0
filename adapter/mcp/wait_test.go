package mcp

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

// delivered is an answered question that notes that it was handed over.
type delivered struct{ to *int }

func (d delivered) Wait() (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "DuckDB"}}}, nil
}

func (d delivered) Deliver(use func() error) error { *d.to++; return use() }

// An answer that comes as the client cancels its call reaches nobody, and nobody is told
// that it was used.
func TestAnswerToACallThatWasCancelled(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := 0
	for range 50 {
		one := &ticket{name: "t", call: convert.Call{Questions: []convert.Question{{Text: "Which?"}}}, cancel: func(error) {}, done: make(chan struct{}), waiting: 1, asking: delivered{&to}}
		one.outcome, _ = one.asking.Wait()
		close(one.done)
		s.step(func(all *tickets) { all.add(one) })
		require.True(t, s.wait(ctx, &sdk.CallToolRequest{}, one).IsError)
		require.False(t, s.Waits(one.name))
	}
	require.Zero(t, to)
}

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
