package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/look"
)

func (c *card) questions(r *hub.Record) {
	list := r.Call.Questions
	secret := secretQuestions(r.Call)
	for i, q := range list {
		v := cardQuestion{N: i, Secret: secret[i], Header: clean.Line(q.Header), Input: "radio", Closed: q.Closed, Text: look.Markdown(q.Text), Own: "Something else…", NoNote: !takesNotes(r) || q.Closed && !c.Permission}
		if c.Permission {
			v.Text = look.Text(q.Text)
		}
		c.field(r, &v)
		if len(list) > 1 {
			v.Count = fmt.Sprintf("%d of %d", i+1, len(list))
		}
		if q.MultiSelect {
			v.Input = "checkbox"
			v.Count = strings.TrimPrefix(v.Count+" · pick any", " · ")
		}
		describe := look.Inline
		if c.Permission {
			describe = look.Text
		}
		if !slices.ContainsFunc(q.Options, func(o convert.Option) bool { return o.Effect == 0 }) {
			v.Own = "Your answer"
		}
		for j, o := range q.Options {
			if c.Decline && (o.Effect == convert.EffectDecline || q.OwnWords || q.MultiSelect && o.Effect == convert.EffectSkip) {
				continue // there is one button for all, or the input itself says it
			}
			v.Options = append(v.Options, cardOption{N: j, Label: look.Text(o.Label), Description: describe(o.Description), Preview: look.Text(strings.TrimRight(o.Preview, "\n")), Plain: short(o.Label, 80), Checked: c.Decline && preset(q) == j})
		}
		if !r.Open() && i < len(r.End.Answers) {
			v.Answer = answerText(r, r.End.Answers[i])
		}
		if c.Decline {
			v.input(q)
		}
		c.Questions = append(c.Questions, v)
	}
	c.Tap = !c.Permission && len(list) == 1 && !list[0].MultiSelect && len(list[0].Options) > 0
}

// field draws a question as a field of a server's form. Asked one by one, each says who asks
// and which of them it is; a card says that once.
func (c *card) field(r *hub.Record, v *cardQuestion) {
	q, n := r.Call.Questions[v.N], len(r.Call.Questions)
	server := clean.Line(r.Call.Server)
	name, ok := strings.CutPrefix(q.Header, serverOf(r)+": ")
	at := strings.Index(q.Text, "\n\n"+name)
	if server == "" || !ok || at < 0 || c.Permission {
		return
	}
	if said := q.Text[:at]; n < 2 || said != fmt.Sprintf("The MCP server %q asks (%d of %d).", server, v.N+1, n) {
		v.Intro = look.Markdown(said)
	}
	c.Decline = declining(r.Call) != nil
	v.Header, v.Text, v.Optional = "", look.Markdown(q.Text[at+2:]), c.Decline && skip(q) >= 0
	if i := preset(q); c.Decline && q.OwnWords && i >= 0 && isDefault(q.Options[i]) {
		v.Words = q.Options[i].Label
	}
	if _, hint, ok := strings.Cut(q.Text, "\n\n"+name); ok && c.Decline {
		v.Text, v.Hint = look.Markdown(name), look.Inline(strings.TrimPrefix(hint, ": "))
	}
}

// manyOptions is how many options make a field a drop-down.
const manyOptions = 6

// input picks the browser's input for a field. A switch needs a default: without one,
// nobody has said yet whether it is on or off. What is sent of a number or an address is what
// the browser's own field makes of it, and shows: one that reads 1,500 as its person's
// language has it sends 1500, and one may write a host's name in ASCII.
func (v *cardQuestion) input(q convert.Question) {
	if t, ok := map[string][2]string{"integer": {"number", "1"}, "number": {"number", "any"}, "email": {"email"}, "uri": {"url"}, "date": {"date"}}[q.Format]; ok && q.OwnWords && !v.Secret {
		v.Type, v.Step = t[0], t[1]
	}
	if q.MultiSelect || !q.Closed || len(q.Options) < 2 {
		return
	}
	boolean := q.Format == "boolean" && q.Options[0].Label == "Yes" && q.Options[1].Label == "No"
	v.Switch = boolean && isDefault(q.Options[max(preset(q), 0)])
	v.Select = !v.Switch && (boolean || len(v.Options) >= manyOptions) && !slices.ContainsFunc(q.Options, func(o convert.Option) bool {
		return o.Preview != "" || o.Effect == 0 && o.Description != "" && o.Description != "default"
	})
}

// skip is the option that leaves a field empty, or -1 where it must not be.
func skip(q convert.Question) int {
	return slices.IndexFunc(q.Options, func(o convert.Option) bool { return o.Effect == convert.EffectSkip })
}

// isDefault reports whether an option is the default of a field of a form.
func isDefault(o convert.Option) bool {
	return o.Description == "default" || strings.HasSuffix(o.Description, ", default")
}

// preset is the option of a field that is picked until its person picks another: the default,
// or that the field is left empty.
func preset(q convert.Question) int {
	if i := slices.IndexFunc(q.Options, isDefault); i >= 0 {
		return i
	}
	return skip(q)
}

// declining are the answers that decline a form of several fields as a whole; nil if it
// cannot be.
func declining(c convert.Call) (answers []convert.Answer) {
	for _, q := range c.Questions {
		i := slices.IndexFunc(q.Options, func(o convert.Option) bool { return o.Effect == convert.EffectDecline })
		if i < 0 {
			return nil
		}
		answers = append(answers, convert.Answer{Selected: []string{q.Options[i].Label}})
	}
	return answers
}
