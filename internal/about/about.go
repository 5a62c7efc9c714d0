// Package about has what a person is told of an asking beside its words: in which
// conversation it came up, what was said before it, and what a permission is for.
//
// Words that were said may hold what is nobody else's business. They are cut, what
// looks like a secret is taken out (see [Words]), and a hub keeps them no longer
// than the asking is open.
package about

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/acp-bridge/acp-bridge/display"
)

// About is told by whoever asks. The zero value says nothing.
type About struct {
	// Model is the agent's model or version, and Title names the conversation.
	Model string `json:"model,omitempty"`
	Title string `json:"title,omitempty"`
	// Branch is the one of git in the folder of the conversation.
	Branch string `json:"branch,omitempty"`
	// Prompt is what the user wrote last, and Said what the agent has said since.
	Prompt string `json:"prompt,omitempty"`
	Said   string `json:"said,omitempty"`
	Tool

	said *said // for Told
}

// said is what was said, as it was: for nobody else's eyes.
type said struct{ title, first, prompt, text string }

// Told fills in what was said, as others may read it. That takes its time, so it is
// done where something is told, and not wherever something is asked. Secrets are
// looked for before anything is cut, as far as it is known: half of one would not be
// recognised.
func (a About) Told() About {
	if w := a.said; w != nil {
		a.said = nil
		a.Prompt = cutEnd(Redact(w.prompt), maxPrompt)
		a.Said = cutStart(strings.TrimSpace(Redact(strings.ToValidUTF8(w.text, ""))), maxSaid)
		a.Title = cmp.Or(a.Title, titleOf(w.title, w.first))
	}
	return a
}

// MaxTold is how much JSON Told adds at most.
const MaxTold = 6 * (maxPrompt + maxSaid + 4*maxTitle + 100)

// Tool is the tool call for which a permission is asked.
type Tool struct {
	// Kind is that of ACP: execute, edit, fetch and so on.
	Kind string `json:"kind,omitempty"`
	// Picks are ACP's kinds of the options, in their order.
	Picks []string `json:"picks,omitempty"`
	// Changes are those of files, where the call's input does not have them.
	Changes []display.Change `json:"changes,omitempty"`
	// Text is what the agent writes about the call.
	Text string `json:"text,omitempty"`
	// Known is a line of what is known at the moment of deciding: how full the context is, what
	// the conversation has cost, its model and its mode.
	Known string `json:"known,omitempty"`
	// NoReason says that the agent takes no words with a rejection.
	NoReason bool `json:"noReason,omitempty"`
}

// Call is a tool call with what is told of it here.
func (t Tool) Call(of display.Tool) display.Tool {
	of.Kind, of.Changes, of.Text = t.Kind, t.Changes, t.Text
	return of
}

// Key is the same for two calls for which a permission is the same, as far as the
// call's input does not say it. It is empty where that says everything.
func (t Tool) Key() string {
	if len(t.Changes) == 0 && t.Text == "" {
		return ""
	}
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(struct {
		Changes []display.Change
		Text    string
	}{t.Changes, t.Text}) // strings always encode
	return b.String()
}

// Kept is what may be kept when the asking is over.
func (a About) Kept() About {
	a.Prompt, a.Said, a.said = "", "", nil
	return a
}
