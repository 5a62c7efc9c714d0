package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// aside is the HTTP API of an agent like OpenCode.
type aside struct {
	mu     sync.Mutex
	hidden bool        // the question is not there yet
	broken bool        // it takes no answers
	told   chan string // replies and rejections
}

const asideQuestion = `[{"id":"que_1","sessionID":"s1","questions":[{"question":"Which database?","header":"DB","options":[{"label":"PostgreSQL","description":"a"},{"label":"SQLite","description":"b"}]},{"question":"Which features?","header":"F","options":[{"label":"Auth","description":"a"},{"label":"Logs","description":"b"}],"multiple":true}],"tool":{"messageID":"m","callID":"c1"}}]`

func (a *aside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != "opencode" || password != "secret" || r.URL.Query().Get("directory") != "/work" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	hidden, broken := a.hidden, a.broken
	a.hidden = false
	a.mu.Unlock()
	switch {
	case r.URL.Path == "/permission":
		io.WriteString(w, `[{"id":"per_1","sessionID":"s9","tool":{"messageID":"m","callID":"c9"}},{"id":"per_2","sessionID":"s1","permission":"bash","tool":{"messageID":"m","callID":"c8"}}]`)
	case r.Method == http.MethodPost && broken:
		http.Error(w, "no", http.StatusInternalServerError)
	case r.Method == http.MethodPost:
		a.told <- r.URL.Path + " " + string(body)
		io.WriteString(w, "true")
	case hidden:
		io.WriteString(w, "[]")
	default:
		io.WriteString(w, asideQuestion)
	}
}

func withAside(t *testing.T) (*proxied, *aside) {
	a := &aside{told: make(chan string, 10), hidden: true}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	p := startAside(t, Options{}, server.URL)
	p.prompt("p1", "go")
	p.agent.next()
	p.agent.send(
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"question","status":"pending","rawInput":{}}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","title":"question","rawInput":{"questions":[{"question":"Which database?"}]}}}}`)
	return p, a
}

// The tool call in the editor and the question are one, and the answer goes
// where the agent takes it.
func TestAside(t *testing.T) {
	p, a := withAside(t)
	request := p.editor.until("session/request_permission")
	require.Equal(t, "c1", request.Get("params.toolCall.toolCallId").Str)
	p.editor.result(request, selected("SQLite"))
	p.editor.result(p.editor.until("session/request_permission"), selected("Logs"))
	p.editor.result(p.editor.until("session/request_permission"), selected("__done__"))
	require.Equal(t, `/question/que_1/reply {"answers":[["SQLite"],["Logs"]]}`, <-a.told)
}

// The user knows of an answer that the agent did not take.
func TestAsideNotTaken(t *testing.T) {
	p, a := withAside(t)
	a.mu.Lock()
	a.broken = true
	a.mu.Unlock()
	p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
	p.editor.result(p.editor.until("session/request_permission"), selected("Logs"))
	p.editor.result(p.editor.until("session/request_permission"), selected("__done__"))
	require.Contains(t, p.editor.said(), "could not be delivered")
}

func TestAsideDismissed(t *testing.T) {
	p, a := withAside(t)
	p.editor.result(p.editor.until("session/request_permission"), `{"outcome":{"outcome":"cancelled"}}`)
	require.Equal(t, `/question/que_1/reject {}`, <-a.told)
}

// The agent ends its tool call: nobody waits for the answer.
func TestAsideWithdrawn(t *testing.T) {
	p, a := withAside(t)
	request := p.editor.until("session/request_permission")
	p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}}}`)
	require.Equal(t, request.Get("id").Str, p.editor.until("$/cancel_request").Get("params.requestId").Str)
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
	p.prompt("p2", "next") // goes out when the question is over
	require.Equal(t, "p2", p.agent.until("session/prompt").Get("id").Str)
	require.Empty(t, a.told)
}

// The agent knows of the cancel: a rejection would end its turn in another way.
func TestAsideCancelled(t *testing.T) {
	p, a := withAside(t)
	p.editor.until("session/request_permission")
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	p.editor.until("$/cancel_request")
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled"}}`)
	require.Equal(t, "cancelled", p.editor.reply().Get("result.stopReason").Str)
	p.prompt("p2", "next")
	require.Equal(t, "p2", p.agent.until("session/prompt").Get("id").Str)
	require.Empty(t, a.told)
}

// A reason for a rejection, for which ACP has no place, is told at the API; one that
// cannot be told there is not lost without a word. A sub-agent's permission is in a
// session of its own there, and in the conversation over ACP.
func TestAsideRejectsWithWords(t *testing.T) {
	for _, test := range []struct {
		tool, permission string
		broken           bool
	}{
		{"c8", "per_2", false},
		{"c8", "per_2", true},
		{"c9", "per_1", false}, // of a sub-agent
	} {
		broken := test.broken
		d, a := new(desk.Desk), &aside{told: make(chan string, 10), broken: broken}
		entries := make(chan desk.Entry, 100)
		defer d.Watch(func(e desk.Entry) { entries <- e })()
		used := make(chan string, 10)
		defer d.WatchReceipts(func(name string, _ error) { used <- name })()
		server := httptest.NewServer(a)
		defer server.Close()
		p := startAside(t, Options{Desk: d}, server.URL)
		p.agent.send(`{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"` + test.tool + `","title":"touch y","rawInput":{"command":"touch y"}},"options":[{"optionId":"once","name":"Allow once","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}`)
		e := <-entries
		for e.State != desk.Asking {
			e = <-entries
		}
		require.False(t, e.About.NoReason)
		require.NoError(t, d.Answer(e.Name, []convert.Answer{{Selected: []string{"Reject"}, Note: "not now"}}, "phone"))
		require.Equal(t, "reject", p.agent.next().Get("result.outcome.optionId").Str)
		require.Equal(t, e.Name, <-used)
		if broken {
			require.Contains(t, p.editor.said(), "did not reach it: not now")
		} else {
			require.Equal(t, `/permission/`+test.permission+`/reply {"message":"not now","reply":"reject"}`, <-a.told)
		}
	}
}

// startAside is start for an agent with a side channel, which has a session.
func startAside(t *testing.T, o Options, url string) *proxied {
	o.Agent, o.TrustPrompts = profileNamed("opencode"), true
	p := startWith(t, func(ctx context.Context, editor, agent Stream) error {
		return relay(ctx, editor, agent, o, launched{profile: o.Agent, side: newSide(url, "opencode", "secret")})
	})
	p.initialize(noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`)
	p.agent.result(p.agent.next(), `{"sessionId":"s1"}`)
	p.editor.reply()
	return p
}

func TestLaunch(t *testing.T) {
	c, s := acptest.Must2(profileNamed("opencode").launch(t.Context(), Command{Args: []string{"opencode", "acp"}, Env: []string{"HOME=/x"}}))
	require.Equal(t, []string{"opencode", "acp", "--port"}, c.Args[:3])
	require.Contains(t, c.Env, "OPENCODE_ENABLE_QUESTION_TOOL=1")
	require.NotEmpty(t, s.password)
	require.Equal(t, s.password, getenv(c.Env, "OPENCODE_SERVER_PASSWORD"))
	require.True(t, strings.HasSuffix(s.base, ":"+c.Args[3]))
	require.NotContains(t, strings.Join(c.Args, " "), s.password, "others can read a command line")

	c, s = acptest.Must2(profileNamed("opencode").launch(t.Context(), Command{
		Args: []string{"opencode", "acp", "--port=4096"},
		Env:  []string{"OPENCODE_SERVER_PASSWORD=mine", "OPENCODE_ENABLE_QUESTION_TOOL=0"},
	}))
	require.Equal(t, []string{"opencode", "acp", "--port=4096"}, c.Args)
	require.Equal(t, "0", getenv(c.Env, "OPENCODE_ENABLE_QUESTION_TOOL"), "the user's")
	require.Equal(t, "http://127.0.0.1:4096", s.base)
	require.Equal(t, "mine", s.password)

	for said, args := range map[string]int{"1.18.33": 4, "opencode2 v2.0.0": 2, "opencode v10.1": 2, "?": 4, "no reply of 127.0.0.1'; exit '1": 4} {
		program := filepath.Join(t.TempDir(), "opencode")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700))
		c, s = acptest.Must2(profileNamed("opencode").launch(t.Context(), Command{Args: []string{program, "acp"}}))
		require.Len(t, c.Args, args, "%s: the second version has no --port", said)
		require.Equal(t, args == 2, s == nil, said)
	}

	c, s = acptest.Must2(profileNamed("codex").launch(t.Context(), Command{Args: []string{"codex-acp"}, Env: []string{`CODEX_CONFIG={"model":"m","features":{"x":1}}`}}))
	require.Nil(t, s)
	require.JSONEq(t, `{"model":"m","features":{"x":1,"default_mode_request_user_input":true}}`, getenv(c.Env, "CODEX_CONFIG"))

	c, _, err := profileNamed("codex").launch(t.Context(), Command{Args: []string{"codex-acp"}, Env: []string{`CODEX_CONFIG={"features":{"default_mode_request_user_input":false}}`}})
	require.NoError(t, err)
	require.False(t, gjson.Get(getenv(c.Env, "CODEX_CONFIG"), "features.default_mode_request_user_input").Bool(), "the user's")

	c, s = acptest.Must2(Profile{}.launch(t.Context(), Command{Args: []string{"any"}, Env: []string{"A=1"}}))
	require.Nil(t, s)
	require.Equal(t, Command{Args: []string{"any"}, Env: []string{"A=1", "ACP_BRIDGE_ASKS=1"}}, c, "hooks that the user has installed leave it to us")
}

// Every profile can be found by what it says, and no name belongs to two.
func TestProfiles(t *testing.T) {
	seen := map[string]string{}
	for _, p := range Profiles() {
		require.NotEmpty(t, p.Note, p.Name)
		require.NotEmpty(t, p.Title, p.Name)
		require.Equal(t, p.Name, profileOf(p.Start[0]).Name)
		for _, program := range p.Programs {
			require.Empty(t, seen[program], program)
			seen[program] = p.Name
			require.Equal(t, p.Name, profileOf("/usr/bin/"+program).Name)
		}
		for _, name := range p.Says {
			info := acptest.Must(json.Marshal(map[string]any{"agentInfo": map[string]any{"name": name}}))
			require.Equal(t, p.Name, Profile{}.named(info).Name)
		}
	}
	require.Equal(t, "grok", Profile{}.named([]byte(`{"_meta":{"grokShell":true}}`)).Name)
	require.Equal(t, "kimi", profileNamed("kimi").named([]byte(`{"agentInfo":{"name":"a stranger"}}`)).Name)
	require.Empty(t, profileOf("sh").Name)
}
