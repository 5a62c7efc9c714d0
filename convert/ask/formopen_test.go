package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What a form's reply says, in a form of our own and in one of an MCP server. 0
// is no valid reply, which is never a refusal.
func TestFormReplies(t *testing.T) {
	call := convert.Call{ID: "id", Questions: []convert.Question{
		{Text: "A?", Options: []convert.Option{{Label: "a"}, {Label: "b"}}},
	}}
	server := ask.ServerForm{Server: "s", Schema: json.RawMessage(`{"type":"object","properties":{"question_0":{"type":"string","enum":["a","b"]}}}`)}
	form := acptest.Must(server.Call())
	deep := strings.Repeat("[", 1500) + strings.Repeat("]", 1500)
	for reply, want := range map[string]struct{ ours, theirs convert.Status }{
		`{"action":"accept","content":{"question_0":"a"}}`:                       {convert.Answered, convert.Answered},
		`{"action":"accept","content":{"question_0":"a","x":1}}`:                 {convert.Answered, convert.Answered},
		`{"action":"accept","content":{"question_0":"a","question_0":"a"}}`:      {convert.Answered, convert.Answered},
		`{"action":"accept","content":{"question_0":"a","question_0":"\u0061"}}`: {convert.Answered, convert.Answered},
		`{"action":"accept","action":"accept","content":{"question_0":"a"}}`:     {convert.Answered, convert.Answered},
		`{"action":"accept","content":{"question_0":null}}`:                      {convert.Declined, convert.Answered},
		`{"action":"accept","content":{}}`:                                       {convert.Declined, convert.Answered},
		`{"action":"accept","content":null}`:                                     {convert.Declined, convert.Answered},
		`{"action":"accept"}`:                                                    {convert.Declined, convert.Answered},
		`{"action":"decline","content":{"x":1}}`:                                 {convert.Declined, convert.Declined},
		`{"action":"cancel"}`:                                                    {convert.Cancelled, convert.Cancelled},
		`{"action":"accept","content":{"x":"a"}}`:                                {},
		`{"action":"accept","content":{"Question_0":"a"}}`:                       {},
		`{"action":"accept","content":{"":"a"}}`:                                 {},
		`{"action":"accept","content":{"x":null,"y":null}}`:                      {},
		`{"action":"accept","content":{"question_0":null,"x":"a"}}`:              {},
		`{"action":"accept","content":{"x":"a","question_0":null}}`:              {},
		`{"action":"accept","content":{"question_0":"a","question_0":"b"}}`:      {},
		`{"action":"accept","content":{"question_0":"a","question_0":null}}`:     {},
		`{"action":"accept","content":{"question_0":"a"},"content":{}}`:          {},
		`{"action":"accept","action":"decline","content":{"question_0":"a"}}`:    {},
		`{"action":"decline","action":"cancel"}`:                                 {},
		`{"action":"accept","content":[]}`:                                       {},
		`{"action":"accept","content":"a"}`:                                      {},
		`{"action":"Accept","content":{"question_0":"a"}}`:                       {},
		`{"action":["accept"],"content":{"question_0":"a"}}`:                     {},
		`{"content":{"question_0":"a"}}`:                                         {},
		`["accept"]`:                                                             {},
		`{"action":"accept"`:                                                     {},

		`{"action":"accept","content":{"question_0":"a","x":` + deep + `}}`:     {},
		`{"action":"accept","content":{"question_0":"a"},"_meta":` + deep + `}`: {},
	} {
		o, err := ask.FormOutcome(call, json.RawMessage(reply))
		require.Equal(t, want.ours, o.Status, reply)
		require.Equal(t, want.ours == 0, err != nil, reply)
		theirs, forServer, err2 := form.Read(json.RawMessage(reply))
		require.Equal(t, want.theirs, theirs.Status, reply)
		require.Equal(t, want.theirs == 0, forServer == nil, reply)
		if want.ours == 0 {
			require.ErrorIs(t, err, convert.ErrProtocol, reply)
			require.ErrorIs(t, err2, convert.ErrProtocol, reply)
		}
	}
}

// A form that asks for nothing is accepted whatever comes beside it.
func TestFormWithoutFields(t *testing.T) {
	form := acptest.Must(ask.ServerForm{Server: "s", Message: "Go on?"}.Call())
	o, _ := acptest.Must2(form.Read(json.RawMessage(`{"action":"accept","content":{"x":1}}`)))
	require.Equal(t, convert.Answered, o.Status)
}

// What stood in a form is not the person's, nor is what a program fills in.
func TestRule3DefaultsAreNobodys(t *testing.T) {
	server := ask.ServerForm{Server: "s", Schema: json.RawMessage(`{"type":"object","properties":{
		"name":{"type":"string","default":"Bo"},"free":{"type":"string"},"port":{"type":"integer","default":80},"sure":{"type":"boolean"},
		"one":{"type":"string","enum":["a","b"],"default":"a"},
		"many":{"type":"array","items":{"enum":["a","b","c"]},"default":["a","b"]},
		"least":{"type":"array","items":{"enum":["a","b","c"]},"minItems":2}}}`)}
	form := acptest.Must(server.Call())
	for content, want := range map[string]bool{
		`{}`:                                       false,
		`{"name":"Bo"}`:                            false,
		`{"name":" Bo "}`:                          false,
		`{"name":"","free":" "}`:                   false,
		`{"many":["a","b"]}`:                       false,
		`{"many":["b","a"]}`:                       false,
		`{"many":["c"]}`:                           false,
		`{"least":["a","b"]}`:                      false,
		`{"one":"b","sure":true,"port":81}`:        false,
		`{"name":"Bo","port":80,"many":["a","b"]}`: false,
		`{"name":"Ann"}`:                           true,
		`{"free":"words"}`:                         true,
		`{"many":["a","c"]}`:                       true,
		`{"many":["a","b","c"]}`:                   true,
		`{"least":["a","b","c"]}`:                  true,
	} {
		require.Equal(t, want, form.ByHand(json.RawMessage(`{"action":"accept","content":`+content+`}`)), content)
	}
	require.False(t, form.ByHand(json.RawMessage(`{"action":"decline"}`)))
}
