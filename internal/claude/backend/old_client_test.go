package backend_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

var update = flag.Bool("update", false, "rewrite testdata")

// wireLog keeps the lines that the agent writes to its editor.
type wireLog struct {
	mu    sync.Mutex
	lines []string
}

func (r *wireLog) trace(wire string, dir ndjson.Direction, text []byte) {
	if wire != "editor" || dir != ndjson.Out {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(bytes.TrimSpace(text)))
}

// news are what a client that says nothing new gets all the same.
var news = regexp.MustCompile(`,"messageId":"[^"]*"|"name":"[A-Za-z]*",("rawInput"|"sessionUpdate")`)

// told is what the editor was told, without what differs from run to run and
// without news.
func (r *wireLog) told(replace ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(r.lines, "\n") + "\n"
	text = strings.NewReplacer(replace...).Replace(text)
	text = regexp.MustCompile(`"updatedAt":"[^"]*"`).ReplaceAllString(text, `"updatedAt":"…"`)
	return news.ReplaceAllString(text, "$1")
}

// A client that declares nothing new gets, byte for byte, what it got before
// messages and tool calls had names.
func TestOldClient(t *testing.T) {
	for name, caps := range map[string]string{
		"plain": `{},"clientInfo":{"name":"old","version":"1"}`,
		"forms": `{"fs":{"readTextFile":false},"elicitation":{"form":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var r wireLog
			cli := ct.New(t, turns(
				steps{ct.Message(ct.ThinkingBlock("hm", "m")), ct.Text("Hel", "lo"), ct.Message(ct.Tool("toolu_1", "Bash", object{"command": "echo hi", "description": "greet"}, "hi"))},
				steps{ct.Message(ct.AskTool("toolu_2", "Write", object{"file_path": "/x", "content": "y"}, "done", nil)), ct.Text("Written.")},
				steps{ct.Message(ct.TextBlock("I ask."), ct.Question("toolu_3", which, ct.Q("Which features?", "Features", true, "Auth", "Cache"))), ct.Text("Noted.")},
				steps{ct.Message(todoWrite("toolu_4", "one", "completed", "two", "pending"))},
				steps{ct.Message(ct.Agent("toolu_5", "look", ct.Message(ct.Tool("toolu_6", "Read", object{"file_path": "/x"}, "y"))))},
				steps{ct.Message(ct.AskTool("toolu_7", "Bash", object{"command": "rm x"}, "", nil)), ct.Text("A pity.")},
			))
			e := serve(t, backend.Options{Claude: cli.Path, Env: []string{"HOME=" + t.TempDir()}, Trace: r.trace, Version: "1.0.0"})
			e.Initialize(caps)
			dir := t.TempDir()
			s := e.Open(dir)
			e.hasCommands(s)
			e.Prompt(s, "one").Ends(acp.StopReasonEndTurn)
			turn := e.Prompt(s, "two")
			e.Asked("/x").Selects("allow")
			turn.Ends(acp.StopReasonEndTurn)
			turn = e.Prompt(s, "three")
			if name == "forms" {
				e.Asked("Which database?").Answer <- object{"action": "accept", "content": object{"question_0": "SQLite", "question_1": []string{"Auth"}}}
			} else {
				e.Asked("Which database?").Types("DuckDB")
				e.Asked("Which features?").Selects("Auth")
				e.Asked("Which features?").Selects("__done__")
			}
			turn.Ends(acp.StopReasonEndTurn)
			e.Prompt(s, "four").Ends(acp.StopReasonEndTurn)
			e.Prompt(s, "five").Ends(acp.StopReasonEndTurn)
			turn = e.Prompt(s, "six")
			e.Asked("rm x").Selects("reject")
			turn.Ends(acp.StopReasonEndTurn)
			e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
			requireGolden(t, "old-client-"+name+".jsonl", r.told(s, "SESSION", dir, "DIR"))
		})
	}
}

// A transcript is replayed to such a client as it was before.
func TestOldClientLoads(t *testing.T) {
	var r wireLog
	s := save(t, ct.Script{}, promptLine,
		`{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"thinking","thinking":"hm"}]},"uuid":"a1"}`,
		`{"parentUuid":"a1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"Hello"}]},"uuid":"a2"}`,
		`{"parentUuid":"a2","type":"assistant","message":{"id":"msg_2","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"uuid":"a3"}`,
		`{"parentUuid":"a3","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"}]},"uuid":"t1"}`,
		`{"parentUuid":"t1","type":"user","message":{"role":"user","content":[{"type":"text","text":"more"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},"uuid":"u2"}`,
		`{"parentUuid":"u2","type":"assistant","message":{"id":"msg_3","model":"m","content":[{"type":"text","text":"Yes."}]},"uuid":"a4"}`)
	o := s.options()
	o.Trace = r.trace
	e, _ := s.reopen(o, acp.AgentMethodSessionLoad, `{}`)
	e.hasCommands(reopened)
	e.Call(acp.AgentMethodSessionList, `{}`)
	requireGolden(t, "old-client-loads.jsonl", r.told(s.dir, "DIR"))
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := acptest.Must(os.ReadFile(file))
	lines := strings.Split(got, "\n")
	for i, line := range strings.Split(string(want), "\n") {
		require.Greater(t, len(lines), i, "missing: %s", line)
		require.Equal(t, line, lines[i])
	}
	require.Equal(t, strings.Count(string(want), "\n")+1, len(lines))
}

// hasCommands waits for what comes behind the response that opens a session.
func (e *editor) hasCommands(session string) {
	e.Await(session, "commands", func(u gjson.Result) bool { return u.Get("availableCommands").Exists() })
}
