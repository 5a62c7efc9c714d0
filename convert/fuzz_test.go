package convert_test

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

var loose = convert.Limits{MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"questions":[{"question":"Q?","header":"H","options":["a",{"label":"b","description":"d"}],"multiSelect":true}]}`))
	f.Add([]byte(`{"questions":"[{\"question\":\"Q?\",\"options\":[\"a\",\"b\"]}]","x":{"y":[1,2]}}`))
	f.Add([]byte(`{"questions":[{"question":"\ud83d","options":["\u0000","__other__"]}],"questions":[{"question":"x","options":null}]}`))
	f.Add([]byte(`{"questions":[`))
	f.Fuzz(func(t *testing.T, input []byte) {
		c, err := convert.Parse(input, loose)
		if err != nil {
			return
		}
		answers := make([]convert.Answer, len(c.Questions))
		for q := range c.Questions {
			request, err := json.Marshal(convert.Permission(c, q, convert.PermissionOptions{}))
			require.NoError(t, err)
			require.NotContains(t, string(request), "\n")
			answers[q].Text = "x"
		}
		require.True(t, json.Valid(convert.ClaudeResult(c, convert.Outcome{Status: convert.Answered, Answers: answers})))
		_, err = json.Marshal(convert.Form(c))
		require.NoError(t, err)
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(`Auth, "Logs, metrics", x`)
	f.Add(`"a" b, "`)
	f.Fuzz(func(t *testing.T, s string) {
		items := convert.Split(s)
		again := convert.Split(convert.Join(items))
		if !strings.Contains(s, "\xff") && json.Valid([]byte(`"x"`)) && len(items) > 0 && valid(items) {
			require.Equal(t, items, again)
		}
	})
}

// valid leaves out what cannot be an item: nothing, or bytes that are no text.
func valid(items []string) bool {
	for _, s := range items {
		if s == "" || strings.ToValidUTF8(s, "?") != s {
			return false
		}
	}
	return true
}

func FuzzFormOutcome(f *testing.F) {
	f.Add([]byte(`{"action":"accept","content":{"question_0":"a","question_1":["y","x"],"question_0_custom":"t"}}`))
	f.Add([]byte(`{"action":"decline"}`))
	f.Add([]byte(`{"action":7,"content":[]}`))
	c := fuzzedCall()
	f.Fuzz(func(t *testing.T, reply []byte) {
		o, err := convert.FormOutcome(c, reply)
		if err != nil {
			require.ErrorIs(t, err, convert.ErrProtocol)
			require.Empty(t, o)
			return
		}
		require.NoError(t, o.Check(c))
	})
}

func FuzzReadMessage(f *testing.F) {
	for _, s := range []string{"1", "1,3", "1-3", "yes, please", "cancel", "", "٣", "１-２", "99999999999999999999", "1--2", "a, b", `"a", b`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, multi bool) {
		q := convert.Question{Text: "Q?", MultiSelect: multi, Options: []convert.Option{{Label: "a"}, {Label: "2"}, {Label: "b, c"}}}
		said := convert.ReadMessage(q, s)
		n := 0
		for _, is := range []bool{len(said.Picks) > 0, said.Text != "", said.Cancel, said.Unclear != ""} {
			if is {
				n++
			}
		}
		require.Equal(t, 1, n, "exactly one meaning: %+v", said)
		require.True(t, multi || len(said.Picks) <= 1)
		for _, p := range said.Picks {
			require.True(t, p >= 0 && p < len(q.Options))
		}
		if said.Text != "" {
			require.Equal(t, strings.TrimSpace(s), said.Text)
		}
	})
}

// Whatever is given beforehand, in --answers or a pending file, is answers that
// fit the questions, or an error.
func FuzzReadAnswers(f *testing.F) {
	for _, s := range []string{
		`["a",["x","y"],"my words"]`, `[1,[2,"x"],null]`, `["2"]`, `[{"selected":["b"],"text":"t","note":"n"}]`,
		`[1e400,-1,0]`, `[[[]],{"selected":7},"\ud800"]`, `{}`, `["a",`, `[true]`,
	} {
		f.Add([]byte(s))
	}
	c := fuzzedCall()
	f.Fuzz(func(t *testing.T, data []byte) {
		answers, err := convert.ReadAnswers(c, data)
		if err != nil {
			return
		}
		require.NoError(t, convert.Outcome{Status: convert.Answered, Answers: answers}.Check(c))
		for i, a := range answers {
			again, err := convert.ReadAnswer(c, i, convert.WriteAnswer(c, i, a))
			require.NoError(t, err)
			require.Equal(t, a, again, "written and read again")
		}
	})
}

// Whatever an editor replies, in one round or several: what counts as an answer
// was offered, or typed.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		`{"outcome":{"outcome":"selected","optionId":"a"}}`,
		`{"outcome":{"outcome":"selected","optionId":"__other__","_meta":{"customText":" t "}}}`,
		`{"outcome":{"outcome":"selected","optionId":"x","_meta":{"selectedOptionIds":["y","x"],"notes":"n"}}}`,
		`{"outcome":{"outcome":"selected","optionId":"__done__"}}`,
		`{"outcome":{"outcome":"selected","optionId":"__option_1__"},"_meta":{"selectedOptionIds":[]}}`,
		`{"outcome":{"outcome":"cancelled"}}`,
	} {
		f.Add([]byte(s), []byte(s), uint8(1))
	}
	c := fuzzedCall()
	f.Fuzz(func(t *testing.T, first, then []byte, question uint8) {
		q := int(question) % len(c.Questions)
		asking := convert.Ask(c, q, convert.PermissionOptions{})
		for _, raw := range [][]byte{first, then, then, then} {
			var resp acp.RequestPermissionResponse
			if json.Unmarshal(raw, &resp) != nil {
				return
			}
			request, err := json.Marshal(asking.Request())
			require.NoError(t, err)
			require.NotContains(t, string(request), "\n")
			step, err := asking.Reply(resp)
			if err != nil {
				require.ErrorIs(t, err, convert.ErrProtocol)
				return
			}
			if step != convert.Done {
				continue
			}
			answers := make([]convert.Answer, len(c.Questions))
			answers[q] = asking.Answer()
			require.False(t, answers[q].Empty(), "an answer that says nothing")
			require.NoError(t, convert.Outcome{Status: convert.Answered, Answers: answers}.Check(c))
			return
		}
	})
}

func fuzzedCall() convert.Call {
	return convert.Call{ID: "id", Questions: []convert.Question{
		{Text: "A?", Options: []convert.Option{{Label: "a"}, {Label: "b"}}},
		{Text: "B?", MultiSelect: true, Options: []convert.Option{{Label: "x"}, {Label: "y"}, {Label: "__done__"}}},
		{Text: "C?"},
	}}
}
