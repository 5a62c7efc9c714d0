package backend

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// What the CLI says while it compacts a conversation, and what an editor is told.
func TestCompaction(t *testing.T) {
	const (
		begins   = `{"type":"system","subtype":"status","status":"compacting","uuid":"c1"}`
		success  = `{"type":"system","subtype":"status","status":null,"compact_result":"success","uuid":"c2"}`
		failed   = `{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"too little","uuid":"c2"}`
		boundary = `{"type":"system","subtype":"compact_boundary","uuid":"c3","compact_metadata":{"trigger":"auto","pre_tokens":900,"post_tokens":30}}`
		summary  = `{"type":"user","message":{"role":"user","content":"This session is being continued from a previous conversation that ran out of context.\n\nSummary:\nWe said hello.\n\nIf you need specific details from before compaction (like code), read it\nContinue the conversation from where it left off without asking"}}`
		strange  = `{"type":"user","message":{"role":"user","content":"Tell the user nothing"}}`
		start    = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`
		delta    = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}}`
		next     = `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":1}}}`
	)
	for name, c := range map[string]struct {
		lines       []string
		shown, said []string
	}{
		"as it is": {[]string{begins, success, boundary, summary, next},
			[]string{"c1 in_progress", "c1 chunk We said hello.", "c1 completed", "Hello"},
			[]string{"Compacting the conversation…", "The conversation was compacted.", "Hello"}},
		"no summary for people": {[]string{begins, success, boundary, strange, next},
			[]string{"c1 in_progress", "c1 completed", "Hello"}, []string{"Compacting the conversation…", "The conversation was compacted.", "Hello"}},
		"no summary": {[]string{begins, success, next},
			[]string{"c1 in_progress", "c1 completed", "Hello"}, []string{"Compacting the conversation…", "The conversation was compacted.", "Hello"}},
		"no summary, and a stream": {[]string{begins, success, start, delta},
			[]string{"c1 in_progress", "c1 completed", "Hel"}, []string{"Compacting the conversation…", "The conversation was compacted.", "Hel"}},
		"a sub-agent's": {[]string{strings.Replace(begins, "{", `{"parent_tool_use_id":"toolu_1",`, 1), strings.Replace(failed, "{", `{"parent_tool_use_id":"toolu_1",`, 1), next},
			[]string{"Hello"}, []string{"Hello"}},
		"told twice": {[]string{begins, begins, success, success, boundary, summary, strange},
			[]string{"c1 in_progress", "c1 chunk We said hello.", "c1 completed"}, []string{"Compacting the conversation…", "The conversation was compacted."}},
		"an end alone": {[]string{boundary, summary},
			[]string{"c3 in_progress", "c3 chunk We said hello.", "c3 completed"}, []string{"Compacting the conversation…", "The conversation was compacted."}},
		"failed": {[]string{begins, failed, next},
			[]string{"c1 in_progress", "c1 failed too little", "Hello"}, []string{"Compacting the conversation…", "The conversation could not be compacted.", "Hello"}},
		"broken off": {[]string{begins},
			[]string{"c1 in_progress", "c1 cancelled"}, []string{"Compacting the conversation…", "The conversation could not be compacted."}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, capable := range []bool{true, false} {
				p, s := newSketch(client{compaction: capable})
				out := &compactions{sketch: s}
				p.out = out
				for _, line := range c.lines {
					m, ok := claude.ParseMessage([]byte(line))
					require.True(t, ok)
					switch {
					case m.Subtype == "status":
						p.status(m)
					case m.Subtype == "compact_boundary":
						p.boundary(m)
						require.Equal(t, 30, contextTokens(p.used))
					case m.Type == claude.TypeStreamEvent:
						p.event(m)
					case m.Type == claude.TypeUser:
						p.user(m)
					default:
						p.assistant(m)
					}
				}
				p.compactionOver(true)
				p.compactionOver(true)
				if capable {
					require.Equal(t, c.shown, out.told)
				} else {
					require.Equal(t, c.said, out.told)
				}
			}
		})
	}
}

// compactions is a canvas that keeps what is told of a compaction.
type compactions struct {
	*sketch
	told []string
}

func (c *compactions) Notice(_ bool, title, _ string)   { c.told = append(c.told, title) }
func (c *compactions) Stream(_, _ string, words string) { c.told = append(c.told, words) }

func (c *compactions) UpdateOf(_ string, update any) {
	raw, _ := json.Marshal(update)
	u := gjson.ParseBytes(raw)
	line := u.Get("compactionId").Str + " " + u.Get("status").Str
	if text := u.Get("content.text"); text.Exists() {
		line += "chunk " + text.Str
	}
	if problem := u.Get("error"); problem.Exists() {
		line += " " + problem.Str
	}
	c.told = append(c.told, line)
}

// However an input is cut into pieces, what is shown of it early is true.
func TestPartial(t *testing.T) {
	const whole = `{"file_path":"/src/a, \"b\".go","nested":{"x":[1,2,{"y":"}"}]},"content":"long","last":1}`
	var full map[string]any
	require.NoError(t, json.Unmarshal([]byte(whole), &full))
	for size := 1; size <= len(whole); size++ {
		var p partial
		members := 0
		for rest := whole; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if !p.feed(piece) {
				continue
			}
			var early map[string]any
			require.NoError(t, json.Unmarshal(p.input(), &early), "%s", p.input())
			require.Greater(t, len(early), members)
			members = len(early)
			for key, value := range early {
				require.Equal(t, full[key], value)
			}
		}
		if size == 1 {
			require.Equal(t, 3, members)
		}
	}
}

func TestPartialIsBounded(t *testing.T) {
	var p partial
	p.feed(`{"a":1,"content":"`)
	for range 1000 {
		require.False(t, p.feed(strings.Repeat("x,", 1000)))
	}
	require.LessOrEqual(t, len(p.buf), maxPartial)
	require.JSONEq(t, `{"a":1}`, string(p.input()))
}

// Of an input that is JSON, what is shown early is JSON and true, wherever it is
// cut; of one that is not, nothing breaks.
func FuzzPartial(f *testing.F) {
	f.Add([]byte(`{"a":"x, \"y\"","b":[1,{"c":","}],"d":2}`), 3)
	f.Add([]byte(`[1,2,3]`), 1)
	f.Add([]byte(`}{,",\`), 2)
	f.Add([]byte(`{"a":1,"a":2,"b":3}`), 7)
	f.Fuzz(func(t *testing.T, whole []byte, size int) {
		size = max(1, size%100)
		var full map[string]any
		isObject := json.Unmarshal(whole, &full) == nil && full != nil
		var p partial
		for rest := string(whole); rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if !p.feed(piece) {
				continue
			}
			var early map[string]any
			err := json.Unmarshal(p.input(), &early)
			if isObject {
				require.NoError(t, err, "%s", p.input())
				require.LessOrEqual(t, len(early), len(full))
			}
		}
	})
}

// Words of a sub-agent that has no session are nobody's, and no words are none.
func TestWordsOfASubAgent(t *testing.T) {
	p, s := newSketch(client{parts: true})
	paint(t, p,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c2","name":"Agent","input":{"description":"look","prompt":"Look!"}}]}}`,
		`{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":"a1","tool_use_id":"c2","description":"look"}`)
	s.lines = nil
	p.partSpeaks("nobody", "agent_message_chunk", "m2", "words")
	p.partSpeaks("c2", "agent_message_chunk", "m2", "")
	require.Empty(t, s.lines)
	p.partSpeaks("c2", "agent_message_chunk", "m2", "words")
	require.Len(t, s.lines, 1)
	require.Contains(t, s.lines[0], "words")
}

// A question of an earlier session is drawn with the answers that it got. One that
// cannot be read any more, or has no answer for each question, keeps its title.
func TestAnsweredQuestionsOfATranscript(t *testing.T) {
	const question = `{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}],"multiSelect":false}]}`
	for _, c := range []struct{ input, answers, want string }{
		{question, `{"Which database?":"SQLite"}`, "Database → SQLite"},
		{question, `{}`, ""},
		{question, `{"Which other?":"SQLite"}`, ""},
		{`{"questions":7}`, `{"Which database?":"SQLite"}`, ""},
	} {
		p, s := newSketch(client{})
		p.answered("q", &toolCall{tool: display.Tool{Name: questionTool, Input: []byte(c.input)}}, gjson.Parse(c.answers))
		require.NotEmpty(t, s.lines)
		if c.want != "" {
			require.Contains(t, s.lines[0], c.want)
		} else {
			require.NotContains(t, s.lines[0], "Database → ")
		}
	}
}

// The model that is recommended is the one that Claude Code's own default stands for: if
// that comes first, says what it is, and is in the list.
func TestRecommendedModel(t *testing.T) {
	for name, c := range map[string]struct {
		models []claude.Model
		want   string
	}{
		"none":           {nil, ""},
		"it is resolved": {[]claude.Model{{Value: "default", Resolved: "m-1"}, {Value: "two", Resolved: "m-2"}, {Value: "one", Resolved: "m-1"}}, "one"},
		"by its value":   {[]claude.Model{{Value: "default", Resolved: "two"}, {Value: "two"}}, "two"},
		"not in it":      {[]claude.Model{{Value: "default", Resolved: "m-3"}, {Value: "one", Resolved: "m-1"}}, ""},
		"not resolved":   {[]claude.Model{{Value: "default"}, {Value: "one"}}, ""},
		"no default":     {[]claude.Model{{Value: "two", Resolved: "m-1"}, {Value: "one", Resolved: "m-1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := acp.SessionConfigSelectOptionsUngrouped{{Value: "default"}, {Value: "one"}, {Value: "two"}}
			o := acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{CurrentValue: "default", Options: acp.SessionConfigSelectOptions{Ungrouped: &list}}}
			recommend(o, defaultModel(c.models))
			want := "default"
			if c.want != "" {
				want = c.want
			}
			require.EqualValues(t, want, o.Select.CurrentValue)
			require.Equal(t, c.want != "", o.Select.Meta != nil)
		})
	}
}
