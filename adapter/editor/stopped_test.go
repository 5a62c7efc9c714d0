package editor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// askingAgent asks in each turn, and says that it died when it is closed.
type askingAgent struct {
	out      *editor.Session
	outcomes chan convert.Outcome
	ended    string            // why its last prompt has
	send     func(line string) // to it
	asks     func(id string)   // instead of a question
}

func (a *askingAgent) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: 1}, nil
}

func (a *askingAgent) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	a.out = o.Session("s1")
	return a, acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *askingAgent) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

func (a *askingAgent) Start(context.Context) error           { return nil }
func (a *askingAgent) Interrupt(context.Context, bool) error { return nil }
func (a *askingAgent) Kill()                                 {}
func (a *askingAgent) Read(r acp.PromptRequest) (any, error) { return r.Prompt, nil }
func (a *askingAgent) Close(context.Context) error {
	a.out.Exited(errors.New("it died"), func(bool) {})
	return nil
}

func (a *askingAgent) Prompt(id string, _ any) error {
	go func() {
		a.out.Began(false)
		if a.asks != nil {
			a.asks(id)
			return
		}
		a.out.AskQuestion("q-"+id, false, convert.Call{ID: "q-" + id, Questions: []convert.Question{{Text: "Which?", Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, func(o convert.Outcome) bool {
			a.outcomes <- o
			go a.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
			return true
		})
	}()
	return nil
}

// asked is an editor whose agent asks something in each prompt.
func asked(t *testing.T, d *desk.Desk, play func(a *askingAgent, prompt func(blocks string) gjson.Result, reply func(request gjson.Result, result string), stop, leave func())) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		r, out := io.Pipe()
		a := &askingAgent{outcomes: make(chan convert.Outcome, 9)}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- editor.Serve(ctx, in, out, a, &editor.Options{Desk: d}); _ = out.Close() }()
		requests := make(chan gjson.Result, 9)
		go func() {
			for s := bufio.NewScanner(r); s.Scan(); {
				switch m := gjson.Parse(s.Text()); {
				case m.Get("method").Exists() && m.Get("id").Exists():
					requests <- m
				case m.Get("id").Int() == 3:
					a.ended = m.Get("error.message").Str
				}
			}
		}()
		send := func(line string) { require.NoError(t, acptest.Err(io.WriteString(w, `{"jsonrpc":"2.0",`+line+"}\n"))) }
		a.send = send
		send(`"id":1,"method":"initialize","params":{"protocolVersion":1}`)
		send(`"id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}`)
		synctest.Wait()
		prompt := func(blocks string) gjson.Result {
			send(`"id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":` + blocks + `}`)
			return <-requests
		}
		reply := func(request gjson.Result, result string) {
			send(`"id":` + request.Get("id").Raw + `,"result":` + result)
		}
		play(a, prompt, reply, stop, func() { _ = w.Close() })
		stop()
		require.NoError(t, <-served)
		_ = w.Close()
	})
}

// Rule 7: a question that is open when the editor goes, or when we are stopped, ends for
// that, and not for what becomes of the agent then.
func TestRule7NobodyIsThereAnyMore(t *testing.T) {
	for name, end := range map[string]func(stop, leave func()){
		"stopped":         func(stop, _ func()) { stop() },
		"the editor goes": func(_, leave func()) { leave() },
	} {
		t.Run(name, func(t *testing.T) {
			asked(t, nil, func(a *askingAgent, prompt func(string) gjson.Result, _ func(gjson.Result, string), stop, leave func()) {
				prompt(`[{"type":"text","text":"go"}]`)
				end(stop, leave)
				o := <-a.outcomes
				require.Equal(t, convert.Disconnected, o.Status)
				require.NotContains(t, o.Reason, "it died")
				synctest.Wait()
				require.NotContains(t, a.ended, "it died")
			})
		})
	}
}

// Whoever is asked is told what the user wrote last. A prompt without words is none.
func TestWhatTheUserWroteIsToldWithAQuestion(t *testing.T) {
	d := &desk.Desk{}
	asked(t, d, func(a *askingAgent, prompt func(string) gjson.Result, reply func(gjson.Result, string), _, _ func()) {
		for _, p := range []struct{ blocks, want string }{
			{`[{"type":"text","text":"build it"}]`, "build it"},
			{`[{"type":"text","text":""}]`, "build it"},
			{`[{"type":"text","text":"and test it"}]`, "and test it"},
		} {
			request := prompt(p.blocks)
			require.Equal(t, p.want, d.List()[0].About.Told().Prompt)
			reply(request, `{"outcome":{"outcome":"selected","optionId":"A"}}`)
			require.Equal(t, convert.Answered, (<-a.outcomes).Status)
			synctest.Wait()
		}
	})
}

// An answer that arrived counts, also if a cancel comes at the same moment; a permission that
// was given then is not used.
func TestAtTheMomentOfACancel(t *testing.T) {
	for _, question := range []bool{true, false} {
		d := &desk.Desk{}
		asked(t, d, func(a *askingAgent, prompt func(string) gjson.Result, reply func(gjson.Result, string), _, _ func()) {
			got := make(chan error, 1)
			if !question {
				a.asks = func(string) {
					a.out.AskPermission("p", false, convert.SubAgent{}, acp.RequestPermissionRequest{
						ToolCall: acp.ToolCallUpdate{ToolCallId: "p"}, Options: []acp.PermissionOption{{OptionId: "A", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}},
					}, func(_ acp.RequestPermissionResponse, err error) bool { got <- err; return true })
				}
			}
			request := prompt(`[{"type":"text","text":"go"}]`)
			done := false
			d.Watch(func(e desk.Entry) {
				if e.State == desk.Settled && !done {
					done = true
					go a.send(`"method":"session/cancel","params":{"sessionId":"s1"}`)
					time.Sleep(time.Second) // whoever settled it goes on later
				}
			})
			reply(request, `{"outcome":{"outcome":"selected","optionId":"A"}}`)
			if question {
				require.Equal(t, convert.Answered, (<-a.outcomes).Status)
			} else {
				require.ErrorIs(t, <-got, editor.ErrTakenBack)
			}
			require.True(t, done)
		})
	}
}

// lateAgent opens a session when the editor has gone, and takes its time to end.
type lateAgent struct {
	editor.Backend
	editor.Conversation
	asked chan struct{}
	ended bool
}

func (a *lateAgent) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: 1}, nil
}

func (a *lateAgent) Open(ctx context.Context, o editor.Opening) (editor.Conversation, any, error) {
	o.Session("s1")
	close(a.asked)
	<-ctx.Done()
	return a, acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *lateAgent) Request(context.Context, string, json.RawMessage) (any, error) { return nil, nil }

func (a *lateAgent) Close(context.Context) error {
	time.Sleep(time.Second)
	a.ended = true
	return nil
}

// Serve ends when every agent has, also one that was just being started.
func TestTheEditorGoesWhileASessionOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		a := &lateAgent{asked: make(chan struct{})}
		go func() {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+
				`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`+"\n")
			<-a.asked
			_ = w.Close()
		}()
		require.NoError(t, editor.Serve(t.Context(), in, io.Discard, a, nil))
		require.True(t, a.ended)
	})
}
