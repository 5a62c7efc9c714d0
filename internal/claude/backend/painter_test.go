package backend

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// sketch is a canvas on which one can see what was painted: a line for each update.
type sketch struct {
	lines    []string
	messages []string // the names of what was streamed
	holds    bool
}

func (s *sketch) Stream(kind, message, text string) {
	s.lines, s.messages = append(s.lines, kind+" "+text), append(s.messages, message)
}
func (s *sketch) Text(kind, text string) { s.Stream(kind, "", text) }
func (s *sketch) Notice(_ bool, title, text string) {
	s.lines = append(s.lines, "notice "+title+": "+text)
}
func (s *sketch) Holds() bool { return s.holds }

func (s *sketch) Update(u acp.SessionUpdate) { s.UpdateOf("", u) }

func (s *sketch) UpdateOf(session string, update any) {
	raw, _ := json.Marshal(update)
	u := gjson.ParseBytes(raw)
	parts := []string{u.Get("sessionUpdate").Str}
	if session != "" {
		parts[0] = session + ": " + parts[0]
	}
	for _, path := range []string{"toolCallId", "title", "status", "sessionId", "state.state", "senderSessionId", "content.text", "content.0.content.text", "content.0.text"} {
		if v := u.Get(path); v.String() != "" {
			parts = append(parts, v.String())
		}
	}
	s.lines = append(s.lines, strings.Join(parts, " "))
}

// newSketch is a painter with a canvas of its own.
func newSketch(c client) (*painter, *sketch) {
	s := &sketch{}
	p := &painter{
		out: s, id: "main", cwd: "/src", client: c, tasks: new(display.Tasks), log: slog.New(slog.DiscardHandler),
		calls: map[string]*toolCall{}, followed: map[string]*follower{}, agents: map[string]subAgent{},
	}
	if c.parts {
		p.haveParts()
	}
	return p, s
}

// paint gives the painter messages as the pump does.
func paint(t *testing.T, p *painter, lines ...string) {
	for _, line := range lines {
		m, ok := claude.ParseMessage([]byte(line))
		require.True(t, ok, line)
		switch {
		case m.Type == claude.TypeStreamEvent:
			p.event(m)
		case m.Type == claude.TypeAssistant:
			p.assistant(m)
		case m.Type == claude.TypeUser:
			p.user(m)
		case m.Get("task_type").Str == "local_agent":
			p.agentStarted(m)
		case m.Subtype == "task_notification":
			p.agentEnded(m)
		}
	}
}

// Messages in, updates out: nothing else is needed to know what an editor sees.
func TestPainter(t *testing.T) {
	const (
		start = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`
		text  = `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"text"}}}`
		delta = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}}`
		whole = `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Hello"}]}}`
		bash  = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}]}}`
		done  = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"a.go"}]}}`
		agent = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c2","name":"Agent","input":{"description":"look","prompt":"Look!"}}]}}`
		begun = `{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":"a1","tool_use_id":"c2","description":"look"}`
		inner = `{"type":"assistant","parent_tool_use_id":"c2","message":{"id":"m2","content":[{"type":"tool_use","id":"c3","name":"Bash","input":{"command":"pwd"}}]}}`
		ended = `{"type":"system","subtype":"task_notification","task_id":"a1","status":"completed"}`
	)
	for name, c := range map[string]struct {
		client client
		lines  []string
		want   []string
	}{
		"what was streamed is not sent again": {client{}, []string{start, text, delta, whole}, []string{"agent_message_chunk Hel", "agent_message_chunk lo"}},
		"what was not is sent then":           {client{}, []string{whole}, []string{"agent_message_chunk Hello"}},
		"a call and its result": {client{}, []string{bash, done, done}, []string{
			"tool_call c1 ls pending", "tool_call_update c1 completed ```console\na.go\n```"}},
		"a sub-agent in the session": {client{}, []string{agent, begun, inner, ended}, []string{
			"tool_call c2 look pending Look!", "tool_call c3 pwd pending"}},
		"a sub-agent as a session": {client{parts: true}, []string{agent, begun, inner, ended}, []string{
			"subagent_update look a1 running", "session_message main Look!", "a1: session_message main Look!",
			"a1: tool_call c3 pwd pending", "subagent_update a1 idle"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := newSketch(c.client)
			paint(t, p, c.lines...)
			require.Equal(t, c.want, s.lines)
			require.Equal(t, c.client.parts, p.hasPart("a1"))
		})
	}
}

// Chunks of a message have its name, streamed, whole and from a transcript.
func TestMessageIDs(t *testing.T) {
	const (
		delta  = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}}`
		begin  = `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"text"}}}`
		whole  = `{"type":"assistant","uuid":"a1","message":{"id":"m1","content":[{"type":"text","text":"Hello"}]}}`
		thinks = `{"type":"assistant","uuid":"a0","message":{"id":"m1","content":[{"type":"thinking","thinking":"hm"}]}}`
		noID   = `{"type":"assistant","uuid":"a2","message":{"content":[{"type":"text","text":"Hello"}]}}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"streamed": {[]string{`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`, begin, delta, delta, whole}, []string{"m1", "m1"}},
		"whole":    {[]string{thinks, whole}, []string{"m1", "m1"}},
		"unnamed":  {[]string{noID}, []string{"a2"}},
		"nothing said about it": {[]string{`{"type":"stream_event","event":{"type":"message_start","message":{}}}`, begin, delta, delta,
			`{"type":"assistant","message":{"content":[{"type":"text","text":"HelHello"}]}}`}, []string{"?", "?", "?"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := newSketch(client{})
			paint(t, p, c.lines...)
			if c.want[0] == "?" {
				require.NotEmpty(t, s.messages[0])
				c.want = []string{s.messages[0], s.messages[0], s.messages[0]}
			}
			require.Equal(t, c.want, s.messages)
		})
	}
}

// What a command writes is shown when the painter looks, and not while updates
// wait for a prompt.
func TestPainterFollows(t *testing.T) {
	p, s := newSketch(client{})
	path := filepath.Join(t.TempDir(), "output")
	require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
	p.output = func(string, string) (*os.File, error) { return os.Open(path) }
	var look func()
	p.every = func(f, over func()) func() {
		look = f
		return over
	}
	paint(t, p, `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}]}}`)
	m, _ := claude.ParseMessage([]byte(`{"type":"system","subtype":"task_started","task_type":"local_bash","task_id":"t1","tool_use_id":"c1"}`))
	p.follow(m)
	for _, c := range []struct {
		writes       string
		quiet, holds bool
		shows        bool
	}{{"", false, false, true}, {"two\n", false, true, false}, {"", true, false, false}, {"", false, false, true}, {"", false, false, false}} {
		f := acptest.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
		acptest.Must(f.WriteString(c.writes))
		require.NoError(t, f.Close())
		p.quiet, s.holds = c.quiet, c.holds
		before := len(s.lines)
		look()
		require.Equal(t, c.shows, len(s.lines) > before, "%+v: %q", c, s.lines)
	}
	require.Contains(t, s.lines[len(s.lines)-1], "two")
	p.unfollow()
	require.Empty(t, p.followed)
}
