package editors_test

import (
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What scripted clients do with a permission request. by hand is how long a
// quick person takes.
const byHand = time.Second

type reply func(c *client, r *acptest.Request)

// titleAndContent is what most clients show of a question.
func titleAndContent(r *acptest.Request) string {
	return r.Get("toolCall.title").Str + "\n" + r.Get("toolCall.content.0.content.text").Str
}

// appended is a client that adds each content to what it shows of the tool call: the
// question is not in the later ones.
func appended() func(*acptest.Request) string {
	var before sync.Map
	return func(r *acptest.Request) string {
		shown, call := titleAndContent(r), r.Get("sessionId").Str+" "+r.Get("toolCall.toolCallId").Str
		if old, ok := before.Load(call); ok {
			shown = old.(string) + "\n" + shown
		}
		before.Store(call, shown)
		return shown
	}
}

func titleOnly(r *acptest.Request) string { return r.Get("toolCall.title").Str }

// inOurs, reversed and alphabetical are orders in which buttons are shown.
func inOurs([]gjson.Result) {}

func reversed(options []gjson.Result) { slices.Reverse(options) }

func alphabetical(options []gjson.Result) {
	slices.SortFunc(options, func(a, b gjson.Result) int {
		if a.Get("name").Str < b.Get("name").Str {
			return -1
		}
		return 1
	})
}

// buttons shows one for each option; the id of the one pressed comes back.
func buttons(order func([]gjson.Result)) reply {
	return func(c *client, r *acptest.Request) {
		id := c.pressed(r, order)
		c.past.Add(int64(byHand))
		r.Selects(id)
	}
}

// pressed is the id of the button that the user presses.
func (c *client) pressed(r *acptest.Request, order func([]gjson.Result)) string {
	options := r.Get("options").Array()
	order(options)
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Get("name").Str
	}
	return options[c.user.presses(c.user.wants(c.row.shows(r)), names)].Get("optionId").Str
}

// withoutID shows buttons, and does not say which one was pressed.
func withoutID(c *client, r *acptest.Request) {
	c.pressed(r, alphabetical)
	c.past.Add(int64(byHand))
	r.Reply(object{"outcome": "selected"})
}

// always takes the option at a position (from the end if it is negative),
// whatever the user wants.
func always(position int, after time.Duration) reply {
	return func(c *client, r *acptest.Request) {
		options := r.Get("options").Array()
		c.past.Add(int64(after))
		r.Selects(options[(position+len(options))%len(options)].Get("optionId").Str)
	}
}

// dismissesItself answers cancelled without a user.
func dismissesItself(after time.Duration) reply {
	return func(c *client, r *acptest.Request) {
		c.past.Add(int64(after))
		r.Cancels()
	}
}

// refuses answers with an error, as to an unknown method.
func refuses(_ *client, r *acptest.Request) { r.Answer <- acp.NewMethodNotFound(r.Method) }

// taught answers in one go, with picks and words together.
func taught(c *client, r *acptest.Request) {
	w := c.user.wants(c.row.shows(r))
	c.past.Add(int64(byHand))
	ids := append([]string{}, w.picks...)
	outcome := object{"outcome": "selected", "optionId": "__other__"}
	if len(ids) > 0 {
		outcome["optionId"] = ids[0]
	}
	meta := object{}
	if r.Get("_meta.claudeCode.multiSelect").Bool() {
		slices.Reverse(ids)
		meta["selectedOptionIds"] = ids
	}
	if w.text != "" {
		meta["customText"] = "  " + w.text + "\n"
	}
	outcome["_meta"] = meta
	r.Reply(outcome)
}

// Ways in which the user gets rid of an open request.

// dismissed answers cancelled, as for Esc.
func dismissed(c *client, r *acptest.Request) {
	c.past.Add(int64(byHand))
	r.Cancels()
}

// dismissedThenStopped is agent-shell: cancelled comes first, session/cancel,
// with a field of its own, a few milliseconds later.
func dismissedThenStopped(c *client, r *acptest.Request) {
	dismissed(c, r)
	require.NoError(c.t, c.e.Conn.Notify(c.t.Context(), acp.AgentMethodSessionCancel, object{"sessionId": c.session, "reason": "user"}))
}

// stopped sends session/cancel and leaves the request open for ever.
func stopped(c *client, _ *acptest.Request) { c.e.Cancel(c.session) }

// stoppedThenDismissed is what the protocol asks for.
func stoppedThenDismissed(c *client, r *acptest.Request) {
	c.e.Cancel(c.session)
	c.past.Add(int64(byHand))
	r.Cancels()
}

// stoppedThenWithoutID is agentic.nvim: session/cancel, then a pick of nothing.
func stoppedThenWithoutID(c *client, r *acptest.Request) {
	c.e.Cancel(c.session)
	c.past.Add(int64(byHand))
	r.Reply(object{"outcome": "selected"})
}

// Forms, as Zed shows them.

func form(c *client, r *acptest.Request) {
	r.Answer <- object{"action": "accept", "content": c.user.fills(r.Result)}
}

func formCancelled(_ *client, r *acptest.Request) { r.Answer <- object{"action": "cancel"} }

// shellForm is the form of an agent-shell that has one: what is typed takes the place of a pick,
// and joins several picks in one text; a field that is left alone is left out.
func shellForm(c *client, r *acptest.Request) {
	c.past.Add(int64(byHand))
	content := c.user.fills(r.Result)
	for key, field := range r.Get("requestedSchema.properties").Map() {
		asked := field.Get("_meta._askUserQuestionCustomAnswer.questionId").Str
		typed, ok := content[key].(string)
		if !ok || asked == "" {
			continue
		}
		if picks, several := content[asked].([]string); several {
			content[key] = strings.Join(append(picks, typed), ", ")
		}
		delete(content, asked)
	}
	for key, v := range content {
		if picks, several := v.([]string); several && len(picks) == 0 {
			delete(content, key)
		}
	}
	if c.row.proxied && len(content) == 1 {
		time.Sleep(byHand) // the agent behind the proxy has a clock of its own, and nothing else tells of a person
	}
	r.Answer <- object{"action": "accept", "content": content}
}

// shellStopped is its key: it cancels, and stops the turn.
func shellStopped(c *client, r *acptest.Request) {
	c.past.Add(int64(byHand))
	if c.row.proxied {
		time.Sleep(byHand) // as above: the reply may be judged before the cancel comes
	}
	r.Answer <- object{"action": "cancel"}
	require.NoError(c.t, c.e.Conn.Notify(c.t.Context(), acp.AgentMethodSessionCancel, object{"sessionId": c.session, "reason": "user"}))
}

// ownIDs answers with an id that was never offered.
func ownIDs(c *client, r *acptest.Request) {
	c.past.Add(int64(byHand))
	r.Selects("allow")
}
