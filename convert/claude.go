package convert

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Messages that an agent gets for a call that was not answered.
const (
	CancelMessage  = "User cancelled the question"
	DeclineMessage = "User declined to answer"
	GoneMessage    = "The client disconnected before the question was answered"
	failMessage    = "The question could not be shown to the user"
)

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
func ClaudeResult(c Call, o Outcome) json.RawMessage {
	if o.Status == Answered {
		return mustMarshal(allowResult{"allow", UpdatedInput(c, o.Answers)})
	}
	interrupt := o.Status == Cancelled || o.Status == Disconnected
	return mustMarshal(denyResult{"deny", o.Message(), interrupt})
}

// Message is what to tell the agent about a call that was not answered.
func (o Outcome) Message() string {
	switch {
	case o.Status == Cancelled:
		return CancelMessage
	case o.Status == Declined:
		return DeclineMessage
	case o.Reason != "":
		return o.Reason
	case o.Status == Disconnected:
		return GoneMessage
	}
	return failMessage
}

// annotation is what stands beside an answer: the user's note, the preview of
// the option picked.
type annotation struct {
	Preview string `json:"preview,omitempty"`
	Notes   string `json:"notes,omitempty"`
}

// UpdatedInput is the call's input with the answers put in. The questions and
// all fields that are not ours go back token for token; answers and
// annotations that the model itself wrote do not.
func UpdatedInput(c Call, answers []Answer) json.RawMessage {
	root := gjson.ParseBytes(c.Input)
	questions, err := questionList(root)
	if err != nil { // a call made in Go has no input of its own
		questions = gjson.ParseBytes(questionsJSON(c.Questions))
	}
	var b bytes.Buffer
	b.WriteString(`{"questions":`)
	b.WriteString(questions.Raw)
	for _, f := range otherFields(root) {
		b.WriteByte(',')
		b.WriteString(f.key)
		b.WriteByte(':')
		b.WriteString(f.value)
	}
	keys := questionKeys(questions)
	b.WriteString(`,"answers":{`)
	n := 0
	for i, a := range answers {
		if i >= len(keys) || a.Empty() {
			continue
		}
		if n > 0 {
			b.WriteByte(',')
		}
		n++
		b.WriteString(keys[i])
		b.WriteByte(':')
		b.Write(quote(AnswerText(c.Questions[i], a)))
	}
	b.WriteByte('}')
	writeAnnotations(&b, c, answers, keys)
	b.WriteByte('}')
	return b.Bytes()
}

// AnswerText is one answer as Claude Code reads it: the label or the text; for
// a multi-select question its items joined by [Join].
func AnswerText(q Question, a Answer) string {
	if q.MultiSelect {
		return Join(a.Items())
	}
	return strings.Join(a.Items(), separator)
}

func writeAnnotations(b *bytes.Buffer, c Call, answers []Answer, keys []string) {
	n := 0
	for i, a := range answers {
		if i >= len(keys) || a.Empty() {
			continue
		}
		note := annotation{Notes: a.Note, Preview: preview(c.Questions[i], a)}
		if note == (annotation{}) {
			continue
		}
		if n == 0 {
			b.WriteString(`,"annotations":{`)
		} else {
			b.WriteByte(',')
		}
		n++
		b.WriteString(keys[i])
		b.WriteByte(':')
		b.Write(mustMarshal(note))
	}
	if n > 0 {
		b.WriteByte('}')
	}
}

// preview is that of the option picked, when it is the only one.
func preview(q Question, a Answer) string {
	if len(a.Selected) != 1 {
		return ""
	}
	for _, o := range q.Options {
		if o.Label == a.Selected[0] {
			return o.Preview
		}
	}
	return ""
}

type rawField struct{ key, value string }

// otherFields lists the top-level fields that are not ours, each once, the
// last value of a repeated key.
func otherFields(root gjson.Result) []rawField {
	var fields []rawField
	root.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "questions", "answers", "annotations":
			return true
		}
		for i := range fields {
			if fields[i].key == k.Raw {
				fields[i].value = v.Raw
				return true
			}
		}
		fields = append(fields, rawField{k.Raw, v.Raw})
		return true
	})
	return fields
}

// questionKeys are the question texts as JSON strings, in the letters in which
// they came: an escape that Go would decode to another letter still matches.
func questionKeys(questions gjson.Result) []string {
	var keys []string
	questions.ForEach(func(_, q gjson.Result) bool {
		keys = append(keys, field(q, "question").Raw)
		return true
	})
	return keys
}

func questionsJSON(questions []Question) []byte {
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
	return mustMarshal(list)
}

// mustMarshal encodes values of our own types, which always encode, without
// escapes for HTML.
func mustMarshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
