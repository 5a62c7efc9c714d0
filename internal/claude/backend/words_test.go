package backend

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

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
			recommendModel(&o, c.models)
			want := "default"
			if c.want != "" {
				want = c.want
			}
			require.EqualValues(t, want, o.Select.CurrentValue)
			require.Equal(t, c.want != "", o.Select.Meta != nil)
		})
	}
}
