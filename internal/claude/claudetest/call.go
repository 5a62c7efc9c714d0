package claudetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// call is a tool call that runs.
type call struct {
	e      *engine
	block  Block
	parent string
	begun  bool
	done   bool  // has a result
	next   *call // asks before this one's result is written
	wait   func(context.Context) (gjson.Result, error)

	request string // its id
	reply   gjson.Result
	err     error
}

var errEOF = errors.New("Tool permission request failed: AbortError: Tool permission stream closed before response received")

const (
	rejection = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
	dontAsk   = "Permission to use %s has been denied because Claude Code is running in don't ask mode."
)

// begin asks for the permission, once.
func (c *call) begin() {
	if c.begun {
		return
	}
	c.begun = true
	ask := c.block.Ask
	mode, _ := c.e.now()
	if ask == nil || mode == "dontAsk" || (mode == "bypassPermissions" && !ask.Interaction) {
		return
	}
	input := c.block.Input
	if ask.Input != nil {
		input = ask.Input
	}
	request := object{
		"subtype": "can_use_tool", "tool_name": c.block.Name, "display_name": c.block.Name,
		"input": input, "tool_use_id": c.block.ID,
	}
	if ask.Interaction {
		request["requires_user_interaction"] = true
	}
	if ask.Suggestions != nil {
		request["permission_suggestions"] = ask.Suggestions
	}
	if ask.Description != "" {
		request["description"] = ask.Description
	}
	if c.parent != "" {
		request["agent_id"] = agentID(c.parent)
	}
	c.request, c.wait = c.e.ask(c.block.ID, request)
}

// await waits for the permission, if one was asked for.
func (c *call) await(ctx context.Context) {
	switch {
	case c.wait == nil:
	case c.block.Ask.Withdraw != "":
		c.awaitOrWithdraw(ctx)
	default:
		c.reply, c.err = c.wait(ctx)
	}
}

var errTakenBack = errors.New("Tool permission request was withdrawn")

// awaitOrWithdraw waits for the permission, or for the release that takes the
// request back.
func (c *call) awaitOrWithdraw(ctx context.Context) {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if c.e.released(waiting, c.block.Ask.Withdraw) == nil {
			stop(errTakenBack)
		}
	}()
	c.reply, c.err = c.wait(waiting)
	if c.err == nil || context.Cause(waiting) != errTakenBack {
		return
	}
	c.err = errTakenBack
	c.e.Step(func() {
		c.e.out.emit(object{"type": "control_cancel_request", "request_id": c.request})
		c.e.forget(c.request)
	})
}

// finish does what the permission allows and writes the tool's result.
func (c *call) finish(ctx context.Context) error {
	if c.wait == nil {
		if mode, _ := c.e.now(); c.block.Ask != nil && mode == "dontAsk" {
			text := fmt.Sprintf(dontAsk, c.block.Name)
			c.e.emit(object{"type": "system", "subtype": "permission_denied", "tool_name": c.block.Name, "tool_use_id": c.block.ID, "message": text})
			c.result(text, true, nil)
			return nil
		}
		return c.execute(ctx, c.block.Input)
	}
	switch {
	case errors.Is(c.err, errEOF), errors.Is(c.err, errTakenBack):
		c.result(c.err.Error(), true, nil)
		return nil
	case c.err != nil:
		return c.err
	case c.reply.Get("subtype").String() != "success":
		c.result("Tool permission request failed: Error: "+c.reply.Get("error").String(), true, nil)
		return nil
	}
	answer := c.reply.Get("response")
	switch answer.Get("behavior").String() {
	case "allow":
		for _, u := range answer.Get("updatedPermissions").Array() {
			if u.Get("type").String() == "setMode" {
				c.e.setMode(u.Get("mode").String())
			}
		}
		return c.execute(ctx, json.RawMessage(answer.Get("updatedInput").Raw))
	case "deny":
		if answer.Get("interrupt").Bool() {
			c.e.Step(c.e.withdraw)
			return errDismissed
		}
		c.result(answer.Get("message").String(), true, nil)
		return nil
	}
	c.result("Tool permission request failed: ZodError: no valid behavior", true, nil)
	return nil
}

func (c *call) execute(ctx context.Context, input json.RawMessage) error {
	if c.block.Name == "AskUserQuestion" && c.block.Output == "" {
		text, detail, err := answerText(input)
		if err != nil {
			c.result("InputValidationError: "+err.Error(), true, nil)
			return nil
		}
		c.result(text, false, detail)
		return nil
	}
	if len(c.block.Inner) > 0 {
		if err := c.subAgent(ctx); err != nil {
			return err
		}
	}
	if err := c.e.steps(ctx, c.block.While, c.parent); err != nil {
		return err
	}
	c.result(c.block.Output, c.block.Failed, c.block.Detail)
	return nil
}

func (c *call) subAgent(ctx context.Context) error {
	id := c.block.ID
	task := object{"task_id": agentID(id), "tool_use_id": id, "subagent_type": "general-purpose"}
	c.e.emit(merge(task, object{"type": "system", "subtype": "task_started", "is_backgrounded": false, "task_type": "local_agent"}))
	c.e.emit(c.e.sub(id, object{"type": "user", "message": object{"role": "user", "content": []any{object{"type": "text", "text": gjson.GetBytes(c.block.Input, "prompt").String()}}}}))
	if err := c.e.steps(ctx, c.block.Inner, id); err != nil {
		return err
	}
	c.e.emit(merge(task, object{"type": "system", "subtype": "task_notification", "status": "completed", "summary": c.block.Output}))
	return nil
}

func (c *call) reject() {
	if !c.done {
		c.write(rejection, true, raw("User rejected tool use"), object{"tool_result_meta": []any{object{"id": c.block.ID, "non_execution_kind": "user-rejected"}}})
	}
}

func (c *call) result(text string, failed bool, detail json.RawMessage) {
	c.write(text, failed, detail, nil)
}

func (c *call) write(text string, failed bool, detail json.RawMessage, more object) {
	c.done = true
	if c.next != nil {
		c.next.begin()
	}
	block := object{"type": "tool_result", "tool_use_id": c.block.ID, "content": text}
	if failed {
		block["is_error"] = true
	}
	if detail == nil {
		detail = raw(map[bool]string{true: "Error: " + text, false: text}[failed])
	}
	m := object{"type": "user", "message": object{"role": "user", "content": []any{block}}, "tool_use_result": detail}
	c.e.emit(c.e.sub(c.parent, merge(m, more)))
}

// answerText is what the model reads of an answered question call.
func answerText(input json.RawMessage) (string, json.RawMessage, error) {
	in := gjson.ParseBytes(input)
	if !in.Get("questions").IsArray() {
		return "", nil, errors.New("no questions in updatedInput")
	}
	var pairs []string
	answers := in.Get("answers").Map()
	for _, q := range in.Get("questions").Array() {
		text := q.Get("question").String()
		a := answers[text]
		if a.Exists() && a.Type != gjson.String {
			return "", nil, fmt.Errorf("the answer to %q is not a string", text)
		}
		if a.Str != "" {
			pairs = append(pairs, fmt.Sprintf("%q=%q", text, a.Str))
		}
	}
	if len(pairs) == 0 {
		return "The user did not answer the questions.", input, nil
	}
	return "Your questions have been answered: " + strings.Join(pairs, ", ") + ". You can now continue with these answers in mind.", input, nil
}

// ask sends a control request and returns its id and how to wait for the
// answer.
func (e *engine) ask(tool string, request object) (string, func(context.Context) (gjson.Result, error)) {
	var id string
	ch := make(chan gjson.Result, 1)
	e.Step(func() {
		e.request++
		id = fmt.Sprintf("req-%d-%s", e.request, tool)
		e.replies[id] = ch
		e.open = append(e.open, id)
	})
	e.out.emit(object{"type": "control_request", "request_id": id, "request": request})
	return id, func(ctx context.Context) (gjson.Result, error) {
		select {
		case r := <-ch:
			return r, nil
		default:
		}
		select {
		case r := <-ch:
			return r, nil
		case <-ctx.Done():
			return gjson.Result{}, errInterrupted
		case <-e.eof:
			e.Step(func() { e.forget(id) })
			return gjson.Result{}, errEOF
		}
	}
}

// toolOf is the tool call that a request id was made for.
func toolOf(requestID string) string {
	parts := strings.SplitN(requestID, "-", 3)
	if len(parts) != 3 || parts[0] != "req" {
		return ""
	}
	return parts[2]
}
