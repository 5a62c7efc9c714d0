package conn

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// The SDK's Connection at the other end.

// permission is a request of the size a question makes.
func permission() acp.RequestPermissionRequest {
	title, kind, status := "Testing", acp.ToolKindOther, acp.ToolCallStatusPending
	req := acp.RequestPermissionRequest{
		SessionId: "0195c2f7-3a51-7b3e-9c64-2f3f4f5a6b7c",
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: "toolu_01A09q90qw90lq917835lq9", Title: &title, Kind: &kind, Status: &status,
			RawInput: map[string]any{"question": "Which testing framework should we use?", "header": title},
			Content:  []acp.ToolCallContent{acp.ToolContent(acp.TextBlock("Which testing framework should we use?"))},
		},
		Meta: map[string]any{"claudeCode": map[string]any{"questionType": "askUserQuestion", "multiSelect": false}},
	}
	for _, name := range []string{"Jest", "Vitest", "Mocha", "node:test", "__other__"} {
		req.Options = append(req.Options, acp.PermissionOption{
			Kind: acp.PermissionOptionKindAllowOnce, OptionId: acp.PermissionOptionId(name),
			Name: name + " - A testing framework that people use",
		})
	}
	return req
}

// sdkClient is an SDK connection that answers every permission with Vitest.
func sdkClient(w io.Writer, r io.Reader) *acp.Connection {
	answer := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("Vitest")}
	client := acp.NewConnection(func(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
		if method != acp.ClientMethodSessionRequestPermission {
			return nil, nil
		}
		var req acp.RequestPermissionRequest
		if err := json.Unmarshal(params, &req); err != nil {
			return nil, acp.NewInvalidParams(nil)
		}
		return answer, nil
	}, w, r)
	client.SetLogger(slog.New(slog.DiscardHandler))
	return client
}

type pipes struct {
	agentR, clientR *io.PipeReader
	agentW, clientW *io.PipeWriter
}

func newPipes() *pipes {
	p := &pipes{}
	p.agentR, p.clientW = io.Pipe()
	p.clientR, p.agentW = io.Pipe()
	return p
}

func (p *pipes) close() {
	p.agentW.Close()
	p.clientW.Close()
}

func TestAgainstTheSDK(t *testing.T) {
	p := newPipes()
	client := sdkClient(p.clientW, p.clientR)
	called := make(chan string, 3)
	agent := New(p.agentR, p.agentW, funcs{
		request: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			if method == acp.AgentMethodInitialize {
				return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
			}
			return nil, acp.NewMethodNotFound(method)
		},
		notify: func(_ context.Context, method string, params json.RawMessage) { called <- method + string(params) },
	}, nil)

	for range 3 {
		resp, err := agent.RequestPermission(t.Context(), permission())
		require.NoError(t, err)
		require.Equal(t, selected("Vitest", nil), resp)
	}
	require.NoError(t, agent.SessionUpdate(t.Context(), acp.SessionNotification{SessionId: "s", Update: acp.UpdateAgentMessageText("hi")}))

	resp, err := acp.SendRequest[acp.InitializeResponse](client, t.Context(), acp.AgentMethodInitialize, acp.InitializeRequest{})
	require.NoError(t, err)
	require.EqualValues(t, acp.ProtocolVersionNumber, resp.ProtocolVersion)
	_, err = acp.SendRequest[any](client, t.Context(), "nope", nil)
	var re *acp.RequestError
	require.ErrorAs(t, err, &re)
	require.Equal(t, -32601, re.Code)
	require.NoError(t, client.SendNotification(t.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: "s"}))
	require.Equal(t, `session/cancel{"sessionId":"s"}`, <-called)

	require.NoError(t, agent.Close())
	p.close()
	<-client.Done()
}

// Two Conns, one in each role.
func TestBothEnds(t *testing.T) {
	release := make(chan struct{})
	var c *Conn
	agent := funcs{
		request: func(ctx context.Context, method string, params json.RawMessage) (any, error) {
			switch method {
			case acp.AgentMethodInitialize:
				return acp.InitializeResponse{ProtocolVersion: 1}, nil
			case acp.AgentMethodSessionNew:
				return acp.NewSessionResponse{SessionId: "s"}, nil
			case acp.AgentMethodSessionLoad, acp.AgentMethodSessionSetMode:
				return nil, nil
			case acp.AgentMethodSessionPrompt:
				<-release
				return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
			default:
				return 5, nil
			}
		},
		notify: func(context.Context, string, json.RawMessage) { close(release) },
	}
	_, c, end := connected(agent, nil)
	defer end()
	ctx := t.Context()
	ir, err := c.Initialize(ctx, acp.InitializeRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 1, ir.ProtocolVersion)
	ns, err := c.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"})
	require.NoError(t, err)
	require.EqualValues(t, "s", ns.SessionId)
	_, err = c.LoadSession(ctx, acp.LoadSessionRequest{SessionId: "s"})
	require.NoError(t, err)
	_, err = CallFor[acp.SetSessionModeResponse](ctx, c, acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: "s"})
	require.NoError(t, err)
	require.NoError(t, c.Cancel(ctx, acp.CancelNotification{SessionId: "s"}))
	pr, err := c.Prompt(ctx, acp.PromptRequest{SessionId: "s"})
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonCancelled, pr.StopReason)
	_, err = CallFor[string](ctx, c, "five", nil)
	require.ErrorIs(t, err, ErrProtocol)
}
