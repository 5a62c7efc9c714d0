package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// history is what was done to one question, with the times at which it was done.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

var began = time.Now()

func now() int64 { return int64(time.Since(began)) }

// do does something and notes what came of it: the status of the reply, or 0 if
// there was none. What has no reply may happen at any time after, or never.
func (h *history) do(what string, f func() int) int {
	begin := now()
	status := f()
	end := now()
	if status == 0 {
		end = math.MaxInt64
	}
	h.note(porcupine.Operation{Input: what, Output: fmt.Sprint(status), Call: begin, Return: end})
	return status
}

// saw notes the state in which the question was found.
func (h *history) saw(begin int64, state string) {
	h.note(porcupine.Operation{Input: "look", Output: state, Call: begin, Return: now()})
}

func (h *history) note(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// check looks for an order in which one hub that never dies would have done the
// same.
func (h *history) check(t *testing.T, name string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.True(t, porcupine.CheckOperations(oneQuestion, h.ops), "%s: %v", name, h.ops)
}

// oneQuestion is the model: a question is not there, open, or has one end.
var oneQuestion = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		is, do, got := state.(string), input.(string), output.(string)
		lost := got == "0"
		switch do {
		case "look":
			return is == got, is
		case "ask":
			if is == "" {
				is = "open"
			}
			return lost || got == fmt.Sprint(http.StatusAccepted), is
		}
		switch { // an answer, or a cancel
		case is == "open":
			return lost || got == fmt.Sprint(http.StatusOK), do
		case is == "":
			return lost || got == fmt.Sprint(http.StatusNotFound), is
		}
		return lost || got == fmt.Sprint(http.StatusConflict) || is == do && got == fmt.Sprint(http.StatusOK), is
	},
}

// seenAs is the state of a question in the model's words; before is what a label follows.
func seenAs(outcome string, result json.RawMessage, before string, labels ...string) string {
	switch outcome {
	case "":
		return "open"
	case "answered":
		for _, label := range labels {
			if bytes.Contains(result, []byte(before+`"`+label+`"`)) {
				return label
			}
		}
	case "cancelled":
		return "cancel"
	}
	return outcome + " " + string(result)
}
