package convert_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// encodes checks that all that is sent for a call can be encoded, inside of what
// a connection puts around it.
func encodes(t require.TestingT, c convert.Call) {
	answers := make([]convert.Answer, len(c.Questions))
	sent := []any{ask.Form(c), ask.Updates(c).AnnounceAll()}
	for q := range c.Questions {
		sent = append(sent, ask.New(c, q, ask.Options{}).Request(), ask.Updates(c).Announce(q, ask.TitleHeader))
		answers[q] = convert.Answer{Text: "x", Note: "\xff"}
		if options := c.Questions[q].Options; len(options) > 0 {
			answers[q] = convert.Answer{Selected: []string{options[0].Label}}
		}
	}
	for _, status := range []convert.Status{convert.Answered, convert.Declined, convert.Cancelled, convert.Disconnected, convert.Failed} {
		o := convert.Outcome{Status: status, Reason: "r"}
		if status == convert.Answered {
			o = convert.Outcome{Status: status, Answers: answers}
		}
		sent = append(sent, dialect.ClaudeResult(c, o))
	}
	for _, v := range sent {
		line := acptest.Must(json.Marshal(map[string]any{"params": map[string]any{"response": map[string]any{"response": v}}}))
		require.NotContains(t, string(line), "\n")
	}
}

// Whatever Parse accepts can be asked, and answered.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"questions":[{"question":"Q?","header":"H","options":["a",{"label":"b","description":"d"}],"multiSelect":true}]}`))
	f.Add([]byte(`{"questions":"[{\"question\":\"Q?\",\"options\":[\"a\",\"b\"]}]","x":{"y":[1,2]}}`))
	f.Add([]byte(`{"questions":[{"question":"\ud83d","options":["\u0000","__other__"]}],"questions":[{"question":"x","options":null}]}`))
	f.Add([]byte(`{"questions":[`))
	for _, depth := range []int{998, 1001, 9_999, 10_001, 30_000} {
		for _, format := range places {
			f.Add([]byte(place(format, depth)))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if c, err := convert.Parse(input, loose); err == nil {
			encodes(t, c)
		}
	})
}

// places are where an input can hold what we do not know, and pass on.
var places = []string{
	`{"questions":[{"question":"Q?","options":["a","b"]}],"x":%s}`,
	`{"questions":[{"question":"Q?","options":["a","b"],"x":%s}]}`,
	`{"questions":[{"question":"Q?","options":["a",{"label":"b","x":%s}]}]}`,
	`{"questions":"[{\"question\":\"Q?\",\"options\":[\"a\",\"b\"],\"x\":%s}]"}`,
}

func place(format string, depth int) string {
	return fmt.Sprintf(format, strings.Repeat("[", depth)+strings.Repeat("]", depth))
}

// An input that nests deep is refused before anyone is asked, or its result can
// be encoded, in every dialect.
func TestDeepInput(t *testing.T) {
	envelopes := []string{
		`%s`,
		`{"id":"i","name":"AskUserQuestion","input":%s}`,
		`{"name":"ask_user_question","input":%s}`,
		`{"id":"i","name":"ask_user","input":%s}`,
		`{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":%s}}`,
		`{"jsonrpc":"2.0","id":1,"method":"_x.ai/ask_user_question","params":%s}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"toolCall":{"rawInput":%s,"_meta":{"qwenInteractionKind":"user_question"}}}}`,
	}
	more := []string{ // whole documents, with a deep value in other places
		`{"type":"ask_user_request","requestId":%s,"questions":[{"question":"Q?"}]}`,
		`{"type":"ask_user_request","requestId":"r","metadata":%s,"questions":[{"question":"Q?"}]}`,
		`{"jsonrpc":"2.0","id":%s,"method":"client/ask_user","params":{"session_id":"s1","question":"Q?"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"session_id":"s1","question":%s}}`,
		`{"jsonrpc":"2.0","id":1,"method":"client/ask_user","params":{"session_id":"s1","question":"Q?","choices":[%s]}}`,
		`{"jsonrpc":"2.0","id":%s,"method":"cursor/ask_question","params":{"questions":[{"id":"q","prompt":"Q?","options":[{"id":"a","label":"A"}]}]}}`,
	}
	var documents []string
	for _, e := range envelopes {
		for _, p := range places {
			documents = append(documents, fmt.Sprintf(strings.ReplaceAll(e, "%s", "%[1]s"), p))
		}
	}
	documents = append(documents, more...)
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(985, 1010), rapid.IntRange(9_980, 10_010), rapid.IntRange(10_010, 40_000)).Draw(t, "depth")
		req, err := dialect.Decode([]byte(place(rapid.SampledFrom(documents).Draw(t, "document"), depth)), "")
		if depth > 1000 {
			require.Error(t, err)
		}
		if err != nil {
			return
		}
		encodes(t, req.Call)
		for _, o := range []convert.Outcome{{Status: convert.Answered, Answers: []convert.Answer{{Text: "x"}}}, {Status: convert.Cancelled}, {Status: convert.Failed}} {
			body := dialect.Encode(req, dialect.Reply{Outcome: o}).Body
			require.True(t, json.Valid(body), "%s", body)
		}
	})
	for _, format := range places {
		_, err := convert.Parse([]byte(place(format, 1001)), loose)
		require.ErrorIs(t, err, convert.ErrTooDeep)
		require.EqualError(t, err, "input nests too deep: at most 1000 levels")
	}
	deep := place(`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","x":%s}}}}`, 1001)
	require.ErrorIs(t, acptest.Err(ask.ParseForm(json.RawMessage(deep))), convert.ErrTooDeep)
	require.ErrorIs(t, acptest.Err(ask.ServerForm{Schema: json.RawMessage(place(`{"type":"object","properties":{"a":{"type":"string","x":%s}}}`, 1001))}.Call()), convert.ErrTooDeep)
}

// A call that was made in Go may have any input, or that of another call.
func TestInputThatIsNotTheCalls(t *testing.T) {
	for _, input := range []string{
		"", "{", "[1]", `"x"`, "null", `{"questions":[]}`, `{"questions":[{"question":7}],"x":1}`,
		`{"questions":"["}`, `{"questions":[{"question":"a"},{"question":"b"}]}`, place(places[0], 9_000), place(places[3], 9_000),
	} {
		c := convert.Call{ID: "i", Input: []byte(input), Questions: []convert.Question{{Text: "Q?", Options: []convert.Option{{Label: "a"}, {Label: "b"}}}}}
		encodes(t, c)
		result := dialect.ClaudeResult(c, convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"b"}}}})
		require.Contains(t, string(result), `"answers":{"Q?":"b"}`, input)
	}
}

func TestJoinSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(acptest.Labels, 1, 5).Draw(t, "items")
		require.Equal(t, items, convert.Split(convert.Join(items)))
	})
}
