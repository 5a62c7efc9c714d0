package hublink

import (
	"encoding/json"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Dialect is the name that our own way to write a call has at the hub. It
// carries every call without loss, whatever agent it came from.
const Dialect = "bridge"

// Asking is a call in our own way, with who asks it.
type Asking struct {
	// Name is that of the question at the hub; whoever posted it has minted it. Hubs of
	// before names take the call's id for it.
	Name    string `json:"name,omitempty"`
	Kind    string `json:"kind"`
	Title   string `json:"title,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Machine string `json:"machine,omitempty"`
	Dir     string `json:"dir,omitempty"`
	// Detail is what a permission is for, as the agent wrote it.
	Detail string `json:"detail,omitempty"`
	// About is what else there is to tell.
	About about.About `json:"about,omitzero"`
	// Asker names the process that asks.
	Asker string `json:"asker,omitempty"`
	// Again is that of [life.Claimant]. Without it Prompts is 1: hubs of before took that
	// for what must not have an answer of before.
	Again   bool         `json:"again,omitempty"`
	Prompts int          `json:"prompts,omitempty"`
	Call    convert.Call `json:"call"`
}

// Settling is an outcome that the asker got elsewhere.
type Settling struct {
	Outcome string           `json:"outcome"`
	Answers []convert.Answer `json:"answers,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	By      string           `json:"by,omitempty"`
	// Asker is that of [Asking]; where another process asks the question by now,
	// nothing is settled.
	Asker string `json:"asker,omitempty"`
}

// Received says how far an outcome has got: Consumed, or why it cannot be taken.
type Received struct {
	Consumed bool   `json:"consumed,omitempty"`
	Refused  string `json:"refused,omitempty"`
	// Unsure says why it is not known whether the agent took it.
	Unsure string `json:"unsure,omitempty"`
	// Claim says that the asker hands it to the agent now, for others that would.
	Claim bool `json:"claim,omitempty"`
	// Ended says that the asker's process ends, or the agent's session.
	Ended bool `json:"ended,omitempty"`
	// Asker is that of [Asking].
	Asker string `json:"asker,omitempty"`
}

// Turn says how a turn of an agent ended, or that it waits where it can only be answered
// in its terminal.
type Turn struct {
	Event string `json:"event"` // [TurnDone], [TurnFailed] or [TurnWaits]
	Agent string `json:"agent,omitempty"`
	Dir   string `json:"dir,omitempty"`
	// Text is what the agent said last, why it failed, or what it waits for.
	Text string `json:"text,omitempty"`
	// Prompt is with what its user began the turn.
	Prompt string `json:"prompt,omitempty"`
}

const TurnDone, TurnFailed, TurnWaits = "done", "failed", "waits"

// TurnEvent is what there is to tell of the end of a turn: nothing, which is "", of an agent
// that goes on in the background and did not fail.
func TurnEvent(failed, working bool) string {
	switch {
	case failed:
		return TurnFailed
	case working:
		return ""
	}
	return TurnDone
}

type outcome struct {
	Question string `json:"question"`
	Settling
}

// EncodeOutcome writes how a question ended, for [DecodeOutcome].
func EncodeOutcome(o convert.Outcome, question, by string) []byte {
	return clean.JSON(outcome{question, Settling{Outcome: o.Status.String(), Answers: o.Answers, Reason: o.Reason, By: by}})
}

// DecodeOutcome reads what [EncodeOutcome] wrote.
func DecodeOutcome(data []byte) (o convert.Outcome, question, by string, err error) {
	var w outcome
	if err := json.Unmarshal(data, &w); err != nil {
		return o, "", "", fmt.Errorf("outcome: %w", err)
	}
	o, err = w.Settling.Result()
	return o, w.Question, w.By, err
}

// Result is the outcome as package convert has it.
func (s Settling) Result() (convert.Outcome, error) {
	status, ok := life.StatusOf(s.Outcome, s.By)
	if !ok {
		return convert.Outcome{}, fmt.Errorf("expected answered, declined, cancelled, withdrawn, failed or disconnected as the outcome, got %q", s.Outcome)
	}
	return convert.Outcome{Status: status, Answers: s.Answers, Reason: s.Reason}, nil
}
