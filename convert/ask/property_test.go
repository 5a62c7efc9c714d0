package ask_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A user with a wish, a client that shows buttons and returns one id at a time:
// the answer that comes out is the wish.
func TestWhatIsPickedIsWhatArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := acptest.Call(t)
		q := rapid.IntRange(0, len(c.Questions)-1).Draw(t, "q")
		question := c.Questions[q]
		most := 1
		if question.MultiSelect {
			most = len(question.Options)
		}
		wish := rapid.Permutation(positions(len(question.Options))).Draw(t, "wish")[:rapid.IntRange(1, most).Draw(t, "n")]
		text := rapid.SampledFrom([]string{"", "own words"}).Draw(t, "text")

		asking := ask.New(c, q, ask.Options{})
		step := ask.Again
		for _, pick := range wish {
			require.Equal(t, ask.Again, step)
			step = reply(t, asking, idOf(t, asking, question, pick), "")
		}
		want := convert.Answer{Selected: labelsOf(question, wish)}
		if step == ask.Again {
			if text == "" {
				step = reply(t, asking, ask.DoneID, "")
			} else {
				step = reply(t, asking, ask.OtherID, text)
				want.Text = text
			}
		}
		require.Equal(t, ask.Done, step)
		require.Equal(t, want, asking.Answer())
		answer := question.AnswerText(asking.Answer())
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
		c := acptest.Call(t)
		question := c.Questions[0]
		asking := ask.New(c, 0, ask.Options{Aware: rapid.Bool().Draw(t, "aware")})
		for range 6 {
			var resp acp.RequestPermissionResponse
			id := rapid.OneOf(acptest.Labels, rapid.SampledFrom([]string{"", ask.OtherID, ask.DoneID, "__option_1__"})).Draw(t, "id")
			if rapid.IntRange(0, 9).Draw(t, "kind") > 0 {
				resp.Outcome = acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))
				if rapid.Bool().Draw(t, "several") {
					resp.Outcome.Selected.Meta = map[string]any{"selectedOptionIds": []any{id, "zzz"}}
				}
			} else {
				resp.Outcome.Cancelled = &acp.RequestPermissionOutcomeCancelled{Outcome: id}
			}
			step, err := asking.Reply(resp)
			require.NotEqual(t, ask.Dismissed, step, "nobody said cancelled")
			if err != nil {
				require.ErrorIs(t, err, convert.ErrProtocol)
				continue
			}
			if step != ask.Again {
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

func TestFormRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := acptest.Call(t)
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
		reply := acptest.Must(json.Marshal(map[string]any{"action": "accept", "content": content}))
		o := acptest.Must(ask.FormOutcome(c, reply))
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
func idOf(t *rapid.T, a *ask.Asking, q convert.Question, pick int) string {
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

func reply(t *rapid.T, a *ask.Asking, id, text string) ask.Step {
	resp := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))}
	if text != "" {
		resp.Meta = map[string]any{"customText": text}
	}
	return acptest.Must(a.Reply(resp))
}
