package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/terminal/markdown"
)

// waitingQuestion is what waits as --json shows it, in a file or at a hub. The keys
// are those of GET /history.
type waitingQuestion struct {
	Group        string          `json:"group,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Question     string          `json:"question"`
	Kind         string          `json:"kind"`
	Title        string          `json:"title,omitempty"`
	Agent        string          `json:"agent,omitempty"`
	Machine      string          `json:"machine,omitempty"`
	Cwd          string          `json:"cwd,omitempty"`
	Branch       string          `json:"branch,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	File         string          `json:"file,omitempty"`
	Asked        time.Time       `json:"asked,omitzero"`
	Questions    []shownQuestion `json:"questions"`
	Settled      bool            `json:"settled"`
	Gone         bool            `json:"asker_gone"`
	Problem      string          `json:"problem,omitempty"`
}

type shownQuestion struct {
	Question    string        `json:"question"`
	Header      string        `json:"header,omitempty"`
	Options     []shownOption `json:"options"`
	MultiSelect bool          `json:"multiSelect"`
	Closed      bool          `json:"closed,omitempty"`
	Answer      *shownAnswer  `json:"answer,omitempty"`
}

type shownOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

type shownAnswer struct {
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
	Note     string   `json:"note,omitempty"`
}

func shownQuestions(questions []convert.Question, answers []convert.Answer) []shownQuestion {
	list := make([]shownQuestion, len(questions))
	for i, q := range questions {
		list[i] = shownQuestion{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect, Closed: q.Closed, Options: []shownOption{}}
		for _, o := range q.Options {
			list[i].Options = append(list[i].Options, shownOption{o.Label, o.Description, o.Preview})
		}
		if i < len(answers) && !answers[i].Empty() {
			list[i].Answer = &shownAnswer{answers[i].Selected, answers[i].Text, answers[i].Note}
		}
	}
	return list
}

// inFile is a file as --json shows it.
func inFile(store *pending.Store, f *pending.File) waitingQuestion {
	q := waitingQuestion{
		Conversation: f.Session, Question: f.ID, Kind: "question", Agent: f.Agent, File: f.Path, Asked: f.Asked,
		Questions: shownQuestions(f.Questions, f.Answers), Settled: f.Err == nil && f.Settled(),
	}
	if err := errors.Join(f.Err, f.Foreign); err != nil {
		q.Problem = err.Error()
	} else if store.Lost(f) {
		q.Gone, q.Problem = true, askerGone
	}
	return q
}

// shown is a question of a hub as --json shows it.
func (q *hubQuestion) shown() waitingQuestion {
	return waitingQuestion{
		Group: q.Group, Conversation: q.Conversation, Question: q.ID, Kind: q.Kind, Title: q.Title, Agent: q.Agent, Machine: q.Machine,
		Cwd: q.Dir, Branch: q.Branch, Detail: q.Detail, Asked: q.Asked, Questions: shownQuestions(q.call().Questions, nil), Gone: q.State.Gone,
	}
}

// ago is how long something has waited, as people say it.
func ago(since, now time.Time) string {
	switch d := now.Sub(since); {
	case since.IsZero():
		return "at an unknown time"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// showDetail writes what a permission is for as what it is.
func showDetail(w io.Writer, detail string) {
	for _, l := range detailLines(detail) {
		fmt.Fprintf(w, "   %s\n", l)
	}
}

// detailLines are a tool's input as a person reads it: a command as it is run, an
// edit as a diff, a plan as text; anything else as it came, which is indented JSON.
// Nothing is left out, and what hides or turns text is shown as what it is.
func detailLines(detail string) []string {
	input := gjson.Parse(detail)
	if !gjson.Valid(detail) || !input.IsObject() {
		return linesOf("", detail)
	}
	var out []string
	known, keys := map[string]bool{}, map[string]bool{}
	twice := false
	input.ForEach(func(key, _ gjson.Result) bool {
		twice = twice || keys[key.Str]
		keys[key.Str] = true
		return true
	})
	if twice { // which of them counts is the agent's to know
		return linesOf("", detail)
	}
	text := func(key string) (string, bool) {
		v := input.Get(key)
		if v.Type == gjson.String {
			known[key] = true
		}
		return v.Str, v.Type == gjson.String
	}
	if command, ok := text("command"); ok {
		out = append(out, linesOf("$ ", command)...)
	}
	if file, ok := text("file_path"); ok {
		out = append(out, linesOf("", file)...)
	}
	edits := input.Get("edits").Array()
	if input.Get("old_string").Exists() || input.Get("new_string").Exists() {
		known["old_string"], known["new_string"] = true, true
		edits = append(edits, input)
	}
	for _, e := range edits {
		if keys["edits"] && len(e.Map()) > 2 { // more than is shown here
			return linesOf("", detail)
		}
		known["edits"] = true
		out = append(out, linesOf("- ", e.Get("old_string").String())...)
		out = append(out, linesOf("+ ", e.Get("new_string").String())...)
	}
	if content, ok := text("content"); ok {
		out = append(out, linesOf("+ ", content)...)
	}
	if plan, ok := text("plan"); ok {
		out = append(out, markdown.Lines(markdown.Bare{}, linesOf("", plan))...)
	}
	if len(out) == 0 {
		return linesOf("", detail)
	}
	input.ForEach(func(key, value gjson.Result) bool {
		if !known[key.Str] {
			out = append(out, linesOf("", key.Str+": "+value.String())...)
		}
		return true
	})
	return out
}

// linesOf are those of a text, each behind the same lead.
func linesOf(lead, text string) []string {
	list := strings.Split(strings.TrimSuffix(clean.Visible(text), "\n"), "\n")
	for i, l := range list {
		list[i] = lead + l
	}
	return list
}
