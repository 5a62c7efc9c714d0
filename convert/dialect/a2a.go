package dialect

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// a2a is a task of the Agent2Agent protocol that needs input, in version 1.0 or
// 0.3. It asks in words, or with questions in a data part. The result is the
// message to send.
type a2a struct{}

const (
	a2aState   = "TASK_STATE_INPUT_REQUIRED"
	a2aState03 = "input-required"
)

func (a2a) id() string { return "a2a" }

func (a2a) recognises(d document) bool {
	state := a2aTask(d).Get("status.state").Str
	return d.tool == "" && (state == a2aState || state == a2aState03)
}

func a2aTask(d document) gjson.Result {
	for _, key := range []string{"task", "result", "statusUpdate"} {
		if v := d.root.Get(key); v.Get("status").Exists() {
			return v
		}
	}
	return d.root
}

func (a2a) decode(d document) (convert.Call, error) {
	task := a2aTask(d)
	texts, data := a2aParts(task.Get("status.message.parts"))
	call := convert.Call{Questions: []convert.Question{{Text: texts}}}
	if data.Get("questions").Exists() {
		var err error
		if call, err = convert.Parse([]byte(data.Raw), langLimits); err != nil {
			return convert.Call{}, err
		}
	}
	call.Session, call.ID = task.Get("contextId").String(), a2aTaskID(task)
	return call, call.Validate(langLimits)
}

func a2aTaskID(task gjson.Result) string {
	if id := task.Get("taskId").String(); id != "" { // of a status update
		return id
	}
	return task.Get("id").String()
}

// a2aParts are the texts of a message, and its data.
func a2aParts(parts gjson.Result) (text string, data gjson.Result) {
	var texts []string
	for _, p := range parts.Array() {
		if t := p.Get("text"); t.Type == gjson.String {
			texts = append(texts, t.Str)
		}
		if v := p.Get("data"); v.IsObject() {
			data = v
		}
	}
	return strings.Join(texts, "\n\n"), data
}

type a2aMessage struct {
	TaskID    string    `json:"taskId"`
	ContextID string    `json:"contextId,omitempty"`
	Role      string    `json:"role"`
	MessageID string    `json:"messageId"`
	Parts     []a2aPart `json:"parts"`
}

type a2aPart struct {
	Kind string          `json:"kind,omitempty"` // of version 0.3
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// encode has no message for a question without an answer: the task is to be
// cancelled, or left as it is.
func (a2a) encode(d document, c convert.Call, r Reply) Result {
	if r.Outcome.Status != convert.Answered {
		return Result{Body: clean.JSON(map[string]string{"error": r.Outcome.Message()}), IsError: true}
	}
	task := a2aTask(d)
	m := a2aMessage{
		TaskID: a2aTaskID(task), ContextID: task.Get("contextId").String(), Role: "ROLE_USER",
		MessageID: task.Get("status.message.messageId").String() + "-answer",
		Parts:     []a2aPart{{Text: inWords(c, r.Outcome.Answers)}},
	}
	if _, data := a2aParts(task.Get("status.message.parts")); data.Get("questions").Exists() {
		m.Parts = append(m.Parts, a2aPart{Data: clean.JSON(openCodeReply{a2aLists(c, r.Outcome.Answers)})})
	}
	if task.Get("status.state").Str == a2aState03 {
		m.Role = "user"
		for i, p := range m.Parts {
			m.Parts[i].Kind = map[bool]string{true: "text", false: "data"}[p.Data == nil]
		}
	}
	return Result{Body: clean.JSON(map[string]a2aMessage{"message": m})}
}

func a2aLists(c convert.Call, answers []convert.Answer) [][]string {
	lists := make([][]string, len(c.Questions))
	for i := range lists {
		lists[i] = []string{}
		if i < len(answers) {
			lists[i] = withNote(answers[i])
		}
	}
	return lists
}

func (a2a) holds() holds {
	return holds{limits: langLimits, header: true, description: true, preview: true, multi: true, open: true}
}

func (a2a) write(c convert.Call) any {
	type message struct {
		Role      string    `json:"role"`
		MessageID string    `json:"messageId"`
		Parts     []a2aPart `json:"parts"`
	}
	type status struct {
		State   string  `json:"state"`
		Message message `json:"message"`
	}
	type task struct {
		ID        string `json:"id"`
		ContextID string `json:"contextId"`
		Status    status `json:"status"`
	}
	var texts []string
	for _, q := range c.Questions {
		texts = append(texts, q.Text)
	}
	parts := []a2aPart{{Text: strings.Join(texts, "\n\n")}, {Data: clean.JSON(questionList{questionsJSON(c.Questions)})}}
	return map[string]task{"task": {c.ID, c.Session, status{a2aState, message{"ROLE_AGENT", "m1", parts}}}}
}

func (a2a) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	if id, task := g.json.Get("message.taskId").String(), a2aTaskID(a2aTask(d)); id != "" && id != task {
		return convert.Outcome{}, notThe(fmt.Sprintf("a message for task %q, got one for %q", task, id))
	}
	text, data := a2aParts(g.json.Get("message.parts"))
	switch list := data.Get("answers"); {
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case list.IsArray():
		return openCode{}.read(document{}, c, given{json: data})
	case text != "":
		return readWords(c, text)
	}
	return convert.Outcome{}, notThe(`{"message":{"parts":[{"text":"…"}]}}`)
}
