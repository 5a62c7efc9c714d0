// Package micro_test has benchmarks of single functions, for whoever changes them.
package micro_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// BenchmarkSDK is the floor: the same permission request from the SDK's agent
// to the SDK's client, over the same kind of pipe.
func BenchmarkSDK(b *testing.B) {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	acp.NewClientSideConnection(sdkClient{}, clientOut, clientIn)
	agent := acp.NewAgentSideConnection(nil, agentOut, agentIn)
	request := ask.New(callOf("q", pick), 0, ask.Options{}).Request()
	b.ReportAllocs()
	for b.Loop() {
		resp, err := agent.RequestPermission(b.Context(), request)
		require.NoError(b, err)
		require.NotNil(b, resp.Outcome.Selected)
	}
	clientOut.Close()
	agentOut.Close()
	<-agent.Done()
}

// BenchmarkAsk asks one question of the SDK's client. The target is 1.3 times
// the floor.
func BenchmarkAsk(b *testing.B) {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	acp.NewClientSideConnection(sdkClient{}, clientOut, clientIn)
	agent := conn.New(agentIn, agentOut, nil, &conn.Options{Logger: quiet})
	a := adapter.New(permissionOnly{agent}, nil)
	call := callOf("q", pick)
	b.ReportAllocs()
	for b.Loop() {
		o, err := a.Ask(b.Context(), call)
		require.NoError(b, err)
		require.Equal(b, convert.Answered, o.Status)
	}
	clientOut.Close()
	agentOut.Close()
	<-agent.Done()
	agent.Close()
}

// sdkClient answers every question with the second option.
type sdkClient struct{ acp.Client }

func (sdkClient) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[1].OptionId)}, nil
}

func callOf(id string, questions ...convert.Question) convert.Call {
	return convert.Call{Session: "s1", ID: id, Name: "AskUserQuestion", Questions: questions}
}

var quiet = slog.New(slog.DiscardHandler)

var pick = convert.Question{Text: "Which database?", Header: "Database", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}

// permissionOnly hides everything of a client but permission requests.
type permissionOnly struct{ adapter.Client }
