package watch

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// runNotice tells the hub that an agent waits in its terminal. That is all that a hook of
// such an agent can do: it takes no answer.
func runNotice(ctx context.Context, in io.Reader, a Agent, state State) error {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent))
	if err != nil {
		return err
	}
	e := gjson.ParseBytes(data)
	session, text := e.Get("session_id").Str, waitsFor(e)
	if session == "" || text == "" {
		return nil
	}
	told := hublink.Turn{Event: hublink.TurnWaits, Agent: a.Title, Dir: e.Get("cwd").Str, Text: clean.Truncate(about.Redact(clean.Truncate(text, maxSearched)), maxNotice)}
	return state.call(ctx, http.MethodPost, "/conversations/"+url.PathEscape(session)+"/turn", told, nil)
}

const (
	// maxNotice is how much of what an agent waits for is told.
	maxNotice = 1000
	// maxSearched is how much of it is searched for secrets: megabytes take seconds.
	maxSearched = 64 * maxNotice
)

// waitsFor is what an event says that a person has to decide; empty if nothing.
func waitsFor(e gjson.Result) string {
	switch e.Get("hook_event_name").Str {
	case "PermissionRequest":
		return cmp.Or(e.Get("action").Str, e.Get("tool_name").Str)
	case "Notification":
		if e.Get("notificationType").Str == grokWaits {
			return cmp.Or(e.Get("message").Str, "A permission")
		}
	case "PreToolUse":
		if name := e.Get("tool_name").Str; name == kimiAsks || name == grokAsks {
			return cmp.Or(e.Get("tool_input.questions.0.question").Str, "A question")
		}
	}
	return ""
}

// kimiAsks and grokAsks are the tools that ask their user, and grokWaits is what Grok says of
// itself when it asks for a permission.
const kimiAsks, grokAsks, grokWaits = "AskUserQuestion", "ask_user_question", "permission_prompt"
