package backend

import (
	"maps"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// A client that says so in its capabilities shows commands in terminals: one is
// announced with a tool call, and what is to be appended to it comes in _meta.
const (
	terminalInfo   = "terminal_info"
	terminalOutput = "terminal_output"
	terminalDelta  = "terminal_output_delta" // the same under another name
	terminalExit   = "terminal_exit"
)

// terminalKey is the name under which a client takes output for a terminal;
// empty if it has none.
func terminalKey(capabilities acp.ClientCapabilities) string {
	for _, key := range []string{terminalDelta, terminalOutput} {
		if has, _ := capabilities.Meta[key].(bool); has {
			return key
		}
	}
	return ""
}

// announce gives a tool call that runs a command a terminal. It is not shown
// before there is output: it would take the place of the command, which people
// read before they allow it.
func (p *painter) announce(id string, c *toolCall, meta map[string]any) map[string]any {
	if !c.tool.Shell() {
		return meta
	}
	c.terminal = p.client.terminal
	if c.terminal != "" {
		meta[terminalInfo] = map[string]any{"terminal_id": id}
	}
	return meta
}

// print appends to the terminal of a tool call, and shows it the first time.
func (p *painter) print(id string, c *toolCall, data string, status *acp.ToolCallStatus) {
	update := acp.SessionToolCallUpdate{Status: status}
	switch c.printed++; c.printed {
	case 1:
		update.Content = []acp.ToolCallContent{acp.ToolTerminalRef(id)}
		if command := c.tool.Unseen(); command != "" {
			data = "$ " + command + "\n" + data
		}
	case 2:
		update.Title = &c.title // a terminal that was not shown did not get it
	}
	update.Meta = c.with(c.terminal, map[string]any{"terminal_id": id, "data": data})
	p.change(id, c, update)
}

// with is the call's _meta and one thing more.
func (c *toolCall) with(key string, value any) map[string]any {
	meta := maps.Clone(c.meta())
	meta[key] = value
	return meta
}

// exitStatus is how a command ended; nil is not known.
func exitStatus(id string, code *int) map[string]any {
	return map[string]any{"terminal_id": id, "exit_code": code, "signal": nil}
}

// finishTerminal shows the result of a command: what its terminal lacks, and
// how it ended.
func (p *painter) finishTerminal(id string, c *toolCall, result display.Result, f *follower) {
	shown := c.tool.Ended(result, p.cwd)
	update := acp.SessionToolCallUpdate{Title: &c.title, Status: &shown.Status, RawOutput: rawJSON(result.Content)}
	console, ok := c.tool.Console(result, p.cwd)
	if f != nil {
		f.print(f.chunk(console.Task == ""))
	}
	switch {
	case !ok:
		update.Content = shown.Content
	case c.printed == 0:
		p.print(id, c, clean.Terminal(console.Output), nil)
	case f != nil && result.IsError:
		f.print(f.after(console.Output))
	}
	if c.printed > 0 {
		update.Content = append(append([]acp.ToolCallContent{acp.ToolTerminalRef(id)}, console.Notes...), update.Content...)
	}
	if console.Task == "" {
		update.Meta = c.with(terminalExit, exitStatus(id, console.ExitCode))
	}
	p.change(id, c, update)
}
