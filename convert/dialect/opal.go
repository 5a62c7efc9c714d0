package dialect

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// opal is Opal's ask_user with one question and optional choices, as a tool
// call or as the JSON-RPC request client/ask_user.
type opal struct{}

const opalMethod = "client/ask_user"

// Codes of JSON-RPC errors for a question that has no answer.
const (
	codeCancelled = -32800
	codeDeclined  = -32000
	codeFailed    = -32603
)

func (opal) ID() string { return "opal" }

func (opal) Recognises(d Document) bool {
	switch {
	case d.Tool != "":
		return d.Tool == "ask_user" && !d.Input.Get("questions").Exists()
	case d.bare():
		return d.Input.Get("question").Exists() && !d.Input.Get("questions").Exists()
	}
	return d.Root.Get("method").Str == opalMethod
}

func (opal) Decode(d Document) (convert.Call, error) {
	input := d.Input
	if d.isRPC() {
		input = d.Root.Get("params")
	}
	question := map[string]json.RawMessage{}
	if text := input.Get("question"); text.Exists() {
		question["question"] = raw(text)
	}
	if choices := input.Get("choices"); choices.Exists() {
		question["options"] = raw(choices)
	}
	call, err := convert.Parse(clean.JSON(map[string]any{"questions": []any{question}}), convert.Limits{
		MaxQuestions: 1, MinOptions: -1, MaxOptions: -1, FreeText: true,
	})
	if err != nil {
		return convert.Call{}, err
	}
	call.Input = raw(input)
	call.Session = input.Get("session_id").String()
	if d.isRPC() {
		call.ID = d.Root.Get("id").String()
	}
	return call, nil
}

func (d Document) isRPC() bool { return d.Root.Get("method").Type == gjson.String }

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type rpcResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  *opalAnswer     `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type opalAnswer struct {
	Answer string `json:"answer"`
}

func (opal) Encode(d Document, c convert.Call, r Reply) Result {
	o := r.Outcome
	answered := o.Status == convert.Answered && len(o.Answers) > 0
	var answer opalAnswer
	if answered {
		a := o.Answers[0]
		answer.Answer = convert.WithNote(convert.AnswerText(c.Questions[0], a), a.Note)
	}
	if !d.isRPC() {
		if answered {
			return Result{Body: clean.JSON(answer)}
		}
		return Result{Body: clean.JSON(map[string]string{"error": o.Message()}), IsError: true}
	}
	resp := rpcResponse{JSONRPC: "2.0", ID: raw(d.Root.Get("id"))}
	if answered {
		resp.Result = &answer
	} else {
		resp.Error = &rpcError{opalCode(o.Status), o.Message()}
	}
	return Result{Body: clean.JSON(resp), IsError: !answered}
}

func opalCode(s convert.Status) int {
	switch s {
	case convert.Cancelled:
		return codeCancelled
	case convert.Declined:
		return codeDeclined
	}
	return codeFailed
}
