package ask

import (
	"cmp"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Updates are the updates of a session that show a call.
type Updates convert.Call

// Announce is the tool_call update that shows question q before it is asked.
func (u Updates) Announce(q int, style TitleStyle) acp.SessionUpdate {
	c := convert.Call(u)
	question := &c.Questions[q]
	return announce(c, u.IDOf(q), title(c, q, style, ""),
		rawInput{question.Text, question.Header}, shownText(c, q))
}

// AnnounceAll is the tool_call update that shows the whole call at once, for
// a client that gets all questions in one form.
func (u Updates) AnnounceAll() acp.SessionUpdate {
	c := convert.Call(u)
	texts := make([]string, len(c.Questions))
	for i, q := range c.Questions {
		texts[i] = clean.Block(q.Text)
	}
	var raw any
	if read.Usable(c.Input) {
		raw = c.Input
	}
	return announce(c, c.ID, title(c, 0, TitleHeader, ""), raw, c.SubAgent.Behind(strings.Join(texts, "\n\n")))
}

func announce(c convert.Call, id, title string, raw any, text string) acp.SessionUpdate {
	update := acp.StartToolCall(acp.ToolCallId(id), title,
		acp.WithStartKind(acp.ToolKindOther),
		acp.WithStartStatus(acp.ToolCallStatusPending),
		acp.WithStartContent(textContent(text)),
		acp.WithStartRawInput(raw))
	meta := map[string]any{}
	if c.Name != "" {
		meta["toolName"] = c.Name
	}
	if c.SubAgent.Parent != "" {
		meta["parentToolUseId"] = c.SubAgent.Parent
	}
	if len(meta) > 0 {
		update.ToolCall.Meta = map[string]any{"claudeCode": meta}
	}
	return update
}

// Reannounce is the update that turns the tool call of [Updates.AnnounceAll] into that
// of question q, after a form could not be shown.
func (u Updates) Reannounce(q int, style TitleStyle) acp.SessionUpdate {
	c := convert.Call(u)
	question := &c.Questions[q]
	return acp.UpdateToolCall(acp.ToolCallId(u.IDOf(q)),
		acp.WithUpdateTitle(title(c, q, style, "")),
		acp.WithUpdateRawInput(rawInput{question.Text, question.Header}),
		acp.WithUpdateContent(textContent(shownText(c, q))))
}

// Complete is the update that ends question q with `question → answer`.
func (u Updates) Complete(q int, a convert.Answer) acp.SessionUpdate {
	c := convert.Call(u)
	return finish(u.IDOf(q), acp.ToolCallStatusCompleted, ended(c, q, answerText(a)), recordLine(c, q, a))
}

// CompleteAll is the update that ends a call whose questions were shown as
// one, with one line for each question.
func (u Updates) CompleteAll(answers []convert.Answer) acp.SessionUpdate {
	c := convert.Call(u)
	lines, titles := make([]string, 0, len(answers)), make([]string, 0, len(answers))
	for i, a := range answers {
		lines = append(lines, recordLine(c, i, a))
		titles = append(titles, ended(c, i, answerText(a)))
	}
	return finish(c.ID, acp.ToolCallStatusCompleted, strings.Join(titles, "; "), strings.Join(lines, "\n\n"))
}

// Fail is the update that ends question q without an answer, with the reason.
func (u Updates) Fail(q int, o convert.Outcome) acp.SessionUpdate {
	c := convert.Call(u)
	text := recordName(c, q) + " → " + clean.Line(cmp.Or(o.Reason, o.Message()))
	return finish(u.IDOf(q), acp.ToolCallStatusFailed, endedBy(c, q, o), text)
}

// FailAll is the update that ends a call whose questions were shown as one,
// without answers.
func (u Updates) FailAll(o convert.Outcome) acp.SessionUpdate {
	c := convert.Call(u)
	lines := make([]string, len(c.Questions))
	for i := range c.Questions {
		lines[i] = recordName(c, i) + " → " + clean.Line(cmp.Or(o.Reason, o.Message()))
	}
	return finish(c.ID, acp.ToolCallStatusFailed, endedBy(c, 0, o), strings.Join(lines, "\n\n"))
}

// endedBy is the title of a question that ended without an answer.
func endedBy(c convert.Call, q int, o convert.Outcome) string {
	how := map[convert.Status]string{convert.Cancelled: "dismissed", convert.Declined: "declined"}[o.Status]
	return ended(c, q, cmp.Or(how, "not answered"))
}

// ended is the title of question q when it is over: `Database → SQLite`. Clients
// show it in place of the content, and some show the last update alone.
func ended(c convert.Call, q int, how string) string {
	return title(c, q, TitleHeader, "") + " → " + how
}

func finish(id string, status acp.ToolCallStatus, title, text string) acp.SessionUpdate {
	return acp.UpdateToolCall(acp.ToolCallId(id),
		acp.WithUpdateTitle(clean.Truncate(title, maxTitle)),
		acp.WithUpdateKind(acp.ToolKindOther),
		acp.WithUpdateStatus(status),
		acp.WithUpdateContent(textContent(text)))
}

// recordName is what question q is called in a record: for a server's form the
// field, whose question says more than that.
func recordName(c convert.Call, q int) string {
	if c.Server != "" {
		return clean.Line(c.Questions[q].Header)
	}
	return clean.Line(c.Questions[q].Text)
}

func recordLine(c convert.Call, q int, a convert.Answer) string {
	return recordName(c, q) + " → " + answerText(a)
}

// answerText is an answer for people, in one line.
func answerText(a convert.Answer) string {
	if a.Empty() {
		return "(not answered)"
	}
	items := a.Items()
	for i := range items {
		items[i] = clean.Line(items[i])
		if len(items) > 1 && strings.Contains(items[i], ",") {
			items[i] = `"` + items[i] + `"`
		}
	}
	return convert.WithNote(strings.Join(items, ", "), clean.Line(a.Note))
}
