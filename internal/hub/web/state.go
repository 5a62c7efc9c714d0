package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// state is where a conversation stands.
type state struct {
	Type      string                    `json:"type"`
	ToolUseID string                    `json:"tool_use_id,omitempty"`
	Revision  uint64                    `json:"revision,omitempty"`
	Questions []hublink.WaitingQuestion `json:"questions,omitempty"`
	// Gone says that the asker has not been heard of for a while.
	Gone bool `json:"asker_gone,omitempty"`
}

const (
	awaiting = "awaiting_user_response"
	working  = "working"
	idle     = "idle"
)

// stateOf is the state that a question gives its conversation.
func stateOf(r *hub.Record) state {
	if !r.Open() {
		switch st := r.End.Status(); {
		case r.Gone, !r.End.Ended.IsZero(): // nobody works on with it
			return state{Type: idle, Gone: true}
		case st == convert.Answered, st == convert.Declined:
			return state{Type: working}
		}
		return state{Type: idle}
	}
	return state{Type: awaiting, ToolUseID: r.ID, Revision: seenOf(r), Gone: r.Gone, Questions: hublink.WaitingQuestions(r.Call.Questions, nil)}
}

// seenOf is the number of what is shown: its revision, and how its fingerprint begins. A store
// that was restored gives its revisions again, for something else. [Server.refOf] reads it.
func seenOf(r *hub.Record) (n uint64) {
	_, _ = fmt.Sscanf(r.Fingerprint(), "%5x", &n)
	return r.Revision<<20 | n
}

// conversation is one as GET /conversations shows it.
type conversation struct {
	ID      string    `json:"id"`
	Group   string    `json:"group,omitempty"`
	Title   string    `json:"title"`
	Agent   string    `json:"agent"`
	Machine string    `json:"machine,omitempty"`
	Cwd     string    `json:"cwd"`
	State   state     `json:"state"`
	Asked   time.Time `json:"asked"`
}

func conversationOf(r *hub.Record) conversation {
	return conversation{r.Conversation, shownGroup(r), titleOf(r), r.Agent, r.Machine, r.Dir, stateOf(r), r.Asked.UTC()}
}

func titleOf(r *hub.Record) string {
	q := r.Call.Questions[0]
	return cmp.Or(r.Title, q.Header, q.Text)
}

// change is the data of a state_change event.
type change struct {
	Group        string `json:"group,omitempty"`
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
	// Card is the id of the question's card on the page, and Answer what was
	// answered, in a line.
	Card   string `json:"card"`
	Answer string `json:"answer,omitempty"`
	state
	*ending
}

// ending is how a question ended, as events and replies say it.
type ending struct {
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"`
	// Elsewhere says that who it was is the asker's word, see [hub.End].
	Elsewhere   bool       `json:"elsewhere,omitempty"`
	At          *time.Time `json:"at,omitempty"`
	Receipt     string     `json:"receipt,omitempty"`
	Undelivered string     `json:"undelivered,omitempty"`
	Unsure      string     `json:"unsure,omitempty"` // with the receipt unknown: why
}

func endingOf(r *hub.Record) *ending {
	if r.Open() {
		return nil
	}
	at := r.End.At.UTC()
	e := &ending{r.End.Outcome, r.End.By, r.End.Elsewhere, &at, r.End.Receipt(), r.End.Undelivered, ""}
	if e.Receipt == "unknown" {
		e.Unsure = r.End.Unsure
	}
	return e
}

func changeOf(r *hub.Record) change {
	return change{shownGroup(r), r.Conversation, r.ID, cardID(r), answerLine(r), stateOf(r), endingOf(r)}
}

// told are the words for what people do with permissions, here and in the page's receipts.
var told = map[string]string{"Allow": "Allowed", "Reject": "Rejected"}

// answerLine is what was answered, short and in a line: as its person's receipt has it.
func answerLine(r *hub.Record) string {
	if r.Open() {
		return ""
	}
	var all []string
	server := serverOf(r) // it is said beside the fields of its form
	for i, a := range r.End.Answers {
		text := short(answerText(r, a), 120)
		if pick := optionNamed(r.Call.Questions[0], strings.Join(a.Selected, ", ")); r.Kind == "permission" && buttons(r) && pick >= 0 && pickOf(r, pick) == "edited" {
			text = "Approved as edited"
		}
		if len(r.End.Answers) > 1 && i < len(r.Call.Questions) && text != "" {
			name := cmp.Or(r.Call.Questions[i].Header, r.Call.Questions[i].Text)
			text = short(strings.TrimPrefix(name, server+": "), 40) + ": " + text
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return short(strings.Join(all, " · "), 160)
}

// resultOf is the call's result in its dialect.
func resultOf(r *hub.Record, asker string) dialect.Result {
	o, by := r.ResultFor(asker), r.End.By
	if o.Status != r.End.Status() {
		by = "" // nobody's
	}
	if r.Dialect != hublink.Dialect && r.Dialect != hook.Dialect {
		req, err := dialect.Decode(r.Document, r.Dialect)
		if err == nil {
			return dialect.Encode(req, dialect.Reply{Outcome: o, AnsweredAt: r.End.At, Mode: "rpc"})
		}
		o = convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return dialect.Result{Body: hublink.EncodeOutcome(o, r.ID, by), IsError: o.Status != convert.Answered}
}

// asJSON is a result as a JSON value, a string where it is text.
func asJSON(r dialect.Result) json.RawMessage {
	if json.Valid(r.Body) {
		return r.Body
	}
	b, _ := json.Marshal(string(r.Body)) // a string always encodes
	return b
}
