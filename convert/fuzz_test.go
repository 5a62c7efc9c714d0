package convert_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

var loose = convert.NoLimits

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

// Whatever is written in reply: it has one meaning, and what it picks is named in
// it.
func FuzzReadReply(f *testing.F) {
	for _, s := range []string{"1", "1,3", "1-3", "yes, please", "cancel", "", "٣", "１-２", "99999999999999999999", "1--2", "a, b", `"a", b`, "#2", "1, other x", "other", "“2”", "2.", "1 - 2"} {
		f.Add(s, "a", "2", true, false)
		f.Add(s, "2", "b, c", false, false)
		f.Add(s, "1,2", "#1", true, true)
	}
	f.Fuzz(func(t *testing.T, s, first, second string, multi, closed bool) {
		q := convert.Question{Text: "Q?", MultiSelect: multi, Closed: closed, Options: []convert.Option{{Label: first}, {Label: second}, {Label: "x"}}}
		said := q.ReadReply(s)
		switch {
		case said.Unclear != "":
			require.Empty(t, said.Text)
			require.False(t, said.Cancel)
			require.True(t, said.Other || len(said.Picks) == 0)
		case said.Cancel:
			require.Equal(t, convert.Meaning{Cancel: true}, said)
		default:
			require.False(t, said.Other)
			o := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{said.Answer(q)}}
			require.True(t, first == second || o.Check(convert.Call{Questions: []convert.Question{q}}) == nil, "%+v", said)
			require.False(t, closed && said.Text != "")
			require.True(t, strings.HasSuffix(strings.TrimSpace(s), said.Text), "the user's own words")
		}
		require.True(t, slices.IsSorted(said.Picks))
		if len(said.Picks) > 0 && said.Unclear == "" && !strings.ContainsFunc(s, unicode.IsNumber) { // named by their labels
			for _, p := range said.Picks {
				require.True(t, named(s, q.Options[p].Label), "%q picks %q", s, q.Options[p].Label)
			}
		}
	})
}

// named reports whether a label stands in a reply, in whatever case.
func named(reply, label string) bool {
	fold := func(s string) string {
		return strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(clean.Line(s)), "")))
	}
	var quoted string
	if json.Unmarshal([]byte(strings.TrimSpace(reply)), &quoted) == nil {
		reply += quoted
	}
	return strings.Contains(fold(reply), fold(label)) || strings.Contains(reply, "\\")
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
		answers, err := c.ReadAnswers(data)
		if err != nil {
			return
		}
		require.NoError(t, convert.Outcome{Status: convert.Answered, Answers: answers}.Check(c))
		for i, a := range answers {
			require.Equal(t, a, acptest.Must(c.ReadAnswer(i, c.WriteAnswer(i, a))), "written and read again")
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
