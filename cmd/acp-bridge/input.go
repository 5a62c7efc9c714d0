package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
)

// maxInput bounds what is read of a file: a call is kilobytes.
const maxInput = 64 << 20

// readInput reads a file, or stdin when the name is empty or "-". A person at the
// terminal is told that it waits for what.
func readInput(name, what string, s streams) ([]byte, error) {
	r := s.In
	if fromStdin(name) {
		if isTerminal(s.In) {
			fmt.Fprintf(s.Err, "Type or paste %s, then Ctrl+D.\n", what)
		}
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.Usage(err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, cli.Usage(err)
	}
	if len(data) > maxInput {
		return nil, usagef("input is larger than %d MiB", maxInput>>20)
	}
	return data, nil
}

func fromStdin(name string) bool { return name == "" || name == "-" }

// position is where in an input a byte is, as editors and compilers write it.
func position(name string, data []byte, at int) string {
	if fromStdin(name) {
		name = "stdin"
	}
	before := data[:min(max(at, 0), len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}

// badByte is the first byte of what cannot be JSON.
func badByte(data []byte) int {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		return max(0, int(syntax.Offset)-1)
	}
	return len(data)
}

// notJSON is the error for an input that is none.
func notJSON(name string, data []byte) error {
	at := badByte(data)
	why := "it ends too early"
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil && at < len(data)-1 {
		why = err.Error()
	}
	return fmt.Errorf("%s: %w: %s", position(name, data, at), convert.ErrInvalidJSON, why)
}

// locate adds to an error where in a call it is.
func locate(name string, data []byte, err error) error {
	at := 0
	var input *convert.InputError
	switch {
	case !json.Valid(data):
		at = badByte(data)
	case errors.As(err, &input):
		at = questionAt(data, input)
	}
	return fmt.Errorf("%s: %w", position(name, data, at), err)
}

// questionAt finds the question or option that an error is about, wherever a
// dialect keeps its list of questions.
func questionAt(data []byte, e *convert.InputError) int {
	root := gjson.ParseBytes(data)
	for _, path := range []string{"questions", "input.questions", "params.questions", "arguments.questions", "rawInput.questions", "tool_input.questions"} {
		list := root.Get(path)
		if !list.IsArray() {
			continue
		}
		if e.Question < 1 || e.Question > len(list.Array()) {
			return list.Index
		}
		q := list.Array()[e.Question-1]
		if options := q.Get("options").Array(); e.Option > 0 && e.Option <= len(options) {
			return options[e.Option-1].Index
		}
		return q.Index
	}
	return 0
}
