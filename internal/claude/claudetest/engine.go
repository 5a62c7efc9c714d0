package claudetest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

var (
	errInterrupted = errors.New("interrupted")
	errStreaming   = errors.New("interrupted while streaming")
	errDismissed   = errors.New("denied with interrupt")
)

// engine is the stand-in: one goroutine reads the input, one runs turns.
type engine struct {
	dir    string
	args   arguments
	script Script
	record *os.File
	out    output

	proc.Shared // has what follows. What a step writes is in the order of what happens
	mode        string
	model       string
	session     string
	queue       []json.RawMessage // user messages that no turn has taken
	taken       []string          // ids of those that the turn has taken
	open        []string          // permission requests without an answer, in order
	replies     map[string]chan gjson.Result
	request     int                     // numbers requests
	cancel      context.CancelCauseFunc // of the running turn

	eof     chan struct{}
	deaf    atomic.Bool   // the input was closed
	tells   atomic.Bool   // what sub-agents say
	arrived chan struct{} // capacity 1
	uuid    atomic.Int64  // numbers messages

	message int // numbers those of the model, and results
	results int
}

// now is what the session runs with at the moment.
func (e *engine) now() (mode, model string) {
	e.Step(func() { mode, model = e.mode, e.model })
	return mode, model
}

func newEngine(dir string, args arguments) *engine {
	e := &engine{
		dir: dir, args: args, mode: args.mode, model: args.model, session: args.session,
		replies: map[string]chan gjson.Result{}, eof: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	if args.resume != "" && !args.fork {
		e.session = args.resume
	}
	e.session = cmp.Or(e.session, "00000000-0000-4000-8000-000000000000")
	return e
}

// play runs until the input ends, and returns the exit status.
func (e *engine) play() int {
	if err := e.steps(context.Background(), e.script.Start, ""); err != nil {
		return 1
	}
	if e.args.resume != "" && !exists(e.sessionFile(e.args.resume)) {
		e.result(&Result{Subtype: "error_during_execution", IsError: true, Errors: []string{"No conversation found with session ID: " + e.args.resume}}, nil)
		return 1
	}
	if e.args.resume == "" && e.args.session != "" && exists(e.sessionFile(e.args.session)) {
		fmt.Fprintf(os.Stderr, "Error: Session ID %s is already in use.\n", e.args.session)
		return 1
	}
	go e.read()
	for {
		for prompt := e.next(); prompt != nil; prompt = e.next() {
			e.turn(prompt)
		}
		select {
		case <-e.arrived:
		case <-e.eof:
			if e.script.IgnoreEOF {
				select {}
			}
			return 0
		}
	}
}

// next is the prompt of the next turn, or nil.
func (e *engine) next() (prompt json.RawMessage) {
	e.Step(func() {
		if len(e.queue) > 0 {
			prompt, e.queue = e.queue[0], e.queue[1:]
			e.take(prompt)
		}
	})
	return prompt
}

// take notes that the turn has a prompt. It is called alone.
func (e *engine) take(prompt json.RawMessage) {
	if id := e.promptID(prompt); id != "" {
		e.taken = append(e.taken, id)
		e.promptIs(id, "started")
	}
}

// promptID is the id of a prompt, empty if nothing is said of it.
func (e *engine) promptID(prompt json.RawMessage) string {
	if e.script.Old {
		return ""
	}
	return gjson.GetBytes(prompt, "uuid").String()
}

// promptIs says what became of a prompt. It is called alone.
func (e *engine) promptIs(id, state string) {
	if id != "" {
		e.out.emit(object{"type": "command_lifecycle", "command_uuid": id, "state": state, "session_id": e.session})
	}
}

// fold takes the waiting prompts into the running turn, as the CLI does
// between tool calls and the next message.
func (e *engine) fold() {
	e.Step(func() {
		for _, prompt := range e.queue {
			e.take(prompt)
		}
		e.queue = nil
	})
}

func (e *engine) read() {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	for n := 0; ; n++ {
		if e.script.StopReading > 0 && n >= e.script.StopReading {
			select {}
		}
		line, err := r.ReadBytes('\n')
		if e.deaf.Load() {
			return
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			if !json.Valid(line) {
				fmt.Fprintf(os.Stderr, "Error parsing streaming input line (type=unknown, %d chars): SyntaxError\n", len(text))
				os.Exit(1)
			}
			e.note(Line{Raw: json.RawMessage(text)})
			e.receive(json.RawMessage(text))
		}
		if err != nil {
			e.note(Line{EOF: true})
			close(e.eof)
			return
		}
	}
}

// deafen closes the input, as seen from outside.
func (e *engine) deafen() {
	if e.deaf.CompareAndSwap(false, true) {
		closeStdin()
		e.note(Line{EOF: true})
	}
}

func (e *engine) note(l Line) {
	l.Pid = os.Getpid()
	data, _ := json.Marshal(l)
	_, _ = e.record.Write(append(data, '\n'))
}

func (e *engine) receive(line json.RawMessage) {
	m := gjson.ParseBytes(line)
	switch m.Get("type").String() {
	case "user":
		e.Step(func() {
			if bad := e.script.Refuse; bad != "" && strings.Contains(m.Get("message.content").Raw, bad) {
				e.promptIs(e.promptID(line), "refused")
				return
			}
			e.queue = append(e.queue, line)
			e.promptIs(e.promptID(line), "queued")
		})
		select {
		case e.arrived <- struct{}{}:
		default:
		}
	case "control_response":
		id := m.Get("response.request_id").String()
		e.Step(func() {
			if ch := e.replies[id]; ch != nil { // else a late answer: nobody cares
				ch <- m.Get("response")
			}
			e.forget(id)
		})
	case "control_request":
		e.control(m.Get("request_id").String(), m.Get("request"))
	}
}

// forget is called alone.
func (e *engine) forget(id string) {
	delete(e.replies, id)
	e.open = slices.DeleteFunc(e.open, func(s string) bool { return s == id })
}

func (e *engine) control(id string, r gjson.Result) {
	switch subtype := r.Get("subtype").String(); subtype {
	case "initialize":
		e.tells.Store(r.Get("forwardSubagentText").Bool())
		e.respond(id, e.initReply())
		_ = e.steps(context.Background(), e.script.Opened, "")
	case "stop_task": // the script says what comes of it
		e.respond(id, object{})
	case "interrupt":
		if !e.script.IgnoreInterrupt {
			e.interrupt(id, r.Get("cancel_queued").Bool())
		}
	case "set_permission_mode":
		if e.script.SlowMode != "" {
			_ = e.released(context.Background(), e.script.SlowMode)
		}
		mode := r.Get("mode").String()
		switch {
		case e.script.NoMode || !slices.Contains([]string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}, mode):
			e.refuse(id, "Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan", "invalid_mode")
		case mode == "bypassPermissions" && !e.args.bypass:
			e.refuse(id, "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions", "bypass_not_launched")
		default:
			e.respond(id, object{"mode": mode})
			e.setMode(mode)
		}
	case "set_model":
		model := r.Get("model").String()
		if known, ok := map[string]string{"default": "claude-opus-5-5", "opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5-5"}[model]; ok {
			model = known
		}
		e.Step(func() { e.model = model })
		e.respond(id, object{"model": model})
	default:
		if reply, ok := e.script.Replies[subtype]; ok {
			if string(reply) != "null" {
				e.respond(id, reply)
			}
			return
		}
		e.refuse(id, "Unsupported control request subtype: "+subtype, "unsupported_request")
	}
}

// interrupt withdraws what is open, replies, and ends the turn, in the order
// of the real CLI. Without an id it came by a signal.
func (e *engine) interrupt(id string, all bool) {
	var cancel context.CancelCauseFunc
	queued := []string{}
	e.Step(func() {
		if cancel = e.cancel; cancel != nil {
			e.withdraw()
		}
		if all && !e.script.Old {
			for _, prompt := range e.queue {
				e.promptIs(e.promptID(prompt), "cancelled")
			}
			e.queue = nil
		}
		for _, prompt := range e.queue {
			queued = append(queued, e.promptID(prompt))
		}
	})
	if id != "" {
		e.respond(id, object{"still_queued": queued})
	}
	if cancel != nil {
		cancel(errInterrupted)
	}
}

// withdraw is called alone.
func (e *engine) withdraw() {
	for _, req := range slices.Clone(e.open) {
		e.out.emit(object{"type": "control_cancel_request", "request_id": req})
		e.forget(req)
	}
}

func (e *engine) setMode(mode string) {
	e.Step(func() { e.mode = mode })
	e.emit(object{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode})
}

func (e *engine) respond(id string, response any) {
	e.out.emit(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

func (e *engine) refuse(id, message, code string) {
	e.out.emit(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": message, "error_code": code}})
}

// The session file holds how many turns a session used up. As with the real
// CLI there is no session before its first prompt.
func (e *engine) sessionFile(id string) string { return filepath.Join(e.dir, "session-"+id) }

// pick chooses the turn for a prompt.
func (e *engine) pick(prompt string) Turn {
	for _, t := range e.script.Turns {
		if t.Match != "" && strings.Contains(prompt, t.Match) {
			return t
		}
	}
	data, _ := os.ReadFile(e.sessionFile(e.session))
	used, _ := strconv.Atoi(string(data))
	_ = os.WriteFile(e.sessionFile(e.session), []byte(strconv.Itoa(used+1)), 0o600)
	for _, t := range e.script.Turns {
		if t.Match != "" {
			continue
		}
		if used == 0 {
			return t
		}
		used--
	}
	return Turn{Steps: []Step{Text("(the script has no more turns)")}}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
