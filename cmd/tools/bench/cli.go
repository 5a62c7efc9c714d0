package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// cliFlags are those that the bridge gives to Claude Code.
var cliFlags = []string{
	"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
	"--permission-prompt-tool", "stdio", "--include-partial-messages",
}

// cli is the stand-in, or the real CLI, driven without an adapter.
type cli struct{ *child }

// openCLI starts it and waits for its reply to initialize.
func openCLI(ctx context.Context, path string, env []string, dir string) (*cli, error) {
	child, err := startChild(ctx, slices.Concat([]string{path}, cliFlags, []string{"--session-id", claude.NewSessionID()}), env, dir)
	if err != nil {
		return nil, err
	}
	c := &cli{child}
	err = c.write(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize","hooks":{}}}`)
	for err == nil {
		if !c.out.Scan() {
			err = errors.New("the CLI ended before it answered initialize: " + c.stderr.String())
		} else if gjson.GetBytes(c.out.Bytes(), "type").Str == "control_response" {
			return c, nil
		}
	}
	c.close()
	return nil, err
}

// close ends it; what it still says is thrown away.
func (c *cli) close() {
	go func() {
		defer close(c.read)
		for c.out.Scan() {
		}
	}()
	_ = c.end()
}

// turn sends a prompt and reads to its result. onText gets the deltas; onAsk
// gets the questions, and has to answer them.
func (c *cli) turn(onAsk func(line []byte), onText func(string)) error {
	if err := c.write(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"parent_tool_use_id":null,"session_id":""}`); err != nil {
		return err
	}
	for c.out.Scan() {
		line := c.out.Bytes()
		switch gjson.GetBytes(line, "type").Str {
		case "stream_event":
			if d := gjson.GetBytes(line, "event.delta"); onText != nil && d.Get("type").Str == "text_delta" {
				onText(d.Get("text").Str)
			}
		case "control_request":
			onAsk(line)
		case "result":
			return nil
		}
	}
	return errors.New("the CLI ended within a turn: " + c.stderr.String())
}

// answer picks the first option of the one question of a request.
func (c *cli) answer(line []byte) error {
	input := gjson.GetBytes(line, "request.input")
	q := input.Get("questions.0")
	return c.write(`{"type":"control_response","response":{"subtype":"success","request_id":` + gjson.GetBytes(line, "request_id").Raw +
		`,"response":{"behavior":"allow","updatedInput":` + strings.TrimSuffix(input.Raw, "}") +
		`,"answers":{` + q.Get("question").Raw + `:` + q.Get("options.0.label").Raw + `}}}}}`)
}
