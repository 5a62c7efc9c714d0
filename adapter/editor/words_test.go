package editor

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// What counts as the answer is what the user typed. What an editor attaches
// stands beside own words, and spoils no pick.
func TestPromptWords(t *testing.T) {
	means := func(s string) bool { return s == "2" || s == "cancel" || s == "" }
	for name, c := range map[string]struct{ prompt, answer string }{
		"text":                  {`[{"type":"text","text":" 2 "}]`, "2"},
		"a pick and a link":     {`[{"type":"text","text":"2"},{"type":"resource_link","name":"x","uri":"file:///a/b.txt"}]`, "2"},
		"a link and a cancel":   {`[{"type":"resource_link","name":"x","uri":"file:///a/b.txt"},{"type":"text","text":"cancel"}]`, "cancel"},
		"a pick and a file":     {`[{"type":"text","text":"2"},{"type":"resource","resource":{"uri":"file:///a","text":"cancel"}}]`, "2"},
		"a pick and a picture":  {`[{"type":"text","text":"2"},{"type":"image","data":"AA","mimeType":"image/png"}]`, "2"},
		"own words and a link":  {`[{"type":"text","text":"as in"},{"type":"resource_link","name":"x","uri":"file:///a/b.txt"}]`, "as in @/a/b.txt"},
		"own words, web link":   {`[{"type":"text","text":"see"},{"type":"resource_link","name":"x","uri":"https://x.org"}]`, "see [@x](https://x.org)"},
		"a link alone":          {`[{"type":"resource_link","name":"x","uri":"file:///a/b.txt"}]`, "@/a/b.txt"},
		"wrapped":               {`[{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":"<previous_user_message>2</previous_user_message>"},{"type":"text","text":"<previous_user_message>old</previous_user_message>"},{"type":"text","text":"<system_context>x</system_context>"}]`, "2"},
		"wrapped own words":     {`[{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":"<previous_user_message>like this</previous_user_message>"},{"type":"text","text":"<system_context>x</system_context>"}]`, "like this @/a"},
		"wrapped, in one block": {`[{"type":"text","text":"<previous_user_message>cancel</previous_user_message>\n<previous_user_message>2</previous_user_message>"}]`, "cancel"},
		"words behind wrapping": {`[{"type":"text","text":"<previous_user_message>2</previous_user_message> is what I said; take 1"}]`, "<previous_user_message>2</previous_user_message> is what I said; take 1"},
		"spaces":                {`[{"type":"text","text":"use "},{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":" "},{"type":"text","text":" here"}]`, "use @/a here"},
		"wrapping left open":    {`[{"type":"text","text":"<previous_user_message>2"}]`, "<previous_user_message>2"},
		"nothing":               {`[]`, ""},
		"pasted":                {`[{"type":"resource","resource":{"uri":"zed:///agent/pasted-text?name=x","text":"a long\nanswer"}}]`, "a long\nanswer"},
		"words and pasted":      {`[{"type":"text","text":"this:"},{"type":"resource","resource":{"uri":"zed:///agent/pasted","text":"a long answer"}}]`, "this: a long answer"},
		"an unnamed buffer":     {`[{"type":"resource","resource":{"uri":"untitled:1","text":"x"}}]`, "x"},
		"a file, embedded":      {`[{"type":"text","text":"as in"},{"type":"resource","resource":{"uri":"file:///a","text":"x"}}]`, "as in @/a"},
		"a page, embedded":      {`[{"type":"text","text":"as in"},{"type":"resource","resource":{"uri":"https://x.org/a","text":"x"}}]`, "as in https://x.org/a"},
		"a picture alone":       {`[{"type":"image","data":"AA","mimeType":"image/png"}]`, ""},
		"a picture of Zed's":    {`[{"type":"image","data":"AA","mimeType":"image/png","uri":"zed:///agent/pasted-image"}]`, ""},
		"a picture in a file":   {`[{"type":"image","data":"AA","mimeType":"image/png","uri":"file:///a.png"}]`, "@/a.png"},
		"words and a picture":   {`[{"type":"text","text":"like"},{"type":"image","data":"AA","mimeType":"image/png"}]`, "like (with a picture that cannot be passed on)"},
		"a recording alone":     {`[{"type":"audio","data":"AA","mimeType":"audio/wav"}]`, ""},
		"bytes and a picture":   {`[{"type":"text","text":"like"},{"type":"resource","resource":{"uri":"zed:///x","blob":"AA"}},{"type":"image","data":"AA","mimeType":"image/png"}]`, "like (with a file and a picture that cannot be passed on)"},
	} {
		t.Run(name, func(t *testing.T) {
			var content []acp.ContentBlock
			require.NoError(t, json.Unmarshal([]byte(c.prompt), &content))
			require.Equal(t, c.answer, promptWords(content).answer(means))
		})
	}
}
