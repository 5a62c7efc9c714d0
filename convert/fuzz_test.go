package convert_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

var loose = convert.Limits{MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true}

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

func FuzzReadReply(f *testing.F) {
	for _, s := range []string{"1", "1,3", "1-3", "yes, please", "cancel", "", "٣", "１-２", "99999999999999999999", "1--2", "a, b", `"a", b`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, multi bool) {
		q := convert.Question{Text: "Q?", MultiSelect: multi, Options: []convert.Option{{Label: "a"}, {Label: "2"}, {Label: "b, c"}}}
		said := convert.ReadReply(q, s)
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

func fuzzedCall() convert.Call {
	return convert.Call{ID: "id", Questions: []convert.Question{
		{Text: "A?", Options: []convert.Option{{Label: "a"}, {Label: "b"}}},
		{Text: "B?", MultiSelect: true, Options: []convert.Option{{Label: "x"}, {Label: "y"}, {Label: "__done__"}}},
		{Text: "C?"},
	}}
}
