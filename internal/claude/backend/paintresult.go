package backend

import (
	"encoding/json"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// user takes tool results; what the user typed is known to the editor.
func (p *painter) user(m claude.Message) {
	content := m.Get("message.content")
	if content.Type == gjson.String && m.ParentToolUseID() == "" {
		p.summary(content.Str)
		return
	}
	for _, b := range content.Array() {
		if b.Get("type").Str == "tool_result" {
			p.toolResult(b, m)
		}
	}
}

func (p *painter) toolResult(b gjson.Result, m claude.Message) {
	structured := m.Get("tool_use_result")
	id := b.Get("tool_use_id").Str
	c := p.calls[id]
	if c == nil || id == p.planKept {
		return
	}
	delete(p.calls, id)
	result := display.Result{Content: json.RawMessage(b.Get("content").Raw), IsError: b.Get("is_error").Bool(), Rejected: c.denied}
	if structured.IsObject() {
		result.Structured = json.RawMessage(structured.Raw)
	}
	x := p.launched[id]
	switch {
	case c.asked:
		return // the adapter has shown how it ended
	case x != nil && !c.drawn:
		if !result.IsError && structured.Get("status").Str != "async_launched" {
			p.handBack(x, id, b.Get("content"), structured.Get("content"))
		}
		return
	case c.tool.ToDo() && !result.IsError:
		p.plan(c, result)
		return
	case c.tool.Name == questionTool && !result.IsError:
		p.answered(id, c, structured.Get("answers"))
		return
	case c.tool.Name == questionTool:
		p.refused(id, c, brokenOff(m))
		if brokenOff(m) {
			result.Content = json.RawMessage(`"Not answered"`) // what stands there is for the model
		}
	case brokenOff(m) && p.follower(id) != nil:
		p.follower(id).stopped(result)
		return
	case !c.drawn:
		p.draw(id, c)
	}
	if result.IsError && c.tool.Name != questionTool && forTheModel(b.Get("content").String()) {
		result.Content = json.RawMessage(`"Cancelled"`)
	}
	p.finish(id, c, result)
	if !result.IsError {
		p.noteEdit(c.tool)
		p.planLeft(id, c, structured)
		if p.past { // else it was shown when it was asked about
			p.showPlan(c.tool, p.partOf(c.parent))
		}
	}
}

// plan draws the list that a call has set or changed. One that fails is drawn as a
// tool call: the list is as it was.
func (p *painter) plan(c *toolCall, r display.Result) {
	entries, set := c.tool.Plan()
	if !set {
		if !p.tasks.Apply(c.tool, r) {
			return
		}
		entries = p.tasks.Plan()
	}
	p.show(c, acp.UpdatePlan(entries...))
}

// forTheModel reports whether a result is what the CLI tells the model of a call
// that the user broke off without a word. One with a word has a reader.
func forTheModel(text string) bool {
	return strings.HasPrefix(text, "[Request interrupted by user") ||
		strings.HasPrefix(text, "The user doesn't want to proceed with this tool use.") && !strings.Contains(text, "the user said")
}

// brokenOff reports whether the user ended a call. Its result is for the model.
func brokenOff(m claude.Message) bool {
	kind := m.Get("tool_result_meta.0.non_execution_kind").Str
	return kind == "user-rejected" || kind == "interrupted"
}

// refused draws a question call that the CLI turned down without asking.
func (p *painter) refused(id string, c *toolCall, unanswered bool) {
	info := c.tool.Info(p.cwd)
	if call, err := convert.Parse(c.tool.Input, convert.Limits{}); unanswered && err == nil {
		info.Title = *ask.Updates(call).FailAll(convert.Outcome{Status: convert.Failed}).ToolCallUpdate.Title
	}
	p.start(id, c, acp.SessionUpdateToolCall{
		Title: info.Title, Kind: acp.ToolKindOther, Status: acp.ToolCallStatusPending, Content: info.Content, RawInput: rawJSON(c.tool.Input),
	})
}

// answered draws a question call of a transcript with the answers it got, under the
// title that it had when it was answered.
func (p *painter) answered(id string, c *toolCall, answers gjson.Result) {
	info := c.tool.Info(p.cwd)
	if call, err := convert.Parse(c.tool.Input, convert.Limits{}); err == nil {
		var given []convert.Answer
		texts := answers.Map()
		for _, q := range call.Questions {
			if answer, ok := texts[q.Text]; ok {
				given = append(given, convert.Answer{Text: answer.String()})
			}
		}
		if len(given) == len(call.Questions) {
			info.Title = *ask.Updates(call).CompleteAll(given).ToolCallUpdate.Title
		}
	}
	var lines []string
	answers.ForEach(func(question, answer gjson.Result) bool {
		lines = append(lines, clean.Line(question.String())+" → "+clean.Line(answer.String()))
		return true
	})
	p.start(id, c, acp.SessionUpdateToolCall{
		Title: info.Title, Kind: acp.ToolKindOther, Status: acp.ToolCallStatusCompleted, RawInput: rawJSON(c.tool.Input),
		Content: []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(strings.Join(lines, "\n\n")))},
	})
}

func (p *painter) finish(id string, c *toolCall, result display.Result) {
	f := p.follower(id)
	if f != nil {
		if gjson.GetBytes(result.Structured, "backgroundTaskId").Str == f.task {
			f.background = true // it outlives its call, and the next look replaces what that shows
			if c.terminal == "" {
				f.again()
			}
		} else {
			defer f.end()
		}
	}
	if c.terminal != "" {
		p.finishTerminal(id, c, result, f)
		return
	}
	shown := c.tool.Ended(result, p.cwd)
	update := acp.SessionToolCallUpdate{Status: &shown.Status, Content: shown.Content, Locations: shown.Locations, RawOutput: rawJSON(result.Content)}
	if shown.Title != "" {
		update.Title = &shown.Title
	}
	p.change(id, c, update)
}

// abandon ends the tool calls that will get no result any more.
func (p *painter) abandon() {
	for id, c := range p.calls {
		delete(p.calls, id)
		if c.tool.Name == questionTool && !c.asked && len(c.tool.Input) > 0 {
			p.refused(id, c, false) // of a transcript that ends with it
			c.drawn = true
		}
		if c.drawn && !c.asked {
			p.leave(id, c)
		}
	}
}

// leave ends a tool call without a result.
func (p *painter) leave(id string, c *toolCall) {
	if f := p.follower(id); f != nil {
		f.show()
		f.end()
	}
	update := acp.SessionToolCallUpdate{Status: acp.Ptr(acp.ToolCallStatusFailed)}
	if c.terminal != "" {
		update.Meta = c.with(terminalExit, exitStatus(id, nil))
	}
	p.change(id, c, update)
}
