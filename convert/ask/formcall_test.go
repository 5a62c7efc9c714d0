package ask_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A call sent as a form and shown as questions gets the answers that the user
// gave to the questions shown.
func TestFormThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := acptest.Call(t)
		form := acptest.Must(ask.ParseForm(acptest.Must(json.Marshal(ask.Form(call)))))
		require.Len(t, form.Questions, len(call.Questions))
		shown := make([]convert.Answer, len(call.Questions))
		want := make([]convert.Answer, len(call.Questions))
		for i, q := range call.Questions {
			require.False(t, form.Questions[i].Closed)
			require.Equal(t, q.MultiSelect, form.Questions[i].MultiSelect)
			pick := rapid.IntRange(0, len(q.Options)-1).Draw(t, "pick")
			require.True(t, distinct(form.Questions[i]), "also where two labels look the same")
			require.Contains(t, form.Questions[i].Options[pick].Label, clean.Line(q.Options[pick].Label))
			shown[i] = convert.Answer{Selected: []string{form.Questions[i].Options[pick].Label}}
			want[i] = convert.Answer{Selected: []string{q.Options[pick].Label}}
			if rapid.Bool().Draw(t, "words") {
				if q.MultiSelect {
					shown[i].Text, want[i].Text = "more", "more"
				} else {
					shown[i].Note, want[i].Note = "more", "more"
				}
			}
		}
		reply := acptest.Must(form.Reply(convert.Outcome{Status: convert.Answered, Answers: shown}))
		o := acptest.Must(ask.FormOutcome(call, reply))
		require.Equal(t, convert.Outcome{Status: convert.Answered, Answers: want}, o)
	})
}

func distinct(q convert.Question) bool {
	seen := map[string]bool{}
	for _, o := range q.Options {
		if seen[o.Label] || o.Label == "" {
			return false
		}
		seen[o.Label] = true
	}
	return true
}

// A question without a header has none behind a form, either: the title of its
// field is no name for it.
func TestFormWithoutHeaders(t *testing.T) {
	form := acptest.Must(ask.ParseForm(clean.JSON(ask.Form(convert.Call{Questions: []convert.Question{{Text: "What name?"}, {Text: "Where?", Header: "Place"}}}))))
	require.Equal(t, []string{"", "Place"}, []string{form.Questions[0].Header, form.Questions[1].Header})
	require.Equal(t, "What name?", form.Questions[0].Text)
}

// Forms of others: MCP servers ask for numbers and booleans, too.
func TestForeignForm(t *testing.T) {
	form := acptest.Must(ask.ParseForm(json.RawMessage(`{"mode":"form","sessionId":"s","message":"Set up","requestedSchema":{"type":"object","properties":{
		"name":{"type":"string","title":"Name"},
		"port":{"type":"integer","description":"Which port?"},
		"rate":{"type":"number"},
		"tls":{"type":"boolean","title":"TLS"},
		"level":{"type":"string","enum":["low","high"]},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}}`)))
	for i, closed := range []bool{false, false, false, true, true, true} {
		require.Equal(t, closed, form.Questions[i].Closed)
	}
	require.Equal(t, "Set up\n\nName", form.Questions[0].Text)
	require.Equal(t, "Which port? (a whole number)", form.Questions[1].Text)
	yes := []string{"Yes"}
	reply := acptest.Must(form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{
		{Text: "x"}, {Text: "80"}, {Text: "0.5"}, {Selected: yes}, {Selected: []string{"high"}}, {Selected: []string{"b", "a"}},
	}}))
	require.JSONEq(t, `{"action":"accept","content":{"name":"x","port":80,"rate":0.5,"tls":true,"level":"high","tags":["a","b"]}}`, string(reply))

	_, err := form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{}, {Text: "many"}}})
	require.ErrorContains(t, err, `question 2: the answer does not fit: expected a whole number, got "many"`)
	_, err = form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{}, {}, {}, {Text: "maybe"}}})
	require.ErrorContains(t, err, `question 4: the answer does not fit: it accepts only its options, got "maybe"`)
	_, err = form.Reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{}, {}, {}, {Selected: yes, Note: "only if"}}})
	require.ErrorContains(t, err, `question 4: the answer does not fit: it accepts only its options, got "Yes (note: only if)"`)
	for status, want := range map[convert.Status]string{convert.Declined: "decline", convert.Cancelled: "cancel", convert.Failed: "cancel"} {
		reply := acptest.Must(form.Reply(convert.Outcome{Status: status}))
		require.JSONEq(t, `{"action":"`+want+`"}`, string(reply))
	}
}

func TestParseFormErrors(t *testing.T) {
	for params, want := range map[string]error{
		`{`: convert.ErrInvalidJSON,
		`{"mode":"url","requestedSchema":{"properties":{}}}`:         convert.ErrWrongType,
		`{"mode":"page","url":"https://example.com/"}`:               convert.ErrWrongType,
		`{"requestedSchema":{"properties":[]}}`:                      convert.ErrWrongType,
		`{"requestedSchema":{"properties":{"x":{"type":"object"}}}}`: convert.ErrWrongType,
	} {
		require.ErrorIs(t, acptest.Err(ask.ParseForm(json.RawMessage(params))), want, params)
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add([]byte(`{"mode":"form","requestedSchema":{"properties":{"q":{"type":"string","oneOf":[{"const":"a"}]},"q_custom":{"type":"string"}}}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		form, err := ask.ParseForm(params)
		if err != nil {
			return
		}
		answers := make([]convert.Answer, len(form.Questions))
		for i, q := range form.Questions {
			if len(q.Options) > 0 {
				answers[i].Selected = []string{q.Options[0].Label}
			} else {
				answers[i].Text = "1"
			}
		}
		reply, err := form.Reply(convert.Outcome{Status: convert.Answered, Answers: answers})
		if err == nil {
			require.True(t, json.Valid(reply))
		}
	})
}
