package proxy

import (
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// drawn are tool calls of the agent that ask the user: how they look is our business.
type drawn struct {
	// written are those whose input the agent shows as a text while the model writes it.
	written map[string]bool
	// ended are those that we have ended, with what was asked and answered as the title.
	ended map[string]string
}

func newDrawn() drawn { return drawn{map[string]bool{}, map[string]string{}} }

// writesOut are the question tools of agents that show the input of a tool call as a
// text.
var writesOut = map[string]string{"kimi": "AskUserQuestion"}

// ends notes that we end a tool call of the agent's.
func (p *proxy) ends(session string, u *acp.SessionToolCallUpdate) {
	if u == nil || u.Status == nil || u.Title == nil || *u.Status != acp.ToolCallStatusCompleted && *u.Status != acp.ToolCallStatusFailed {
		return
	}
	p.Step(func() {
		if p.shows(session, string(u.ToolCallId)) {
			p.session(session).drawn.ended[string(u.ToolCallId)] = *u.Title
		}
	})
}

// redraw is the agent's update of a tool call that asks the user, as an editor should
// get it: nil for one that would be drawn over the answer, and the line itself for all
// other tool calls.
//
//	| the agent shows                   | the editor gets                   |
//	|-----------------------------------|-----------------------------------|
//	| the input, as a text              | the same without the text         |
//	| that a question has its result    | nothing: it has question → answer |
//	| that it failed, without a title   | the same with the title           |
func (p *proxy) redraw(line []byte, s *session, update gjson.Result) []byte {
	id, d := update.Get("toolCallId").Str, &s.drawn
	if update.Get("sessionUpdate").Str == "tool_call" { // another one, under the same id
		delete(d.ended, id)
	}
	if title, ended := d.ended[id]; ended {
		switch update.Get("status").Str {
		case "completed":
			delete(d.ended, id)
			return nil
		case "failed":
			delete(d.ended, id)
			if !update.Get("title").Exists() {
				return edit(line, func([]byte) []byte { return clean.JSON(title) }, "params", "update", "title")
			}
		}
		return line
	}
	if tool := writesOut[p.profile.Name]; tool == "" || !d.writes(tool, id, update) {
		return line
	}
	return edit(line, func([]byte) []byte { return json.RawMessage("[]") }, "params", "update", "content")
}

// writes reports whether an update shows the input of a question tool as a text.
func (d *drawn) writes(tool, id string, update gjson.Result) bool {
	if update.Get("title").Str == tool && len(d.written) < maxTools {
		d.written[id] = true
	}
	if !d.written[id] {
		return false
	}
	if status := update.Get("status").Str; status == "completed" || status == "failed" {
		delete(d.written, id)
		return false
	}
	text := update.Get("content.#.content.text").Array()
	return len(text) == 1 && strings.HasPrefix(text[0].Str, "{")
}
