package opencode

import (
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
func (r *plugin) question(ctx context.Context, p gjson.Result) {
	req, err := dialect.Decode([]byte(p.Raw), "opencode")
	if err != nil {
		return
	}
	path := "/question/" + url.PathEscape(p.Get("id").Str)
	read := func(p gjson.Result) (convert.Outcome, error) { return answersIn(req.Call, p.Get("answers")) }
	r.ask(ctx, p, desk.Item{Kind: desk.Question, Call: req.Call}, read, func(ctx context.Context, o convert.Outcome) error {
		if o.Status != convert.Answered {
			return r.tell(ctx, path+"/reject", nil)
		}
		return r.tell(ctx, path+"/reply", json.RawMessage(dialect.Encode(req, dialect.Reply{Outcome: o}).Body))
	})
}

// answersIn reads what was answered in the terminal: a list of labels and own words
// for each question.
func answersIn(c convert.Call, answers gjson.Result) (convert.Outcome, error) {
	var lists [][]string
	if err := json.Unmarshal([]byte(answers.Raw), &lists); err != nil || len(lists) > len(c.Questions) {
		return convert.Outcome{}, errors.New("expected one list of strings a question")
	}
	o := convert.Outcome{Status: convert.Answered, Answers: make([]convert.Answer, len(c.Questions))}
	for i, list := range lists {
		q, a := c.Questions[i], &o.Answers[i]
		for _, item := range list {
			if q.HasLabel(item) {
				a.Selected = append(a.Selected, item)
			} else {
				a.Text = strings.TrimPrefix(a.Text+", "+item, ", ")
			}
		}
		if q.Closed && a.Text != "" {
			return convert.Outcome{}, errors.New("the question accepts only its options")
		}
	}
	return o, o.Check(c)
}

// What a person can say to a permission, in OpenCode's words.
const (
	once   = "once"
	always = "always"
	reject = "reject"
)

// choice is an option of a permission.
type choice struct{ reply, label, about, kind string }

func (r *run) choicesOf(p gjson.Result) []choice {
	list := []choice{{once, "Allow once", "", "allow_once"}}
	if patterns := clean.Line(join(p.Get("always"), ", ")); patterns != "" {
		list = append(list, choice{always, "Always allow " + patterns, "for " + p.Get("permission").Str + ", " + r.until, "allow_always"})
	}
	return append(list, choice{reject, "Reject", "a note says why", "reject_once"})
}

// kinds are ACP's, by OpenCode's names of permissions.
var kinds = map[string]string{"bash": "execute", "edit": "edit", "read": "read", "webfetch": "fetch", "websearch": "search", "grep": "search", "glob": "search"}

// permission asks for a tool. Answer gives OpenCode a reply, with words or none; no reply
// is a dismissal.
func (r *run) permission(ctx context.Context, p gjson.Result, answer func(ctx context.Context, reply, words string) error) {
	choices := r.choicesOf(p)
	q := convert.Question{Text: titleOf(p), Closed: true}
	it := desk.Item{Kind: desk.Permission, About: about.About{Tool: about.Tool{Kind: kinds[p.Get("permission").Str]}}}
	for _, c := range choices {
		q.Options = append(q.Options, convert.Option{Label: c.label, Description: c.about})
		it.About.Picks = append(it.About.Picks, c.kind)
	}
	it.Call = convert.Call{Name: p.Get("permission").Str, Questions: []convert.Question{q}, Input: inputOf(p)}
	it.Check = it.About.Check(q.Options)
	read := func(p gjson.Result) (convert.Outcome, error) {
		i := slices.IndexFunc(choices, func(c choice) bool { return c.reply == p.Get("reply").Str })
		if i < 0 {
			return convert.Outcome{}, errors.New("another reply")
		}
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{choices[i].label}}}}, nil
	}
	r.ask(ctx, p, it, read, func(ctx context.Context, o convert.Outcome) error {
		if o.Status != convert.Answered {
			return answer(ctx, "", "")
		}
		i, words, err := it.About.Picked(q.Options, o.Answers)
		if err != nil {
			return err
		}
		return answer(ctx, choices[i].reply, words)
	})
}

// titleOf says what a permission is for, in a line.
func titleOf(p gjson.Result) string {
	name := p.Get("permission").Str
	if name == "bash" {
		return display.Tool{Name: "Bash", Input: json.RawMessage(p.Get("metadata").Raw)}.Info("").Title
	}
	return clean.Truncate(clean.Line(name+" "+join(p.Get("patterns"), ", ")), 300)
}

func join(list gjson.Result, by string) string {
	var all []string
	for _, one := range list.Array() {
		all = append(all, one.String())
	}
	return strings.Join(all, by)
}

// inputOf is what a permission is for: all that OpenCode says of it.
func inputOf(p gjson.Result) json.RawMessage {
	var members []string
	p.Get("metadata").ForEach(func(k, v gjson.Result) bool {
		members = append(members, k.Raw+":"+v.Raw)
		return true
	})
	patterns := p.Get("patterns")
	if list := patterns.Array(); patterns.IsArray() && (len(list) != 1 || list[0].String() != p.Get("metadata.command").String()) {
		members = append(members, `"patterns":`+patterns.Raw)
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// ended tells the hub what the terminal said, if it was not dismissed there. What we said
// ourselves has ended before.
func (r *run) ended(id string, dismissed bool, p gjson.Result) {
	it, ok := r.open[id]
	if !ok {
		return
	}
	delete(r.open, id)
	o, by := convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, watch.Terminal
	if !dismissed {
		var err error
		if o, err = it.read(p); err != nil {
			o, by = watch.Over("it was answered in the terminal"), ""
		}
	}
	r.watch.End(it.root, id, o, by)
}
