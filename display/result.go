package display

import (
	"cmp"
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Result is what came back from a call.
type Result struct {
	// Content is the content of the Messages API tool_result: a string or a
	// list of blocks.
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error,omitempty"`
	// Rejected is set if the call was not run, because a person did not want it.
	// The content says so; it is no output.
	Rejected bool `json:"rejected,omitempty"`
	// Structured is the toolUseResult that Claude Code sends beside it. It is
	// the better source where it is there: the content is written for the
	// model.
	Structured json.RawMessage `json:"structured,omitempty"`
}

// Update is what a result changes about a tool call that is shown. An empty
// title, nil content and nil locations leave them as they are.
type Update struct {
	Title     string                 `json:"title,omitempty"`
	Status    acp.ToolCallStatus     `json:"status"`
	Content   []acp.ToolCallContent  `json:"content,omitempty"`
	Locations []acp.ToolCallLocation `json:"locations,omitempty"`
}

// Ended says how to show the end of a call. An error takes the place of
// the call's content: a diff that was not applied must not stand there as if
// it had been.
func (t Tool) Ended(r Result, cwd string) Update {
	c := end(t, r, cwd)
	if r.IsError {
		return Update{Status: acp.ToolCallStatusFailed, Content: c.failure()}
	}
	u := Update{}
	if show := lookOf(t.Name).result; show != nil {
		u = show(c)
	}
	u.Status = cmp.Or(u.Status, acp.ToolCallStatusCompleted)
	return u
}

// ended is a call with its result, read as far as it can be.
type ended struct {
	tool       Tool
	in         input
	structured input
	parts      []part
	cwd        string
	rejected   bool
}

func end(t Tool, r Result, cwd string) ended {
	return ended{
		tool:       t,
		in:         readInput(t.Input),
		structured: readInput(r.Structured),
		parts:      parts(r.Content),
		cwd:        cwd,
		rejected:   r.Rejected,
	}
}

// show makes content of the result's blocks: text the way it is told, images
// as they are.
func (c ended) show(text func(string) []acp.ToolCallContent) []acp.ToolCallContent {
	var content []acp.ToolCallContent
	for _, p := range c.parts {
		if p.block != nil {
			content = append(content, acp.ToolContent(*p.block))
			continue
		}
		content = append(content, text(p.text)...)
	}
	return content
}

// text is all text of the result.
func (c ended) text() string {
	var texts []string
	for _, p := range c.parts {
		if p.block == nil {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, "\n")
}

// failure shows what went wrong, without the tags that tell the model so.
func (c ended) failure() []acp.ToolCallContent {
	lang := ""
	if c.rejected {
		return c.show(func(text string) []acp.ToolCallContent { return prose(strings.TrimSpace(withoutLastReminders(text))) })
	}
	if lookOf(c.tool.Name).info(c.tool, c.in, c.cwd).Kind == acp.ToolKindExecute {
		lang = "console"
	}
	return c.show(func(text string) []acp.ToolCallContent {
		text = strings.TrimSpace(withoutLastReminders(text))
		if inner, ok := strings.CutPrefix(text, "<tool_use_error>"); ok {
			text = strings.TrimSuffix(inner, "</tool_use_error>")
		}
		return fenced(lang, text)
	})
}

// proseResult shows text as it is written, and JSON as JSON.
func proseResult(c ended) Update {
	return Update{Content: c.show(func(text string) []acp.ToolCallContent {
		text = withoutLastReminders(text)
		if structuredText(text) {
			return fenced("json", clean.Indented(text))
		}
		return prose(text)
	})}
}
