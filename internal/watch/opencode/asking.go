package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// question asks what the question tool asks. One that cannot be read is for the
// terminal alone.
func (r *run) question(ctx context.Context, p gjson.Result) {
	req, err := dialect.Decode([]byte(p.Raw), "opencode")
	if err != nil {
		return
	}
	path := "/question/" + url.PathEscape(p.Get("id").Str)
	read := func(p gjson.Result) (convert.Outcome, error) { return dialect.ReadResult(req, []byte(p.Raw)) }
	r.ask(ctx, p, desk.Item{Kind: desk.Question, Call: req.Call}, read, func(ctx context.Context, o convert.Outcome) error {
		if o.Status != convert.Answered {
			return r.tell(ctx, path+"/reject", nil)
		}
		return r.tell(ctx, path+"/reply", json.RawMessage(dialect.Encode(req, dialect.Reply{Outcome: o}).Body))
	})
}

// What a person can say to a permission, in OpenCode's words.
const (
	once   = "once"
	always = "always"
	reject = "reject"
)

// choice is an option of a permission.
type choice struct{ reply, label, about, kind string }

func choicesOf(p gjson.Result, agent string) []choice {
	list := []choice{{once, "Allow once", "", "allow_once"}}
	var patterns []string
	for _, a := range p.Get("always").Array() {
		patterns = append(patterns, clean.Line(a.String()))
	}
	if len(patterns) > 0 {
		list = append(list, choice{always, "Always allow " + strings.Join(patterns, ", "), "for " + p.Get("permission").Str + ", until " + agent + " is started anew", "allow_always"})
	}
	return append(list, choice{reject, "Reject", "a note says why", "reject_once"})
}

// kinds are ACP's, by OpenCode's names of permissions.
var kinds = map[string]string{"bash": "execute", "edit": "edit", "read": "read", "webfetch": "fetch", "websearch": "search", "grep": "search", "glob": "search"}

// permission asks for a tool.
func (r *run) permission(ctx context.Context, p gjson.Result) {
	choices := choicesOf(p, r.agent)
	q := convert.Question{Text: titleOf(p), Closed: true}
	it := desk.Item{Kind: desk.Permission, About: about.About{Tool: about.Tool{Kind: kinds[p.Get("permission").Str]}}}
	for _, c := range choices {
		q.Options = append(q.Options, convert.Option{Label: c.label, Description: c.about})
		it.About.Picks = append(it.About.Picks, c.kind)
	}
	it.Call = convert.Call{Name: p.Get("permission").Str, Questions: []convert.Question{q}, Input: inputOf(p)}
	it.Check = func(answers []convert.Answer) error { _, _, err := picked(choices, answers); return err }
	path := "/permission/" + url.PathEscape(p.Get("id").Str) + "/reply"
	read := func(p gjson.Result) (convert.Outcome, error) {
		i := slices.IndexFunc(choices, func(c choice) bool { return c.reply == p.Get("reply").Str })
		if i < 0 {
			return convert.Outcome{}, errors.New("another reply")
		}
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{choices[i].label}}}}, nil
	}
	r.ask(ctx, p, it, read, func(ctx context.Context, o convert.Outcome) error {
		reply, note := reject, "The user dismissed the permission request"
		if o.Status == convert.Answered {
			c, words, err := picked(choices, o.Answers)
			if err != nil {
				return err
			}
			reply, note = c.reply, words
		}
		body := map[string]string{"reply": reply}
		if note != "" {
			body["message"] = note
		}
		return r.tell(ctx, path, body)
	})
}

// picked is the option that was picked, with the words beside it.
func picked(choices []choice, answers []convert.Answer) (choice, string, error) {
	if len(answers) != 1 || len(answers[0].Selected) != 1 || answers[0].Text != "" {
		return choice{}, "", errors.New("a permission takes one of its options, and a note beside it")
	}
	i := slices.IndexFunc(choices, func(c choice) bool { return c.label == answers[0].Selected[0] })
	note := strings.TrimSpace(answers[0].Note)
	switch {
	case i < 0:
		return choice{}, "", errors.New("this option was not offered")
	case note != "" && choices[i].reply != reject:
		return choice{}, "", errors.New("the agent takes no words with a permission: leave them out, or reject with them")
	}
	return choices[i], note, nil
}

// titleOf says what a permission is for, in a line.
func titleOf(p gjson.Result) string {
	name := p.Get("permission").Str
	if name == "bash" {
		return display.ToolInfo(display.Tool{Name: "Bash", Input: json.RawMessage(p.Get("metadata").Raw)}, "").Title
	}
	var patterns []string
	for _, a := range p.Get("patterns").Array() {
		patterns = append(patterns, a.String())
	}
	return clean.Truncate(clean.Line(name+" "+strings.Join(patterns, ", ")), 300)
}

// inputOf is what a permission is for: all that OpenCode says of it.
func inputOf(p gjson.Result) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	add := func(key, value string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(key + ":" + value)
	}
	p.Get("metadata").ForEach(func(k, v gjson.Result) bool {
		add(k.Raw, v.Raw)
		return true
	})
	patterns := p.Get("patterns")
	if list := patterns.Array(); patterns.IsArray() && (len(list) != 1 || list[0].String() != p.Get("metadata.command").String()) {
		add(`"patterns"`, patterns.Raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// ended tells the hub what the terminal said. What we said ourselves has ended before.
func (r *run) ended(kind string, p gjson.Result) {
	id := p.Get("requestID").Str
	it, ok := r.open[id]
	if !ok {
		return
	}
	delete(r.open, id)
	o, by := convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, watch.Terminal
	if kind != "question.rejected" {
		var err error
		if o, err = it.read(p); err != nil {
			o, by = watch.Over("it was answered in the terminal"), ""
		}
	}
	r.watch.End(it.root, id, o, by)
}
