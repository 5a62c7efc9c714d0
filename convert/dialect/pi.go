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

const piRequest = "ask_user_request"

func (pi) ID() string { return "pi" }

func (pi) Recognises(d Document) bool {
	if d.Tool != "" {
		return d.Tool == "ask_user" && d.Input.Get("questions").Exists()
	}
	return d.Root.Get("type").Str == piRequest || d.bare() && d.freeText()
}

func (pi) Decode(d Document) (convert.Call, error) {
	call, err := convert.Parse([]byte(d.Input.Raw), convert.Limits{
		MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true,
	})
	if d.Root.Get("type").Str == piRequest {
		call.ID = d.Root.Get("requestId").String()
	}
	return call, err
}

type piResponse struct {
	Type      string          `json:"type"`
	RequestID json.RawMessage `json:"requestId,omitempty"`
	Structured
}

func (pi) Encode(d Document, c convert.Call, r Reply) Result {
	result := StructuredResult(c, r.Outcome)
	if r.PendingFile != "" { // waiting is no error
		result.PendingFile, result.Error = r.PendingFile, ""
	}
	result.Details = piDetails(d, result.Answers, r)
	isError := r.Outcome.Status == convert.Failed && r.PendingFile == ""
	if d.Root.Get("type").Str != piRequest {
		return Result{Body: clean.JSON(result), IsError: isError}
	}
	id := json.RawMessage(d.Root.Get("requestId").Raw)
	return Result{Body: clean.JSON(piResponse{"ask_user_response", id, result}), IsError: isError}
}

// piDetails are kept by pi for replays and summaries of answered calls.
func piDetails(d Document, answers []StructuredAnswer, r Reply) *Details {
	if r.Outcome.Status != convert.Answered {
		return nil
	}
	details := &Details{
		Questions: raw(d.Input.Get("questions")),
		Answers:   answers,
		Mode:      r.Mode,
		Metadata:  raw(d.Input.Get("metadata")),
	}
	if !r.AnsweredAt.IsZero() {
		details.AnsweredAt = r.AnsweredAt.UnixMilli()
	}
	return details
}

func raw(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}
