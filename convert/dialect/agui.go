package dialect

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// agUI is a run of AG-UI that ended with interrupts. Each is a form by its
// schema, or a text without one. One resume answers all of them.
type agUI struct{}

func (agUI) id() string { return "ag-ui" }

func (agUI) recognises(d document) bool {
	return d.root.Get("type").Str == "RUN_FINISHED" && d.root.Get("outcome.type").Str == "interrupt"
}

// interrupt is one of a run's interrupts and where its questions are in the
// call.
type interrupt struct {
	id          string
	form        ask.FormCall
	text        bool // it has no schema
	first, last int
}

func (agUI) decode(d document) (convert.Call, error) {
	list, err := interrupts(d)
	if err != nil {
		return convert.Call{}, err
	}
	call := convert.Call{Session: d.root.Get("threadId").String(), ID: d.root.Get("outcome.interrupts.0.toolCallId").String(), Input: raw(d.root)}
	for _, i := range list {
		call.Questions = append(call.Questions, i.form.Questions...)
	}
	return call, call.Validate(langLimits)
}

func interrupts(d document) (list []interrupt, err error) {
	n := 0
	for _, v := range d.root.Get("outcome.interrupts").Array() {
		made := interrupt{id: v.Get("id").String(), first: n}
		schema := v.Get("responseSchema")
		if made.text = !schema.Get("properties").IsObject(); made.text {
			made.form.Questions = []convert.Question{{Text: v.Get("message").String()}}
		} else if made.form, err = (ask.AgentForm{Params: clean.JSON(map[string]any{
			"mode": "form", "message": v.Get("message").String(), "requestedSchema": withTypes(schema),
		})}).Call(); err != nil {
			return nil, err
		}
		n += len(made.form.Questions)
		made.last = n
		list = append(list, made)
	}
	return list, nil
}

// withTypes gives a type to the fields that have but a list of values.
func withTypes(schema gjson.Result) any {
	properties := map[string]any{}
	schema.Get("properties").ForEach(func(k, v gjson.Result) bool {
		properties[k.Str] = json.RawMessage(v.Raw)
		if v.IsObject() && !v.Get("type").Exists() && hasAny(v, "enum", "oneOf") {
			properties[k.Str] = json.RawMessage(`{"type":"string",` + v.Raw[1:])
		}
		return true
	})
	made := map[string]any{"type": "object", "properties": properties}
	if required := read.Field(schema, "required"); required.IsArray() {
		made["required"] = json.RawMessage(required.Raw)
	}
	return made
}

type agUIResume struct {
	ThreadID string       `json:"threadId,omitempty"`
	Resume   []agUIAnswer `json:"resume"`
}

type agUIAnswer struct {
	InterruptID string `json:"interruptId"`
	Status      string `json:"status"`
	Payload     any    `json:"payload,omitempty"`
}

func (agUI) encode(d document, _ convert.Call, r Reply) Result {
	list, err := interrupts(d)
	if err == nil && (r.Outcome.Status == convert.Failed || r.Outcome.Status == convert.Disconnected) {
		return d.refuse(r.Outcome)
	}
	resume := agUIResume{ThreadID: d.root.Get("threadId").String(), Resume: []agUIAnswer{}}
	for _, i := range list {
		answer := agUIAnswer{InterruptID: i.id, Status: "cancelled"}
		if r.Outcome.Status == convert.Answered {
			if answer, err = i.resolve(r.Outcome.Answers); err != nil {
				break
			}
		}
		resume.Resume = append(resume.Resume, answer)
	}
	if err != nil {
		return d.refuse(convert.Outcome{Status: convert.Failed, Reason: err.Error()})
	}
	return d.respond(resume)
}

func (agUI) fits(d document, o convert.Outcome) error {
	list, err := interrupts(d)
	for _, i := range list {
		if err == nil {
			_, err = i.resolve(o.Answers)
		}
	}
	return err
}

// resolve is the part of a resume that answers the interrupt.
func (i interrupt) resolve(answers []convert.Answer) (agUIAnswer, error) {
	mine := answers[min(i.first, len(answers)):min(i.last, len(answers))]
	if i.text {
		if len(mine) == 0 || mine[0].Empty() {
			return agUIAnswer{i.id, "cancelled", nil}, nil
		}
		return agUIAnswer{i.id, "resolved", answerText(i.form.Questions[0], mine[0])}, nil
	}
	reply, err := i.form.Reply(convert.Outcome{Status: convert.Answered, Answers: mine})
	if err != nil {
		return agUIAnswer{}, err
	}
	content := gjson.GetBytes(reply, "content")
	if !content.Exists() { // declined, in the form
		return agUIAnswer{i.id, "cancelled", nil}, nil
	}
	return agUIAnswer{i.id, "resolved", json.RawMessage(content.Raw)}, nil
}

func (agUI) holds() holds { return mcp{}.holds() }

func (agUI) write(c convert.Call) any {
	form := ask.Form(c)
	type one struct {
		ID         string `json:"id"`
		Reason     string `json:"reason"`
		Message    string `json:"message"`
		ToolCallID string `json:"toolCallId,omitempty"`
		Schema     any    `json:"responseSchema"`
	}
	type outcome struct {
		Type       string `json:"type"`
		Interrupts []one  `json:"interrupts"`
	}
	return struct {
		Type     string  `json:"type"`
		ThreadID string  `json:"threadId"`
		RunID    string  `json:"runId"`
		Outcome  outcome `json:"outcome"`
	}{"RUN_FINISHED", c.Session, c.ID, outcome{"interrupt", []one{{"int-1", "input_required", form.Message, c.ID, form.RequestedSchema}}}}
}

const agUIExpected = `{"resume":[{"interruptId":"…","status":"resolved" or "cancelled","payload":…}]}`

func (agUI) read(d document, c convert.Call, g given) (convert.Outcome, error) {
	list, err := interrupts(d)
	switch {
	case err != nil:
		return convert.Outcome{}, err
	case g.json.Get("error").Exists():
		return failure(g.json.Get("error").String()), nil
	case !g.json.Get("resume").IsArray():
		return convert.Outcome{}, notThe(agUIExpected)
	}
	answers := make([]convert.Answer, len(c.Questions))
	some, cancelled := false, false
	resumed := map[string]bool{}
	for _, v := range g.json.Get("resume").Array() {
		id, status := v.Get("interruptId").String(), v.Get("status").Str
		at := slices.IndexFunc(list, func(i interrupt) bool { return i.id == id })
		if at < 0 || resumed[id] || status != "resolved" && status != "cancelled" {
			return convert.Outcome{}, notThe(agUIExpected + ", once for each interrupt of the run")
		}
		resumed[id] = true
		if status == "cancelled" {
			cancelled = true
			continue
		}
		some = true
		if err := list[at].read(v.Get("payload"), answers[list[at].first:list[at].last]); err != nil {
			return convert.Outcome{}, err
		}
	}
	switch {
	case some:
		return answered(answers)
	case cancelled:
		return notAnswered(convert.Cancelled), nil
	}
	return convert.Outcome{}, notThe(agUIExpected)
}

func (i interrupt) read(payload gjson.Result, into []convert.Answer) error {
	if i.text {
		if payload.Type != gjson.String {
			return notThe("a text as payload, got " + read.Kind(payload))
		}
		into[0] = said(i.form.Questions[0], payload.Str)
		return nil
	}
	o, _, err := i.form.ForAsker().Read(clean.JSON(map[string]any{"action": "accept", "content": raw(payload)}))
	copy(into, o.Answers)
	return err
}
