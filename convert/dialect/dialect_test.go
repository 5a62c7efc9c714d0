package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// No document belongs to two dialects, so that the order in which they are
// tried does not matter.
func TestRecognisedByOne(t *testing.T) {
	for document, want := range map[string]string{
		`{"name":"AskUserQuestion","input":{"questions":[]}}`:               "claude",
		`{"questions":[{"question":"a?","options":["x","y"]}]}`:             "claude",
		`{"questions":"[{\"question\":\"a?\",\"options\":[\"x\",\"y\"]}]"}`: "claude",
		`{}`: "claude",
		`{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{}}}`: "claude",
		`{"name":"ask_user_question","input":{"questions":[]}}`:                                                    "phoenix",
		`{"name":"ask_user","input":{"questions":[]}}`:                                                             "pi",
		`{"type":"ask_user_request","requestId":"1","questions":[]}`:                                               "pi",
		`{"questions":[{"question":"a?","options":["x","y"]},{"question":"b?"}]}`:                                  "pi",
		`{"name":"ask_user","input":{"question":"a?"}}`:                                                            "opal",
		`{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"session_id":"s1","question":"a?"}}`:         "opal",
		`{"question":"a?"}`:                                                       "opal",
		`{"question":"a?","options":["x","y"]}`:                                   "pi",
		`{"question":"a?","header":"h"}`:                                          "pi",
		`{"name":"ask_user","input":{"question":"a?","suggestions":["x"]}}`:       "pi",
		`{"name":"ask_user","input":{"question":"a?","options":[{"label":"x"}]}}`: "pi",
		`{"name":"ask_user","input":{"question":"a?","choices":["x"]}}`:           "opal",
		`{"id":1,"method":"_x.ai/ask_user_question","params":{}}`:                 "grok",
		`{"id":1,"method":"_x.ai/exit_plan_mode","params":{}}`:                    "grok-plan",
		`{"id":1,"method":"cursor/ask_question","params":{}}`:                     "cursor",
		`{"id":1,"method":"session/request_permission","params":{"options":[{"kind":"allow_once"},{"kind":"allow_once"}],"toolCall":{"_meta":{"qwenInteractionKind":"user_question"}}}}`: "qwen",
		`{"id":1,"method":"session/request_permission","params":{"options":[{"kind":"allow_once"},{"kind":"allow_once"}]}}`:                                                              "choice",
	} {
		id, err := dialect.Recognise([]byte(document))
		require.NoError(t, err, document)
		require.Equal(t, want, id, document)
	}
}

// The dialect is recognised or refused, whatever the document is.
func FuzzRecognise(f *testing.F) {
	for _, call := range goldenCalls(f, "*/*", "dialect/*/*") {
		f.Add(call)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := dialect.Recognise(data)
		if err == nil {
			require.Contains(t, dialect.IDs(), id)
		}
	})
}

// A permission request is a question only if nothing in it refuses.
func TestPermissionIsNoQuestion(t *testing.T) {
	for _, options := range []string{
		`[]`, `[{"kind":"allow_once"}]`,
		`[{"kind":"allow_once"},{"kind":"reject_once"}]`,
		`[{"kind":"allow_always"},{"kind":"allow_once"}]`,
	} {
		_, err := dialect.Recognise([]byte(`{"id":1,"method":"session/request_permission","params":{"options":` + options + `}}`))
		require.ErrorIs(t, err, dialect.ErrUnknown, options)
	}
}

// Options that an agent names alike, or not at all, can be told apart.
func TestNamesTwice(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":1,"method":"cursor/ask_question","params":{"questions":[{"id":"q","prompt":"Q?","options":[` +
		`{"id":"1","label":"A"},{"id":"2","label":"A"},{"id":"2","label":"A"},{"id":"3","label":"\u3164"},{"id":"4","label":""}]}]}}`
	req := acptest.Must(dialect.Decode([]byte(request), ""))
	var labels []string
	for _, o := range req.Call.Questions[0].Options {
		labels = append(labels, o.Label)
	}
	require.Equal(t, []string{"A", "A (2)", "A (2) 3", "3", "4"}, labels)
}

// A tool call of Opal's without an answer says who could not be asked, once.
func TestOpalErrors(t *testing.T) {
	req := acptest.Must(dialect.Decode([]byte(`{"name":"ask_user","input":{"question":"Name?"}}`), ""))
	for reason, want := range map[string]string{
		"no screen":                               "User input request failed: no screen",
		convert.ParentFailed + "no screen":        "Question failed: no screen",
		convert.UserFailed + "no screen":          "User input request failed: no screen",
		"ask_user is not available to sub-agents": "User input request failed: ask_user is not available to sub-agents",
	} {
		result := dialect.Encode(req, dialect.Reply{Outcome: convert.Outcome{Status: convert.Failed, Reason: reason}})
		require.True(t, result.IsError)
		require.Equal(t, want, string(result.Body))
	}
}

// Questions in a string may nest deeper than the document does. They are
// refused, in every dialect.
func TestDeepQuestions(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, question := range []string{`{"question":"a?","suggestions":` + deep + `}`, `{"question":"a?","options":` + deep + `,"multi_select":true}`} {
		text := acptest.Must(json.Marshal("[" + question + "]"))
		for _, document := range []string{
			`{"name":"ask_user","input":{"questions":` + string(text) + `}}`,
			`{"method":"_x.ai/ask_user_question","id":1,"params":{"questions":` + string(text) + `}}`,
		} {
			for _, id := range dialect.IDs() {
				_, err := dialect.Decode([]byte(document), id)
				if id != "grok-plan" { // which has no questions
					require.Error(t, err, id)
				}
			}
		}
	}
}

// A member without a name is none that a dialect has another name for.
func TestMemberWithoutAName(t *testing.T) {
	const call = `{"name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multi_select":true%s}]}}`
	plain := acptest.Must(dialect.Decode(fmt.Appendf(nil, call, ""), "kimi"))
	require.True(t, plain.Call.Questions[0].MultiSelect)
	odd := acptest.Must(dialect.Decode(fmt.Appendf(nil, call, `,"":"x"`), "kimi"))
	require.Equal(t, plain.Call.Questions, odd.Call.Questions)
}
