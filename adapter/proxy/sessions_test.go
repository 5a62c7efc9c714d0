package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// The files in testdata/sessions are sessions of real agents with an editor that
// has forms, recorded without a proxy: "> " is what the editor says, "< " what
// the agent does. Longer texts of vendors are replaced by their length, lists are
// cut to three, and runs of one kind to five.

// What was said in a real session passes as it was said, both ways, in its order.
// Questions are not passed: other tests are about them.
func TestRecordedSessions(t *testing.T) {
	files := acptest.Must(filepath.Glob("testdata/sessions/*.ndjson"))
	require.GreaterOrEqual(t, len(files), 9)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := acptest.Must(os.ReadFile(file))
			p := start(t, Options{Tool: ToolNever})
			questions := map[string]bool{}
			passed := 0
			for line := range strings.Lines(string(text)) {
				who, line := line[:2], strings.TrimSpace(line[2:])
				require.True(t, json.Valid([]byte(line)), line)
				m := gjson.Parse(line)
				from, to := p.agent, p.editor
				if who == "> " {
					from, to = to, from
				}
				id := m.Get("id").Raw
				if who == "< " && asks(m) {
					questions[id] = true
					continue
				}
				if who == "> " && !m.Get("method").Exists() && questions[id] {
					continue
				}
				from.send(line)
				require.Equal(t, line, to.next().Raw)
				passed++
			}
			require.Greater(t, passed, 5)
			require.True(t, p.editor.quiet() && p.agent.quiet(), "nothing is added")
		})
	}
}

// asks reports whether a request of an agent is a question.
func asks(m gjson.Result) bool {
	if !m.Get("id").Exists() {
		return false
	}
	switch m.Get("method").Str {
	case "elicitation/create", "_x.ai/ask_user_question":
		return true
	case "session/request_permission":
		_, err := dialect.Recognise([]byte(m.Raw))
		return err == nil
	}
	return false
}

// touched are the methods that the proxy looks into.
var touched = []string{
	"initialize", "session/new", "session/load", "session/resume", "session/fork", "session/prompt", "session/cancel",
	"elicitation/create", "elicitation/complete", "session/request_permission", "$/cancel_request",
	"_x.ai/ask_user_question", "_x.ai/mcp/elicit", "_x.ai/exit_plan_mode", "cursor/ask_question",
}

// Whatever the lines are, those that are none of the proxy's business come out as
// they went in.
func FuzzTransparent(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[1,"\\\"",{}]}}`,
		`{"id":"c0ffee","method":"_y/z"}` + "\n" + `{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"questions":[1]}}}}`,
		` { "method" : "session/close" , "id" : null , "params" : [ ] } `,
		`{"result":{"sessionId":"s"},"id":1e2}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, fromAgent bool) {
		var lines []byte
		for line := range bytes.Lines(text) {
			line = bytes.TrimRight(line, "\r\n")
			m := gjson.ParseBytes(line)
			var object map[string]json.RawMessage
			if json.Unmarshal(line, &object) != nil || object == nil || bytes.Contains(line, []byte(`\u`)) {
				continue // no message, or one whose names cannot be told here
			}
			if slices.Contains(touched, m.Get("method").Str) || !fromAgent && !m.Get("method").Exists() {
				continue
			}
			if m, _ := scan(line); m.twice {
				continue // refused, see TestRule2TwoMeanings
			}
			lines = append(append(lines, line...), '\n')
		}
		var editor, agent bytes.Buffer
		p := newProxy(context.Background(), &editor, &agent, Options{})
		to, look, out := p.agent, p.fromEditor, &agent
		if fromAgent {
			to, look, out = p.editor, p.fromAgent, &editor
		}
		require.NoError(t, p.pass(lines, to, look))
		require.Equal(t, string(lines), out.String())
	})
}
