package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

func renderCommand(fs *flagSet) runner {
	cwd := fs.String("cwd", "", "`directory` to show paths relative to")
	result := fs.String("result", "", "`file` with the tool's result: show how that is drawn, too")
	return func(_ context.Context, args []string, s streams) error {
		file, err := fs.ParseFile(args)
		if err != nil {
			return err
		}
		if *result == "-" && (file == "" || file == "-") {
			return misused("stdin cannot hold both the call and the result")
		}
		data, err := readInput(file, "a tool use", s)
		if err != nil {
			return err
		}
		tool, err := readTool(file, data)
		if err != nil {
			return err
		}
		if err := printJSON(s, tool.Info(*cwd)); err != nil || *result == "" {
			return err
		}
		if data, err = readInput(*result, "its result", s); err != nil {
			return err
		}
		return printJSON(s, tool.Ended(readToolResult(data), *cwd))
	}
}

// readToolResult reads a tool_result, or anything else as the text that the
// model gets.
func readToolResult(data []byte) display.Result {
	var r display.Result
	if json.Unmarshal(data, &r) == nil && len(r.Content) > 0 {
		return r
	}
	return display.Result{Content: clean.JSON(strings.TrimSpace(string(data)))}
}

// readTool reads a tool use {"name","input"}. Whatever the input is, a model
// wrote it, and it is drawn.
func readTool(file string, data []byte) (display.Tool, error) {
	const want = `expected a tool use {"name","input"}`
	if !json.Valid(data) {
		return display.Tool{}, usagef("%w: %s", notJSON(file, data), want)
	}
	root := gjson.ParseBytes(data)
	name, input := root.Get("name"), root.Get("input")
	switch {
	case !root.IsObject():
		return display.Tool{}, usagef("%s: %s", position(file, data, 0), want)
	case name.Type != gjson.String || name.Str == "":
		return display.Tool{}, usagef("%s: %s: name must be a string", position(file, data, name.Index), want)
	}
	return display.Tool{Name: name.Str, Input: json.RawMessage(input.Raw)}, nil
}
