package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

const ticketDescription = `

People take their time. If the result says that there is no answer yet, call the tool again with the same questions and the ticket from the result; do not guess the answer.`

// ticketSchema describes the member that the schema of the questions lacks.
const ticketSchema = `"ticket":{"type":"string","description":"Only to wait on: the ticket from an earlier result that said there is no answer yet"},`

// call is a call of the tool.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	input := r.Params.Arguments
	if name := gjson.GetBytes(input, "ticket").String(); name != "" {
		t := s.find(r.Session, name)
		if t == nil {
			return failure("There is no such ticket: the question was answered already, or is no longer open. Ask again without a ticket if you still need to know."), nil
		}
		if why := otherQuestions(t.call, input); why != "" {
			s.leave(t, later)
			return failure(why), nil
		}
		return s.wait(ctx, r, t), nil
	}
	call, err := convert.Parse(input, convert.Limits{})
	if err != nil {
		return failure(err.Error()), nil
	}
	call.Session, call.ID, call.Name = s.sessionOf(r.Session), callID(r.Params.Meta), ToolName
	if s.opts.Elicit && elicits(r.Session) {
		return s.elicit(ctx, r, call)
	}
	if s.opts.Resolver == nil {
		return failure("The user cannot be asked: this client has no elicitation."), nil
	}
	return s.wait(ctx, r, s.ask(r.Session, call)), nil
}

// otherQuestions says what is wrong with questions that come with the ticket of a call, if
// it is not these that they ask. Descriptions may be said in other words.
func otherQuestions(c convert.Call, input json.RawMessage) string {
	if len(gjson.GetBytes(input, "questions").Array()) == 0 {
		return ""
	}
	again, err := convert.Parse(input, convert.Limits{})
	if err != nil {
		return err.Error()
	}
	asks := func(a, b convert.Question) bool {
		return a.Text == b.Text && slices.EqualFunc(a.Options, b.Options, func(a, b convert.Option) bool { return a.Label == b.Label })
	}
	if slices.EqualFunc(c.Questions, again.Questions, asks) {
		return ""
	}
	texts := make([]string, len(c.Questions))
	for i, q := range c.Questions {
		texts[i] = clean.Line(q.Text)
	}
	return "The ticket came with other questions than those it is for, and nothing was asked. To wait on, send it with these, as they were: " +
		strings.Join(texts, " / ") + ". To ask something else, send no ticket."
}

// callID is the agent's id of the tool call, as far as it says so.
func callID(meta sdk.Meta) string {
	for _, key := range []string{"claudecode/toolUseId", "callId", "agent-tool-call-request-id"} {
		if id, ok := meta[key].(string); ok {
			return id
		}
	}
	return ""
}

// wait waits for the answer, but no longer than the agent does.
func (s *Server) wait(ctx context.Context, r *sdk.CallToolRequest, t *ticket) *sdk.CallToolResult {
	var limit <-chan time.Time
	if s.opts.Limit > 0 {
		timer := time.NewTimer(s.opts.Limit)
		defer timer.Stop()
		limit = timer.C
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-t.done:
			if ctx.Err() != nil { // nobody reads it: it is not used
				s.leave(t, giveUp)
				return failure("The call was cancelled.")
			}
			return result(s.fetch(t))
		case <-limit:
			s.leave(t, later)
			return result(s.later(t), false)
		case <-ctx.Done():
			// The agent does not want to know any more: its user cancelled the turn.
			s.leave(t, giveUp)
			return failure("The call was cancelled.")
		case <-tick.C:
			s.progress(ctx, r, n)
		}
	}
}

// later is what the model gets with a ticket.
func (s *Server) later(t *ticket) string {
	text := fmt.Sprintf("The user has not answered yet; the question stays open. Call %s again with the same questions and \"ticket\": %q to wait on. Do not guess the answer.", ToolName, t.name)
	if w, ok := t.asking.(interface{ Where() string }); ok {
		if where := w.Where(); where != "" {
			text += "\n" + where
		}
	}
	return text
}

func (s *Server) progress(ctx context.Context, r *sdk.CallToolRequest, n int) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return
	}
	err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(n), Message: "waiting for the user",
	})
	if err != nil {
		s.log.Debug("progress was not sent", "err", err)
	}
}

func result(text string, isError bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: isError}
}

func failure(text string) *sdk.CallToolResult { return result(text, true) }
