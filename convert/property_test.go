package convert_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

var labels = rapid.OneOf(
	rapid.StringN(1, 12, -1),
	rapid.SampledFrom([]string{"a", "a, b", `"`, `say "x"`, ",", ", ", " - ", "__other__", "__done__", "__option_1__", "__option_2__", "1", "Other"}),
).Filter(func(s string) bool { return clean.Line(s) != "" && utf8.ValidString(s) })

func genCall(t *rapid.T) convert.Call {
	texts := rapid.SliceOfNDistinct(labels, 1, 4, rapid.ID[string]).Draw(t, "questions")
	c := convert.Call{Session: "s", ID: "id", Name: "AskUserQuestion"}
	for i, text := range texts {
		q := convert.Question{Text: text, MultiSelect: rapid.Bool().Draw(t, fmt.Sprint("multi", i))}
		for _, l := range rapid.SliceOfNDistinct(labels, 2, 4, rapid.ID[string]).Draw(t, fmt.Sprint("options", i)) {
			q.Options = append(q.Options, convert.Option{Label: l})
		}
		c.Questions = append(c.Questions, q)
	}
	return c
}

func TestJoinSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(labels, 1, 5).Draw(t, "items")
		require.Equal(t, items, convert.Split(convert.Join(items)))
	})
}

// A user with a wish, a client that shows buttons and returns one id at a time:
// the answer that comes out is the wish.
func TestWhatIsPickedIsWhatArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCall(t)
		q := rapid.IntRange(0, len(c.Questions)-1).Draw(t, "q")
		question := c.Questions[q]
		most := 1
		if question.MultiSelect {
			most = len(question.Options)
		}
		wish := rapid.Permutation(positions(len(question.Options))).Draw(t, "wish")[:rapid.IntRange(1, most).Draw(t, "n")]
		text := rapid.SampledFrom([]string{"", "own words"}).Draw(t, "text")

		asking := convert.Ask(c, q, convert.PermissionOptions{})
		step := convert.Again
		for _, pick := range wish {
			require.Equal(t, convert.Again, step)
			step = reply(t, asking, idOf(t, asking, question, pick), "")
		}
		want := convert.Answer{Selected: labelsOf(question, wish)}
		if step == convert.Again {
			if text == "" {
				step = reply(t, asking, convert.DoneID, "")
			} else {
				step = reply(t, asking, convert.OtherID, text)
				want.Text = text
			}
		}
		require.Equal(t, convert.Done, step)
		require.Equal(t, want, asking.Answer())
		answer := convert.AnswerText(question, asking.Answer())
		if question.MultiSelect {
			require.Equal(t, want.Items(), convert.Split(answer))
		} else {
			require.Equal(t, want.Selected[0], answer)
		}
	})
}

// However strange the reply, what comes out was offered or typed.
func TestNoAnswerIsInvented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCall(t)
		question := c.Questions[0]
		asking := convert.Ask(c, 0, convert.PermissionOptions{Aware: rapid.Bool().Draw(t, "aware")})
		for range 6 {
			var resp acp.RequestPermissionResponse
			id := rapid.OneOf(labels, rapid.SampledFrom([]string{"", convert.OtherID, convert.DoneID, "__option_1__"})).Draw(t, "id")
			if rapid.IntRange(0, 9).Draw(t, "kind") > 0 {
				resp.Outcome = acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))
				if rapid.Bool().Draw(t, "several") {
					resp.Outcome.Selected.Meta = map[string]any{"selectedOptionIds": []any{id, "zzz"}}
				}
			} else {
				resp.Outcome.Cancelled = &acp.RequestPermissionOutcomeCancelled{Outcome: id}
			}
			step, err := asking.Reply(resp)
			require.NotEqual(t, convert.Dismissed, step, "nobody said cancelled")
			if err != nil {
				require.ErrorIs(t, err, convert.ErrProtocol)
				continue
			}
			if step != convert.Again {
				break
			}
		}
		a := asking.Answer()
		require.Empty(t, a.Text)
		for _, l := range a.Selected {
			require.True(t, slices.ContainsFunc(question.Options, func(o convert.Option) bool { return o.Label == l }))
		}
	})
}

// What goes back is valid JSON with the questions as they came and one string
// per answered question.
func TestUpdatedInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := genCall(t)
		c, err := convert.Parse(convert.UpdatedInput(made, nil), convert.Limits{})
		require.NoError(t, err)
		require.Equal(t, made.Questions, c.Questions)
		answers := make([]convert.Answer, len(c.Questions))
		for i, q := range c.Questions {
			if rapid.Bool().Draw(t, "answered") {
				answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}, Note: rapid.String().Draw(t, "note")}
			}
		}
		out := convert.UpdatedInput(c, answers)
		require.True(t, json.Valid(out), "%s", out)
		require.Equal(t, gjson.GetBytes(c.Input, "questions").Raw, gjson.GetBytes(out, "questions").Raw)
		var got struct{ Answers map[string]string }
		require.NoError(t, json.Unmarshal(out, &got))
		for i, q := range c.Questions {
			text, ok := got.Answers[q.Text]
			require.Equal(t, !answers[i].Empty(), ok)
			if ok {
				require.Equal(t, convert.AnswerText(q, answers[i]), text)
			}
		}
	})
}

func TestFormRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCall(t)
		content := map[string]any{}
		want := make([]convert.Answer, len(c.Questions))
		for i, q := range c.Questions {
			most := 1
			if q.MultiSelect {
				most = len(q.Options)
			}
			picks := rapid.Permutation(positions(len(q.Options))).Draw(t, "picks")[:rapid.IntRange(0, most).Draw(t, "n")]
			key := fmt.Sprintf("question_%d", i)
			var chosen []string
			for _, p := range picks {
				chosen = append(chosen, q.Options[p].Label)
			}
			switch {
			case q.MultiSelect:
				content[key] = chosen
			case len(chosen) == 1:
				content[key] = chosen[0]
			}
			want[i] = convert.Answer{Selected: labelsOf(q, picks)}
			if rapid.Bool().Draw(t, "custom") {
				content[key+"_custom"] = "own words"
				if q.MultiSelect || len(picks) == 0 {
					want[i].Text = "own words"
				} else {
					want[i].Note = "own words"
				}
			}
		}
		reply, err := json.Marshal(map[string]any{"action": "accept", "content": content})
		require.NoError(t, err)
		o, err := convert.FormOutcome(c, reply)
		require.NoError(t, err)
		if slices.ContainsFunc(want, func(a convert.Answer) bool { return !a.Empty() }) {
			require.Equal(t, convert.Outcome{Status: convert.Answered, Answers: want}, o)
		} else {
			require.Equal(t, convert.Declined, o.Status)
		}
	})
}

func positions(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func labelsOf(q convert.Question, picks []int) []string {
	picks = slices.Sorted(slices.Values(picks))
	var list []string
	for _, p := range picks {
		list = append(list, q.Options[p].Label)
	}
	return list
}

// idOf finds the id of the button on which the user sees an option.
func idOf(t *rapid.T, a *convert.Asking, q convert.Question, pick int) string {
	at := pick
	for _, p := range a.Picked() {
		if p < pick {
			at--
		}
	}
	if len(a.Picked()) > 0 {
		at++ // Done comes first
	}
	return string(a.Request().Options[at].OptionId)
}

func reply(t *rapid.T, a *convert.Asking, id, text string) convert.Step {
	resp := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))}
	if text != "" {
		resp.Meta = map[string]any{"customText": text}
	}
	step, err := a.Reply(resp)
	require.NoError(t, err)
	return step
}
