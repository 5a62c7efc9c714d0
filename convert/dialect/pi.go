package dialect

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// pi is pi's ask_user with a list of questions, as a tool call or as an
// ask_user_request that is answered by an ask_user_response. Its simple form is
// one question without the list, with options or with suggestions, which are the
// same.
type pi struct{}

const (
	piRequest  = "ask_user_request"
	piResponse = "ask_user_response"
)

func (pi) recognises(d document) bool {
	switch {
	case d.tool != "":
		return d.tool == "ask_user" && (piSimple(d) || d.input.Get("questions").Exists()) && !d.typed()
	case d.root.Get("type").Exists():
		return d.root.Get("type").Str == piRequest
	default:
		return d.bare() && (piSimple(d) || d.freeText())
	}
}

// piSimple reports whether the input is one question with fields of pi's: the
// tool of the same name that Opal has knows none of them.
func piSimple(d document) bool {
	return !hasAny(d.input, "choices") && (d.input.Get("suggestions").Exists() ||
		d.input.Get("question").Exists() && hasAny(d.input, "options", "header", "multiSelect"))
}

func (pi) decode(d document) (convert.Call, error) {
	call, err := convert.Parse(piInput(d), convert.NoLimits)
	if err != nil {
		return convert.Call{}, err
	}
	call.Input = raw(d.input)
	if d.root.Get("type").Str == piRequest {
		call.ID = d.root.Get("requestId").String()
	}
	return call, nil
}

// piInput is the input with suggestions made options.
func piInput(d document) []byte {
	list, _ := read.Embedded(read.Field(d.input, "questions"))
	simple := d.input.Get("question").Exists() && !list.Exists()
	suggests := func(q gjson.Result) bool { return q.Get("suggestions").Exists() }
	if !simple && (read.TooDeep([]byte(list.Raw)) || !slices.ContainsFunc(d.questions(), suggests)) { // it may come out of a string
		return []byte(d.input.Raw)
	}
	questions := []any{piMade(d.input)}
	if !simple {
		questions = nil
		for _, q := range list.Array() {
			questions = append(questions, piMade(q))
		}
	}
	return clean.JSON(map[string]any{"questions": questions})
}

// piMade is a question with its suggestions made options.
func piMade(q gjson.Result) any {
	suggestions := q.Get("suggestions")
	if !q.IsObject() || !suggestions.Exists() {
		return json.RawMessage(q.Raw)
	}
	made := map[string]any{}
	q.ForEach(func(k, v gjson.Result) bool {
		made[k.Str] = json.RawMessage(v.Raw)
		return true
	})
	made["options"] = json.RawMessage(suggestions.Raw)
	if options := q.Get("options"); options.IsArray() && suggestions.IsArray() {
		list := options.Array()
		for _, s := range suggestions.Array() {
			if !slices.ContainsFunc(list, func(o gjson.Result) bool { return o.String() == s.Str || o.Get("label").Str == s.Str }) {
				list = append(list, s)
			}
		}
		var all []json.RawMessage
		for _, o := range list {
			all = append(all, json.RawMessage(o.Raw))
		}
		made["options"] = all
	}
	return made
}

func (pi) encode(d document, c convert.Call, r Reply) Result {
	result := piResultOf(c, r.Outcome)
	if r.PendingFile != "" { // waiting is no error
		result.PendingFile, result.Error = r.PendingFile, ""
		result.Message = "Questions pending. User input required.\n\n" + r.Outcome.Message() + "\n\nQuestions saved to: " + r.PendingFile
	}
	result.Details = piDetailsOf(d, c, result.Answers, r)
	if d.root.Get("type").Str == piRequest {
		result.Type, result.RequestID = piResponse, raw(d.root.Get("requestId"))
	}
	return Result{Body: clean.JSON(result), IsError: result.Error != ""}
}

// PiError is pi's response to an ask_user_request that cannot be read. The id is
// the requestId as it came, nil if there was none.
func PiError(id json.RawMessage, reason string) json.RawMessage {
	result := piResultOf(convert.Call{}, convert.Outcome{Status: convert.Failed, Reason: reason})
	result.Type, result.RequestID = piResponse, id
	return clean.JSON(result)
}

// refuse is an error result, or the response of a request.
func (p pi) refuse(d document, err error) Result {
	return p.encode(d, convert.Call{}, Reply{Outcome: convert.Outcome{Status: convert.Failed, Reason: err.Error()}})
}

// piResult has one entry per question, and flags for everything that is not an
// answer.
type piResult struct {
	// Type and RequestID are those of a response.
	Type      string          `json:"type,omitempty"`
	RequestID json.RawMessage `json:"requestId,omitempty"`

	Answered bool       `json:"answered"`
	Answers  []piAnswer `json:"answers"`
	// Cancelled is set when the user dismissed or declined the call.
	Cancelled bool `json:"cancelled,omitempty"`
	// ConnectionLost is set when the client went away.
	ConnectionLost bool   `json:"connectionLost,omitempty"`
	PendingFile    string `json:"pendingFile,omitempty"`
	// Message tells the model how it goes on when the questions wait.
	Message string     `json:"message,omitempty"`
	Error   string     `json:"error,omitempty"`
	Details *piDetails `json:"details,omitempty"`
}

type piAnswer struct {
	Question string `json:"question"`
	// Answer is a string, or a list of strings for a multi-select question.
	Answer any `json:"answer"`
	// SelectedOption is the label picked for a single-select question.
	SelectedOption string `json:"selectedOption,omitempty"`
	// WasCustom says that the user typed text of their own.
	WasCustom bool   `json:"wasCustom"`
	Note      string `json:"note,omitempty"`
}

// piDetails are kept by pi for replays and summaries of answered calls.
type piDetails struct {
	Questions json.RawMessage `json:"questions,omitempty"`
	Answers   []piAnswer      `json:"answers"`
	// AnsweredAt is in milliseconds since 1970, 0 when not known.
	AnsweredAt int64           `json:"answeredAt,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Summary    string          `json:"summary,omitempty"`
}

// piResultOf is the result without details.
func piResultOf(c convert.Call, o convert.Outcome) piResult {
	r := piResult{Answered: o.Status == convert.Answered, Answers: []piAnswer{}}
	switch o.Status {
	case convert.Answered:
		r.Answers = piAnswers(c, o.Answers)
	case convert.Cancelled, convert.Declined:
		r.Cancelled = true
	case convert.Disconnected:
		r.ConnectionLost = true
	default:
		r.Error = o.Message()
	}
	return r
}

func piAnswers(c convert.Call, answers []convert.Answer) []piAnswer {
	list := make([]piAnswer, 0, len(answers))
	for i, a := range answers {
		if i >= len(c.Questions) || a.Empty() {
			continue
		}
		q := c.Questions[i]
		entry := piAnswer{Question: q.Text, Answer: a.Items(), WasCustom: a.Text != "", Note: a.Note}
		if !q.MultiSelect {
			entry.Answer = a.Items()[0]
			if len(a.Selected) == 1 {
				entry.SelectedOption = a.Selected[0]
			}
		}
		list = append(list, entry)
	}
	return list
}

func piDetailsOf(d document, c convert.Call, answers []piAnswer, r Reply) *piDetails {
	if r.Outcome.Status != convert.Answered {
		return nil
	}
	details := &piDetails{
		Questions: raw(read.Field(d.input, "questions")),
		Answers:   answers,
		Mode:      r.Mode,
		Metadata:  raw(read.Field(d.input, "metadata")),
		Summary:   summary(c, r.Outcome.Answers),
	}
	if details.Questions == nil { // of the form with one question
		details.Questions = clean.JSON(piQuestions(c))
	}
	if !r.AnsweredAt.IsZero() {
		details.AnsweredAt = r.AnsweredAt.UnixMilli()
	}
	return details
}

// raw is a value as it came, nil for none.
func raw(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// piQuestion and piOption leave out what pi's schema leaves out.
type piQuestion struct {
	Question    string     `json:"question"`
	Header      string     `json:"header,omitempty"`
	Options     []piOption `json:"options,omitempty"`
	MultiSelect bool       `json:"multiSelect,omitempty"`
}

type piOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

func piQuestions(c convert.Call) []piQuestion {
	list := make([]piQuestion, len(c.Questions))
	for i, q := range c.Questions {
		list[i] = piQuestion{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			list[i].Options = append(list[i].Options, piOption{o.Label, o.Description})
		}
	}
	return list
}
