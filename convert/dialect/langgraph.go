package dialect

import (
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// langGraph is an interrupt of LangGraph as its agent inbox shows it. The answer
// is a response in words; accept and ignore are options where they are allowed.
// Questions in the arguments are asked as they are.
type langGraph struct{}

func (langGraph) id() string { return "langgraph" }

func (langGraph) recognises(d document) bool {
	return d.tool == "" && !d.isRPC() && d.root.Get("action_request").IsObject()
}

const langAccept, langIgnore = "Accept", "Ignore"

// langLimits let texts come twice: answers are in the order of the questions.
var langLimits = convert.NoLimits

func (langGraph) decode(d document) (convert.Call, error) {
	request, config := d.root.Get("action_request"), d.root.Get("config")
	if args := request.Get("args"); args.Get("questions").Exists() {
		return convert.Parse([]byte(args.Raw), langLimits)
	}
	q := convert.Question{Text: d.root.Get("description").String(), Header: request.Get("action").String()}
	if clean.Line(q.Text) == "" {
		q.Text = q.Header
	}
	if config.Get("allow_accept").Bool() {
		q.Options = append(q.Options, convert.Option{Label: langAccept, Description: "go on as it is"})
	}
	if config.Get("allow_ignore").Bool() {
		q.Options = append(q.Options, convert.Option{Label: langIgnore, Description: "do not answer", Effect: convert.EffectDecline})
	}
	q.Closed = !config.Get("allow_respond").Bool()
	call := convert.Call{Input: raw(request.Get("args")), Questions: []convert.Question{q}}
	if q.Closed && len(q.Options) == 0 {
		return convert.Call{}, &convert.InputError{Question: 1, Err: convert.ErrOptionCount, Detail: "config allows no answer that can be given here"}
	}
	return call, call.Validate(langLimits)
}

type langResponse struct {
	Type string  `json:"type"`
	Args *string `json:"args"`
}

// encode is a list with one response.
func (langGraph) encode(d document, c convert.Call, r Reply) Result {
	o := r.Outcome
	asked := d.root.Get("action_request.args.questions").Exists()
	switch refused := o.Status == convert.Declined || o.Status == convert.Cancelled; {
	case refused && d.root.Get("config.allow_ignore").Bool():
		return d.respond([]langResponse{{Type: "ignore"}})
	case o.Status != convert.Answered:
		return d.refuse(o)
	case !asked && len(o.Answers[0].Selected) == 1 && o.Answers[0].Selected[0] == langAccept:
		return d.respond([]langResponse{{Type: "accept"}})
	}
	text := inWords(c, o.Answers)
	return d.respond([]langResponse{{"response", &text}})
}

// inWords are the answers as one text: of a single question the answer alone.
func inWords(c convert.Call, answers []convert.Answer) string {
	if len(c.Questions) == 1 {
		return answerText(c.Questions[0], answers[0])
	}
	return convert.Format(c, answers)
}

// readWords is the way back of inWords.
func readWords(c convert.Call, text string) (convert.Outcome, error) {
	if len(c.Questions) == 1 {
		return answered([]convert.Answer{said(c.Questions[0], text)})
	}
	o, err := goText{}.read(document{}, c, given{text: text})
	if err == nil && o.Status != convert.Answered {
		return convert.Outcome{}, notThe("a block for each question: its text, and the answer below it")
	}
	return o, err
}

func (langGraph) holds() holds {
	return holds{limits: langLimits, header: true, description: true, preview: true, multi: true, open: true}
}

func (langGraph) write(c convert.Call) any {
	type config struct {
		Ignore  bool `json:"allow_ignore"`
		Respond bool `json:"allow_respond"`
		Edit    bool `json:"allow_edit"`
		Accept  bool `json:"allow_accept"`
	}
	type action struct {
		Action string `json:"action"`
		Args   any    `json:"args"`
	}
	text := ""
	for i, q := range c.Questions {
		if i > 0 {
			text += "\n\n"
		}
		text += ask.Message(q, nil)
	}
	return struct {
		Request     action `json:"action_request"`
		Config      config `json:"config"`
		Description string `json:"description"`
	}{action{"AskUserQuestion", questionList{questionsJSON(c.Questions)}}, config{Ignore: true, Respond: true}, text}
}

func (langGraph) read(_ document, c convert.Call, g given) (convert.Outcome, error) {
	one := g.json
	if one.IsArray() && len(one.Array()) == 1 {
		one = one.Array()[0]
	}
	switch args := one.Get("args"); {
	case one.Get("error").Exists():
		return failure(one.Get("error").String()), nil
	case one.Get("type").Str == "ignore":
		return notAnswered(convert.Declined), nil
	case one.Get("type").Str == "accept" && has(c.Questions[0], langAccept):
		return answered([]convert.Answer{{Selected: []string{langAccept}}})
	case one.Get("type").Str == "response" && args.Type == gjson.String:
		return readWords(c, args.Str)
	}
	return convert.Outcome{}, notThe(`[{"type":"response","args":"…"}]`)
}
