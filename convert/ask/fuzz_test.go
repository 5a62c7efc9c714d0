package ask_test

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func FuzzFormOutcome(f *testing.F) {
	f.Add([]byte(`{"action":"accept","content":{"question_0":"a","question_1":["y","x"],"question_0_custom":"t"}}`))
	f.Add([]byte(`{"action":"decline"}`))
	f.Add([]byte(`{"action":7,"content":[]}`))
	c := fuzzedCall()
	f.Fuzz(func(t *testing.T, reply []byte) {
		o, err := ask.FormOutcome(c, reply)
		if err != nil {
			require.ErrorIs(t, err, convert.ErrProtocol)
			require.Empty(t, o)
			return
		}
		require.NoError(t, o.Check(c))
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
		asking := ask.New(c, q, ask.Options{})
		for _, raw := range [][]byte{first, then, then, then} {
			var resp acp.RequestPermissionResponse
			if json.Unmarshal(raw, &resp) != nil {
				return
			}
			require.NotContains(t, string(acptest.Must(json.Marshal(asking.Request()))), "\n")
			step, err := asking.Reply(resp)
			if err != nil {
				require.ErrorIs(t, err, convert.ErrProtocol)
				return
			}
			if step != ask.Done {
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
