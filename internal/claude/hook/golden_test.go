package hook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

var update = flag.Bool("update", false, "rewrite the expected sections of testdata/golden")

// A case is a txtar file: prose, event.json as a hook sends it, and what comes of it.
//
//	| section          | what it is                                                   |
//	|------------------|--------------------------------------------------------------|
//	| event.json       | what a hook sends                                            |
//	| asking.json      | what a person is asked, or why nobody is                     |
//	| NAME.answer.json | what a person says: answers, or null for a dismissal         |
//	| NAME.reply.json  | what the hook says then                                      |
//	| then.jsonl       | events that come later, one a line                           |
//	| then.txt         | what each makes of the asking: open, and after each answer   |
//
// The tool call of the asking is toolu_1.
func TestGolden(t *testing.T) {
	files := acptest.Must(filepath.Glob("testdata/golden/*.txtar"))
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive := acptest.Must(txtar.ParseFile(name))
			require.NotEmpty(t, bytes.TrimSpace(archive.Comment), "a case begins with prose that says what it shows")
			got := run(t, archive)
			if *update {
				require.NoError(t, os.WriteFile(name, txtar.Format(got), 0o644))
				return
			}
			require.Equal(t, string(txtar.Format(archive)), string(txtar.Format(got)))
		})
	}
}

// run makes the sections of a case from what it is given.
func run(t *testing.T, a *txtar.Archive) *txtar.Archive {
	got := &txtar.Archive{Comment: a.Comment}
	add := func(name string, data []byte) { got.Files = append(got.Files, txtar.File{Name: name, Data: data}) }
	var document []byte
	var asking hook.Asking
	replies := []named{{"open", nil}}
	for _, f := range a.Files {
		name, isAnswer := strings.CutSuffix(f.Name, ".answer.json")
		switch {
		case f.Name == "event.json":
			document = f.Data
			add(f.Name, f.Data)
			var shown []byte
			asking, shown = askingOf(t, f.Data)
			add("asking.json", shown)
		case isAnswer:
			add(f.Name, f.Data)
			reply, shown := replyOf(t, asking, f.Data)
			add(name+".reply.json", shown)
			replies = append(replies, named{name, reply})
		case f.Name == "then.jsonl":
			add(f.Name, f.Data)
			add("then.txt", endingsOf(t, document, replies, f.Data))
		}
	}
	return got
}

type named struct {
	name  string
	reply []byte
}

func askingOf(t *testing.T, data []byte) (hook.Asking, []byte) {
	e, err := hook.Parse(data)
	if err != nil {
		return hook.Asking{}, []byte(err.Error() + "\n")
	}
	a, err := e.Asking()
	if err != nil {
		require.ErrorIs(t, err, hook.ErrNotHere)
		return a, []byte(err.Error() + "\n")
	}
	return a, indent(t, struct {
		Kind      string
		Server    string           `json:",omitempty"`
		SubAgent  convert.SubAgent `json:",omitzero"`
		Blocks    bool             `json:",omitempty"`
		Detail    string           `json:",omitempty"`
		Questions []convert.Question
	}{a.Kind, a.Call.Server, a.Call.SubAgent, e.Blocks(), a.Detail, a.Call.Questions})
}

func replyOf(t *testing.T, a hook.Asking, data []byte) (reply, shown []byte) {
	o := convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	var answers []convert.Answer
	require.NoError(t, json.Unmarshal(data, &answers))
	if answers != nil {
		o = convert.Outcome{Status: convert.Answered, Answers: answers}
		require.NoError(t, o.Check(a.Call))
	}
	reply, err := a.Reply(o)
	if err != nil {
		return nil, []byte(err.Error() + "\n")
	}
	return reply, indent(t, json.RawMessage(reply))
}

var whats = map[hook.What]string{hook.Nothing: "-", hook.Answered: "answered", hook.Over: "over", hook.Arrived: "arrived", hook.Late: "late"}

func endingsOf(t *testing.T, document []byte, replies []named, events []byte) []byte {
	asked := acptest.Must(hook.Parse(document))
	var b bytes.Buffer
	for line := range bytes.Lines(events) {
		e, err := hook.Parse(line)
		require.NoError(t, err, "%s", line)
		fmt.Fprintf(&b, "%s:\n", e.Name)
		for _, r := range replies {
			if r.name != "open" && r.reply == nil {
				continue
			}
			end := e.Ends(hook.Held{Call: "toolu_1", Agent: asked.Agent, Document: document, Reply: r.reply})
			text := strings.TrimSpace(whats[end.What] + " " + end.Why)
			if end.Answers != nil {
				text += fmt.Sprintf(" %+v", end.Answers)
			}
			fmt.Fprintf(&b, "  %s: %s\n", r.name, text)
		}
	}
	return b.Bytes()
}

func indent(t *testing.T, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(v))
	return b.Bytes()
}
