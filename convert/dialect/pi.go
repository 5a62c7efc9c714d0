package dialect

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// pi is pi's ask_user with a list of questions, as a tool call or as an
// ask_user_request that is answered by an ask_user_response.
type pi struct{}

const (
	piRequest  = "ask_user_request"
	piResponse = "ask_user_response"
)

func (pi) id() string { return "pi" }

func (pi) recognises(d document) bool {
	if d.tool != "" {
		return d.tool == "ask_user" && d.input.Get("questions").Exists()
	}
	return d.root.Get("type").Str == piRequest || d.bare() && d.freeText()
}

func (pi) decode(d document) (convert.Call, error) {
	call, err := convert.Parse([]byte(d.input.Raw), convert.Limits{
		MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true,
	})
	if d.root.Get("type").Str == piRequest {
		call.ID = d.root.Get("requestId").String()
	}
	return call, err
}

func (pi) encode(d document, c convert.Call, r Reply) Result {
	result := piResultOf(c, r.Outcome)
	if r.PendingFile != "" { // waiting is no error
		result.PendingFile, result.Error = r.PendingFile, ""
	}
	result.Details = piDetailsOf(d, result.Answers, r)
	if d.root.Get("type").Str == piRequest {
		result.Type, result.RequestID = piResponse, raw(d.root.Get("requestId"))
	}
	return Result{Body: clean.JSON(result), IsError: r.Outcome.Status == convert.Failed && r.PendingFile == ""}
}

// PiError is pi's response to an ask_user_request that cannot be read. The id is
// the requestId as it came, nil if there was none.
func PiError(id json.RawMessage, reason string) json.RawMessage {
	result := piResultOf(convert.Call{}, convert.Outcome{Status: convert.Failed, Reason: reason})
	result.Type, result.RequestID = piResponse, id
	return clean.JSON(result)
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
	ConnectionLost bool       `json:"connectionLost,omitempty"`
	PendingFile    string     `json:"pendingFile,omitempty"`
	Error          string     `json:"error,omitempty"`
	Details        *piDetails `json:"details,omitempty"`
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

func piDetailsOf(d document, answers []piAnswer, r Reply) *piDetails {
	if r.Outcome.Status != convert.Answered {
		return nil
	}
	details := &piDetails{
		Questions: raw(d.input.Get("questions")),
		Answers:   answers,
		Mode:      r.Mode,
		Metadata:  raw(d.input.Get("metadata")),
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
