package editor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// slowAgents are started and ended in a second each. Their session is s1.
type slowAgents struct {
	mu    sync.Mutex
	last  int
	log   []string // what happened to which
	alive int
	most  int
}

func (a *slowAgents) note(alive int, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alive += alive
	a.most = max(a.most, a.alive)
	a.log = append(a.log, fmt.Sprintf(format, args...))
}

func (a *slowAgents) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: 1}, nil
}

func (a *slowAgents) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	s := o.Session("s1")
	a.mu.Lock()
	a.last++
	one := &slowAgent{all: a, n: a.last, out: s}
	a.mu.Unlock()
	a.note(1, "%d starts", one.n)
	time.Sleep(time.Second)
	return one, acp.LoadSessionResponse{}, nil
}

func (a *slowAgents) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

type slowAgent struct {
	editor.Conversation
	all *slowAgents
	n   int
	out *editor.Session
}

func (a *slowAgent) Read(r acp.PromptRequest) (any, error) { return r.Prompt[0].Text.Text, nil }

func (a *slowAgent) Prompt(id string, content any) error {
	a.all.note(0, "%d gets %s", a.n, content)
	go func() {
		a.out.Began(false)
		a.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
	}()
	return nil
}

func (a *slowAgent) Close(context.Context) error {
	time.Sleep(time.Second)
	a.all.note(-1, "%d ends", a.n)
	return nil
}

// playSlow sends the editor's lines, at once, and returns what is answered to each
// id. A line that is empty waits until all before it have been answered.
func playSlow(t *testing.T, a *slowAgents, lines ...string) map[string]string {
	in, w := io.Pipe()
	r, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- editor.Serve(t.Context(), in, out, a, nil); _ = out.Close() }()
	answers := make(chan gjson.Result, 100)
	go func() {
		defer close(answers)
		for s := bufio.NewScanner(r); s.Scan(); {
			if m := gjson.Parse(s.Text()); !m.Get("method").Exists() {
				answers <- m
			}
		}
	}()
	got, open := map[string]string{}, 0
	wait := func() {
		for ; open > 0; open-- {
			m := <-answers
			got[m.Get("id").Str] = m.Get("error.message").Str
		}
	}
	for i, line := range append([]string{`"method":"initialize","params":{"protocolVersion":1}`, ""}, lines...) {
		if line == "" {
			wait()
			continue
		}
		id := fmt.Sprint(i - 1)
		require.NoError(t, acptest.Err(io.WriteString(w, `{"jsonrpc":"2.0","id":"`+id+`",`+line+"}\n")))
		open++
	}
	wait()
	a.note(0, "over")
	require.NoError(t, w.Close())
	require.NoError(t, <-served)
	require.Zero(t, a.alive, "no agent is left")
	return got
}

const (
	loads   = `"method":"session/load","params":{"sessionId":"s1","cwd":"/","mcpServers":[]}`
	closes  = `"method":"session/close","params":{"sessionId":"s1"}`
	prompts = `"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"hello"}]}`
)

// A session has one agent at a time: one that is loaded while it is being closed, or
// while it is being loaded, waits for that, and stays when the other is gone.
func TestOneAgentOfASession(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		log   string // up to the end of the editor
	}{
		{"closed and loaded", []string{loads, "", closes, loads, "", prompts}, "1 starts, 1 ends, 2 starts, 2 gets hello, over"},
		{"loaded twice", []string{loads, loads, "", prompts}, "1 starts, 1 ends, 2 starts, 2 gets hello, over"},
		{"loaded twice and closed", []string{loads, loads, "", closes}, "1 starts, 1 ends, 2 starts, 2 ends, over"},
		{"loaded again, twice", []string{loads, "", loads, loads, "", prompts}, "1 starts, 1 ends, 2 starts, 2 ends, 3 starts, 3 gets hello, over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &slowAgents{}
				for id, failed := range playSlow(t, a, c.lines...) {
					require.Empty(t, failed, id)
				}
				log, _, _ := strings.Cut(strings.Join(a.log, ", "), "over")
				require.Equal(t, c.log, log+"over")
				require.Equal(t, 1, a.most)
			})
		})
	}
}
