package main

import (
	"context"
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
)

func runRender(_ context.Context, args []string, s streams) error {
	fs := newFlags("render", "[--cwd DIR] [FILE]", s)
	cwd := fs.String("cwd", "", "`directory` that paths are shown relative to")
	file, err := fs.parse(args)
	if err != nil {
		return err
	}
	data, err := readInput(file, s)
	if err != nil {
		return err
	}
	tool, err := readTool(data)
	if err != nil {
		return err
	}
	return printJSON(s, display.ToolInfo(tool, *cwd))
}

// readTool reads a tool use {"name","input"}. Whatever the input is, a model
// wrote it, and it is drawn.
func readTool(data []byte) (display.Tool, error) {
	const want = `expected a tool use {"name","input"}`
	if !json.Valid(data) {
		return display.Tool{}, usagef("input is not valid JSON: %s", want)
	}
	root := gjson.ParseBytes(data)
	name, input := root.Get("name"), root.Get("input")
	switch {
	case !root.IsObject():
		return display.Tool{}, usagef("%s", want)
	case name.Type != gjson.String || name.Str == "":
		return display.Tool{}, usagef("%s: name must be a string", want)
	}
	return display.Tool{Name: name.Str, Input: json.RawMessage(input.Raw)}, nil
}
