package claudetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func (e *engine) turn(prompt json.RawMessage) {
	t := e.pick(promptText(prompt))
	e.runTurn(t.Steps, t.Result, nil)
	if len(t.After) > 0 {
		e.runTurn(t.After, nil, object{"kind": "task-notification", "producer": "session-task"})
	}
}

// runTurn does the steps and writes the one result. origin is set on a turn
// that no prompt started.
func (e *engine) runTurn(steps []Step, result *Result, origin object) {
	ctx, cancel := context.WithCancelCause(context.Background())
	e.Step(func() { e.cancel = cancel })
	e.emit(e.initMessage())
	err := e.steps(ctx, steps, "")
	e.Step(func() { e.cancel = nil }) // from here on an interrupt finds nothing to end
	if err == nil {
		err = context.Cause(ctx)
	}
	switch {
	case errors.Is(err, errStreaming):
		e.userText("[Request interrupted by user]")
		result = &Result{Subtype: "error_during_execution", IsError: true, TerminalReason: "aborted_streaming", Errors: diagnostic}
	case err != nil:
		e.userText("[Request interrupted by user for tool use]")
		result = &Result{Subtype: "error_during_execution", IsError: true, StopReason: "tool_use", TerminalReason: "aborted_tools", Errors: diagnostic}
	case result == nil:
		result = &Result{Subtype: "success", StopReason: "end_turn", TerminalReason: "completed", Text: e.out.lastText}
	case result.Error != "":
		e.syntheticMessage(result)
	}
	e.result(result, origin)
}

var diagnostic = []string{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"}

// steps runs steps in order. parent is the Agent call whose sub-agent does
// them. An error ends the turn.
func (e *engine) steps(ctx context.Context, steps []Step, parent string) error {
	for _, s := range steps {
		if err := e.step(ctx, s, parent); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) step(ctx context.Context, s Step, parent string) error {
	switch s.Do {
	case "message":
		return e.say(ctx, s, parent)
	case "sleep":
		return pause(ctx, s.For)
	case "hang":
		<-ctx.Done()
		return errStreaming
	case "wait":
		return e.released(ctx, s.Name)
	case "die":
		die(s)
	case "close_stdout":
		e.out.close()
	case "raw":
		for _, l := range s.Lines {
			e.out.line([]byte(l))
		}
	case "big":
		e.emit(object{"type": "claudetest_big", "data": strings.Repeat("x", s.Bytes)})
	case "control":
		_, wait := e.ask("control:"+s.Name, object{"subtype": s.Name})
		_, _ = wait(ctx)
	case "mode":
		e.setMode(s.Name)
	default:
		fmt.Fprintf(os.Stderr, "claudetest: no step %q\n", s.Do)
		os.Exit(3)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errStreaming
	}
}

func die(s Step) {
	if len(s.Lines) > 0 {
		_, _ = io.WriteString(os.Stderr, strings.Join(s.Lines, "\n")+"\n")
	}
	if s.Signal != 0 {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Signal(syscall.Signal(s.Signal))
			time.Sleep(5 * time.Second) // the signal comes now
		}
	}
	os.Exit(s.Code)
}

// say streams a message and runs its tools.
func (e *engine) say(ctx context.Context, s Step, parent string) error {
	e.message++
	m := &message{e: e, id: fmt.Sprintf("msg_%04d", e.message), parent: parent}
	m.begin()
	var calls []*call
	stop := "end_turn"
	for i, b := range s.Blocks {
		if b.Type != "tool_use" {
			if err := m.prose(ctx, i, b); err != nil {
				return err
			}
			continue
		}
		stop = "tool_use"
		m.toolUse(i, b)
		c := &call{e: e, block: b, parent: parent}
		calls = append(calls, c)
		// Questions are open side by side; all else takes its turn.
		if !slices.ContainsFunc(calls, func(c *call) bool { return c.block.Name != "AskUserQuestion" }) {
			c.begin()
		}
		m.event(object{"type": "content_block_stop", "index": i})
	}
	if s.Stop != "" {
		stop = s.Stop
	}
	m.end(stop)
	err := finish(ctx, calls)
	if err == nil && len(calls) > 0 && parent == "" {
		e.fold()
	}
	return err
}

// finish runs the calls: those that are open side by side as their answers
// come, then the others in order. If the turn is interrupted, those without a
// result are rejected, first the one that the user dismissed.
func finish(ctx context.Context, calls []*call) error {
	open := 0
	for open < len(calls) && calls[open].begun {
		open++
	}
	answered := make(chan *call, open)
	for _, c := range calls[:open] {
		go func() {
			c.await(ctx)
			answered <- c
		}()
	}
	for i := range calls {
		c := calls[i]
		if i < open {
			c = <-answered
		} else {
			c.begin()
			c.await(ctx)
		}
		if i+1 >= open && i+1 < len(calls) {
			c.next = calls[i+1]
		}
		if err := c.finish(ctx); err != nil {
			c.next = nil
			if errors.Is(err, errDismissed) {
				c.reject()
			}
			for _, left := range calls {
				left.reject()
			}
			return err
		}
	}
	return nil
}

// released returns when the release of that name is there.
func (e *engine) released(ctx context.Context, name string) error {
	for !exists(filepath.Join(e.dir, "release-"+name)) {
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
