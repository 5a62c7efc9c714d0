package conn_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/coder/acp-go-sdk"
)

// prompts is an agent's handler: its prompts run in the order in which they
// came, and a cancel finds the prompt that it is meant for.
type prompts struct{ running map[string]context.CancelFunc }

// Accept and Notify are never called at the same time: no lock.
func (p *prompts) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	if method != acp.AgentMethodSessionPrompt {
		return nil
	}
	var req acp.PromptRequest
	if err := json.Unmarshal(params, &req); err != nil {
		return func() (any, error) { return nil, acp.NewInvalidParams(nil) }
	}
	ctx, cancel := context.WithCancel(ctx)
	p.running[string(req.SessionId)] = cancel
	return func() (any, error) {
		<-ctx.Done() // the turn
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}
}

func (p *prompts) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

func (p *prompts) Notify(_ context.Context, method string, params json.RawMessage) {
	var n acp.CancelNotification
	if method == acp.AgentMethodSessionCancel && json.Unmarshal(params, &n) == nil {
		if cancel := p.running[string(n.SessionId)]; cancel != nil {
			cancel()
		}
	}
}

func Example() {
	agentIn, editorOut := io.Pipe()
	editorIn, agentOut := io.Pipe()
	agent := conn.New(agentIn, agentOut, &prompts{running: map[string]context.CancelFunc{}}, nil)

	go io.WriteString(editorOut, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}
{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}
`)
	answer, _ := bufio.NewReader(editorIn).ReadString('\n')
	fmt.Print(answer)

	editorOut.Close()
	<-agent.Done()
	agent.Close()
	// Output: {"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}
}
