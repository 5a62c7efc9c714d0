package adapter_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// besides is an editor whose user picks the first option, and writes something beside it
// in each first request of a question.
type besides struct {
	t      *testing.T
	key    string
	asked  map[acp.ToolCallId]bool
	remark bool // it was asked again, with what was understood
}

func (b *besides) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	resp := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[0].OptionId)}
	if b.asked[r.ToolCall.ToolCallId] {
		text := acptest.Must(json.Marshal(r.ToolCall.Content))
		b.remark = b.remark || strings.Contains(string(text), condition)
		return resp, nil
	}
	b.asked[r.ToolCall.ToolCallId] = true
	resp.Outcome.Selected.Meta = map[string]any{b.key: condition}
	return resp, nil
}

const condition = "only if staging is green"

// Words beside a pick may be a condition. Either the agent gets them, or there is no answer
// yet: in every dialect, and wherever they are written.
func TestWordsBesideAPickAreNotDropped(t *testing.T) {
	files := acptest.Must(filepath.Glob("../testdata/golden/dialect/*/*.txtar"))
	refused := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		id := filepath.Base(filepath.Dir(name))
		var req dialect.Request
		for _, f := range txtar.Parse(data).Files {
			if f.Name == "call.json" {
				req, err = dialect.Decode(f.Data, id)
				require.NoError(t, err, name)
			}
		}
		answers := make([]convert.Answer, len(req.Call.Questions))
		for i, q := range req.Call.Questions {
			if len(q.Options) == 0 {
				answers = nil
				break
			}
			answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}, Note: condition}
		}
		if answers == nil {
			continue
		}
		holds := func(way string, o convert.Outcome, again bool) {
			if o.Status == convert.Answered && !again {
				require.Contains(t, string(dialect.Encode(req, dialect.Reply{Outcome: o}).Body), condition, "%s: %s", way, name)
				return
			}
			refused[id] = true
		}
		for _, key := range []string{"customText", "notes"} {
			editor := &besides{t: t, key: key, asked: map[acp.ToolCallId]bool{}}
			o, _ := adapter.New(editor, nil).Ask(t.Context(), req.Call)
			holds(key, o, editor.remark)
		}
		o, _ := adapter.Static{Answers: answers}.Ask(t.Context(), req.Call)
		holds("resolver", o, false)

		d := new(desk.Desk)
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: req.Call})
		err = d.Answer(ticket.Item().Name, answers, "phone")
		holds("desk", convert.Outcome{Status: convert.Answered, Answers: answers}, err != nil)
		ticket.Leave()

		var written []json.RawMessage
		for i := range answers {
			written = append(written, req.Call.WriteAnswer(i, answers[i]))
		}
		list, err := json.Marshal(written)
		require.NoError(t, err)
		answers, err = req.Call.ReadAnswers(list)
		holds("--answers", convert.Outcome{Status: convert.Answered, Answers: answers}, err != nil)
	}
	for _, id := range []string{"choice", "copilot", "cursor", "grok-plan", "kimi", "mcp", "opencode"} {
		require.True(t, refused[id], "%s takes only its options", id)
	}
	require.False(t, refused["claude"] || refused["pi"] || refused["grok"] || refused["phoenix"], "these have a place for notes")
}
