package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

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
