package dialect

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// claude is Claude Code's AskUserQuestion. The result is the permission
// result that Claude Code expects.
type claude struct{}

func (claude) recognises(d document) bool {
	if d.tool != "" {
		return d.tool == "AskUserQuestion" && !d.snake()
	}
	return d.bare() && !d.freeText() && !hasAny(d.input, "question", "suggestions")
}

func (claude) decode(d document) (convert.Call, error) {
	return convert.Parse([]byte(d.input.Raw), convert.Limits{})
}

func (claude) encode(_ document, c convert.Call, r Reply) Result {
	return Result{
		Body:    ClaudeResult(c, r.Outcome),
		IsError: r.Outcome.Status != convert.Answered,
	}
}

// Permission results of Claude Code, in the order in which their fields are
// written.
type allowResult struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
}

type denyResult struct {
	Behavior  string `json:"behavior"`
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

// ClaudeResult is what Claude Code gets in reply to its permission request
// for a question call: allow with the answers in updatedInput, or deny. Only
// a cancel and a disconnect interrupt the turn.
func ClaudeResult(c convert.Call, o convert.Outcome) json.RawMessage {
	if o.Status == convert.Answered {
		return clean.JSON(allowResult{"allow", updatedInput(c, o.Answers)})
	}
	interrupt := o.Status == convert.Cancelled || o.Status == convert.Withdrawn || o.Status == convert.Disconnected
	return clean.JSON(denyResult{"deny", o.Message(), interrupt})
}

// annotation is what stands beside an answer: the user's note, the preview of
// the option picked.
type annotation struct {
	Preview string `json:"preview,omitempty"`
	Notes   string `json:"notes,omitempty"`
}

// updatedInput is the call's input with the answers put in. The questions and
// all fields that are not ours go back token for token; answers and
// annotations that the model itself wrote do not.
func updatedInput(c convert.Call, answers []convert.Answer) json.RawMessage {
	root, questions := inputOf(c)
	keys := questionKeys(questions)
	var said, notes object
	for i, a := range answers {
		if i >= len(keys) || a.Empty() {
			continue
		}
		said = append(said, member{keys[i], clean.JSON(c.Questions[i].AnswerText(a))})
		if note := (annotation{Notes: a.Note, Preview: preview(c.Questions[i], a)}); note != (annotation{}) {
			notes = append(notes, member{keys[i], clean.JSON(note)})
		}
	}
	all := append(object{{`"questions"`, raw(questions)}}, otherMembers(root)...)
	all = append(all, member{`"answers"`, said.json()})
	if notes != nil {
		all = append(all, member{`"annotations"`, notes.json()})
	}
	return all.json()
}

// object is one of JSON whose members have an order; their keys are JSON strings.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

func (o object) json() json.RawMessage {
	parts := make([]string, len(o))
	for i, m := range o {
		parts[i] = m.key + ":" + string(m.value)
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// preview is that of the option picked, when it is the only one.
func preview(q convert.Question, a convert.Answer) string {
	for _, o := range q.Options {
		if len(a.Selected) == 1 && o.Label == a.Selected[0] {
			return o.Preview
		}
	}
	return ""
}

// otherMembers are the top-level ones that are not ours, each once, the last
// value of a repeated key.
func otherMembers(root gjson.Result) (others object) {
	at := map[string]int{}
	root.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "questions", "answers", "annotations":
			return true
		}
		i, again := at[k.Str]
		if !again {
			i, at[k.Str] = len(others), len(others)
			others = append(others, member{})
		}
		others[i] = member{k.Raw, raw(v)}
		return true
	})
	return others
}

// inputOf is the call's input, and the questions in it. A call that was made in
// Go has no input of its own, or one that is not of these questions.
func inputOf(c convert.Call) (root, questions gjson.Result) {
	if read.Usable(c.Input) {
		root = gjson.ParseBytes(c.Input)
	}
	if !root.IsObject() {
		root = gjson.Parse("{}")
	}
	questions, _ = read.Embedded(read.Field(root, "questions"))
	if questions.IsArray() && !read.TooDeep([]byte(questions.Raw)) && len(questionKeys(questions)) == len(c.Questions) {
		return root, questions
	}
	return root, gjson.ParseBytes(questionsJSON(c.Questions))
}

// questionKeys are the question texts as JSON strings, in the letters in which
// they came: an escape that Go would decode to another letter still matches.
func questionKeys(questions gjson.Result) []string {
	var keys []string
	questions.ForEach(func(_, q gjson.Result) bool {
		if text := read.Field(q, "question"); text.Type == gjson.String {
			keys = append(keys, text.Raw)
		}
		return true
	})
	return keys
}

func questionsJSON(questions []convert.Question) []byte {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description"`
		Preview     string `json:"preview,omitempty"`
	}
	type question struct {
		Question    string   `json:"question"`
		Header      string   `json:"header"`
		Options     []option `json:"options"`
		MultiSelect bool     `json:"multiSelect"`
	}
	list := make([]question, len(questions))
	for i, q := range questions {
		list[i] = question{q.Text, q.Header, make([]option, len(q.Options)), q.MultiSelect}
		for j, o := range q.Options {
			list[i].Options[j] = option{o.Label, o.Description, o.Preview}
		}
	}
	return clean.JSON(list)
}
