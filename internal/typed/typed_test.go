package typed

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What counts as the answer is what the user typed. What an editor attaches
// stands beside own words, and spoils no pick.
func TestTyped(t *testing.T) {
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
		"wrapped":               {`[{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":"<previous_user_message>2</previous_user_message>"},{"type":"text","text":"<system_context>x</system_context>"}]`, "2"},
		"behind a selection":    {`[{"type":"text","text":"<selected_code>\n<path>/a</path>\n<snippet>1</snippet>\n</selected_code>"},{"type":"text","text":"<previous_user_message>2</previous_user_message>"}]`, "2"},
		"wrapped own words":     {`[{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":"<previous_user_message>like this</previous_user_message>"},{"type":"text","text":"<system_context>x</system_context>"}]`, "like this @/a"},
		"words behind wrapping": {`[{"type":"text","text":"<previous_user_message>2</previous_user_message> is what I said; take 1"}]`, "<previous_user_message>2</previous_user_message> is what I said; take 1"},
		"spaces":                {`[{"type":"text","text":"use "},{"type":"resource_link","name":"x","uri":"file:///a"},{"type":"text","text":" "},{"type":"text","text":" here"}]`, "use @/a here"},
		"wrapping left open":    {`[{"type":"text","text":"<previous_user_message>2"}]`, "<previous_user_message>2"},
		"nothing":               {`[]`, ""},
		"goose":                 {`[{"type":"text","text":"2"},{"type":"text","text":"<turn-context>\\n<cwd>/a</cwd>\\n</turn-context>"}]`, "2"},
		"goose, own words":      {`[{"type":"text","text":"like this"},{"type":"text","text":"<turn-context>x</turn-context>"}]`, "like this"},
		"a tag that was typed":  {`[{"type":"text","text":"<my-tag>x</my-tag>"}]`, "<my-tag>x</my-tag>"},
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
			hearing := Hearing{Means: means}
			answer, doubt := hearing.Takes(new(Reader).Read(content))
			require.Empty(t, doubt)
			require.Equal(t, c.answer, answer)
			require.NotEqual(t, Goose, Editor(content))
		})
	}
}

// recorded is a conversation as an editor sends it, and what each prompt is as an
// answer. Files of testdata are from runs: a line of JSON for each prompt, a line for
// what was typed, or "?" for what is in doubt and what is said of it.
func TestRecordings(t *testing.T) {
	files := acptest.Must(filepath.Glob("testdata/*.txtar"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			for _, f := range acptest.Must(txtar.ParseFile(file)).Files {
				replay(t, strings.TrimSuffix(filepath.Base(file), ".txtar"), f.Name, strings.TrimSpace(string(f.Data)))
			}
		})
	}
}

func replay(t *testing.T, editor, name, recording string) {
	hearing := Hearing{Means: func(s string) bool { return slices.Contains([]string{"1", "2", "3", "1,3", "cancel"}, s) }}
	var reader Reader
	lines := strings.Split(recording, "\n")
	require.Zero(t, len(lines)%2, "a prompt and its answer each")
	for i := 0; i < len(lines); i += 2 {
		var content []acp.ContentBlock
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &content), lines[i])
		require.Equal(t, editor, Editor(content))
		answer, doubt := hearing.Takes(reader.Read(content))
		if want, ok := strings.CutPrefix(lines[i+1], "? "); ok {
			require.Empty(t, answer, "%s: %s", name, lines[i])
			require.Contains(t, doubt, want, "%s: %s", name, lines[i])
			continue
		}
		require.Empty(t, doubt, "%s: %s", name, lines[i])
		require.Equal(t, lines[i+1], answer, "%s: %s", name, lines[i])
	}
}

// avante sends what was typed before along, and after a restart of Neovim not in the
// order in which it was typed: the answer is what the prompt before did not have.
func TestWordsThatAreNew(t *testing.T) {
	for name, c := range map[string]struct {
		before, now []string
		want        string // "?" is in doubt
	}{
		"the first prompt":       {nil, []string{"2"}, "2"},
		"newest first":           {[]string{"hi two", "hi one"}, []string{"2", "hi two", "hi one"}, "2"},
		"after a restart":        {[]string{"hi three", "hi two", "case"}, []string{"hi three", "3", "case"}, "3"},
		"the same words again":   {[]string{"2", "hi"}, []string{"2", "2", "hi"}, "2"},
		"nothing but the same":   {[]string{"2", "2"}, []string{"2", "2"}, "2"},
		"one fell out":           {[]string{"e", "d", "c", "b", "a"}, []string{"f", "e", "d", "c", "b"}, "f"},
		"what fell out, again":   {[]string{"e", "d", "c", "b", "a"}, []string{"a", "e", "d", "c", "b"}, "a"},
		"all are known":          {[]string{"hi three", "2", "case"}, []string{"hi three", "2", "case"}, "?"},
		"two are new":            {[]string{"x"}, []string{"2", "hi"}, "?"},
		"nothing is known of it": {nil, []string{"hi three", "case"}, "?"},
	} {
		t.Run(name, func(t *testing.T) {
			typed, among := newest(c.before, c.now)
			if c.want == "?" {
				require.Equal(t, c.now, among)
				return
			}
			require.Empty(t, among)
			require.Equal(t, c.want, typed)
		})
	}
}

// A text that is an answer, beside one that an editor may have put there, is no
// answer before the user has sent it again.
func TestUnderstoodAndConfirmed(t *testing.T) {
	of := func(texts ...string) Words {
		var content []acp.ContentBlock
		for _, text := range texts {
			content = append(content, acp.TextBlock(text))
		}
		return new(Reader).Read(content)
	}
	h := Hearing{Means: func(s string) bool { return s == "1" || s == "2" }}
	answer, doubt := h.Takes(of("2", "Open file: a.txt"))
	require.Empty(t, answer)
	require.Contains(t, doubt, `Understood as your answer: "2"`)
	answer, doubt = h.Takes(of("1", "Open file: a.txt"))
	require.Empty(t, answer, "something else was understood")
	require.Contains(t, doubt, `Understood as your answer: "1"`)
	answer, doubt = h.Takes(of("1", "Open file: b.txt"))
	require.Equal(t, "1", answer)
	require.Empty(t, doubt)
	answer, _ = h.Takes(of("neither", "nor"))
	require.Equal(t, "neither nor", answer)
}
