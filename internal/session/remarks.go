package session

import (
	"errors"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// goneRemark tells the user why a question in the conversation needs no answer
// any more, whoever put it there. One that the user cancelled needs no remark.
func goneRemark(why error) string {
	var there life.Elsewhere
	if errors.As(why, &there) {
		how := "answered"
		if there.Outcome == convert.Cancelled.String() {
			how = "dismissed"
		}
		return "\n\nThis question was " + how + " " + clean.Line(there.Place()) + ". It needs no answer here.\n\n"
	}
	for _, r := range []struct {
		why    error
		remark string
	}{
		{ErrWithdrawn, "The agent has withdrawn this question. It needs no answer."},
		{ErrTurnOver, "The agent has gone on without an answer to this question. It needs no answer."},
		{life.ErrWithAnother, "This question was cancelled with another one. It needs no answer."},
		{ErrOtherMessage, "You sent another message, so this question is closed. The message before it was not taken as an answer."},
		{ErrNotAsked, "Your earlier message comes first. This question needs no answer."},
	} {
		if errors.Is(why, r.why) {
			return "\n\n" + r.remark + "\n\n"
		}
	}
	return ""
}

// againRemark stands before a question that was asked before the editor opened the
// session anew.
const againRemark = "This question is still open:\n\n"

// staleRemark stands before a question whose reply was not taken for an answer.
const staleRemark = "You may not have seen this question yet, so your last message was not taken as an answer to it:\n\n"

// by is what was heard as an answer. If it is none, or it is in doubt which, again is what
// stands before the question when it is shown once more.
func (w spoken) by(h *typed.Hearing) (answer, again string) {
	if w.stale {
		return "", staleRemark
	}
	answer, doubt := h.Takes(w.words)
	if doubt != "" {
		return "", doubt + "\n\n"
	}
	return answer, ""
}
