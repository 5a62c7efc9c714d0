package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// opened is a request of Codex that is open, or was answered by us.
type opened struct {
	thread, item string // without the name of an item nothing says what became of an answer
	root         string // the conversation
	name         string // at the desk
	yes          bool   // what we said to a permission
	// said is closed when it is known what became of what we said.
	said   chan struct{}
	result error
	sent   bool
	end    bool
}

// request puts what Codex asks to the hub. What is not known is for the terminal alone,
// and gets no reply: it is not refused.
func (r *run) request(m gjson.Result) {
	p := m.Get("params")
	id := m.Get("id").Raw
	if r.open[id] != nil {
		return
	}
	it, item, answer := r.asked(id, m.Get("method").Str, m)
	if answer == nil {
		return
	}
	t := r.thread(p.Get("threadId").Str)
	root := r.root(t)
	o := &opened{thread: t.id, item: item, root: root.id, said: make(chan struct{})}
	// One call may ask more than once, and what an MCP server asks has no name.
	o.name = cmp.Or(strings.Trim(p.Get("itemId").Str+"-"+p.Get("approvalId").Str, "-"), life.Mint())
	it.Agent, it.Dir, it.About.Title = "Codex", cmp.Or(p.Get("cwd").Str, t.dir), root.name
	root.words.Tell(&it.About)
	it.Call.Session, it.Call.ID = root.id, o.name
	if t != root {
		it.Call.SubAgent = convert.SubAgent{ID: t.id, Task: t.who}
	}
	r.open[id] = o
	r.watch.Ask(watch.Dialog{Item: it, Answer: func(ctx context.Context, outcome convert.Outcome) error { return answer(ctx, o, outcome) }})
}

// answering gives Codex what a person said.
type answering = func(context.Context, *opened, convert.Outcome) error

// asked is what a request asks, and the item of the tool call that it is for; answer is
// nil for what is not for us.
func (r *run) asked(id, method string, m gjson.Result) (it desk.Item, item string, answer answering) {
	p := m.Get("params")
	item = p.Get("itemId").Str
	switch method {
	case "item/tool/requestUserInput":
		req, err := dialect.Decode([]byte(m.Raw), "codex")
		if err != nil {
			return it, "", nil
		}
		return desk.Item{Kind: desk.Question, Call: req.Call}, item, func(ctx context.Context, o *opened, outcome convert.Outcome) error {
			return r.reply(ctx, o, p, req, outcome)
		}
	case "item/commandExecution/requestApproval":
		it, answer = r.permission(id, r.inputOf(p), decisionsOf(p.Get("availableDecisions")))
		it.About.Kind, it.Call.Name = "execute", "shell"
		it.Call.Questions[0].Text = cmp.Or(clean.Line(p.Get("reason").Str), clean.Line(p.Get("command").Str), "run a command")
	case "item/fileChange/requestApproval":
		it, answer = r.permission(id, r.inputOf(p), decisionsOf(gjson.Parse(`["accept","acceptForSession","decline","cancel"]`)))
		it.About.Kind, it.Call.Name = "edit", "apply_patch"
		it.Call.Questions[0].Text = cmp.Or(clean.Line(p.Get("reason").Str), "edit files")
	case "item/permissions/requestApproval":
		it, answer = r.permission(id, r.inputOf(p), grantsOf(p.Get("permissions")))
		item, it.Call.Name = "", "request_permissions" // no item is told of
		it.Call.Questions[0].Text = cmp.Or(clean.Line(p.Get("reason").Str), "more permissions")
	case "mcpServer/elicitation/request":
		return r.elicited(id, p)
	}
	return it, item, answer
}

// reply answers a question. To dismiss one is what Esc is in the terminal: the turn is
// interrupted.
func (r *run) reply(ctx context.Context, o *opened, p gjson.Result, req dialect.Request, outcome convert.Outcome) error {
	if !r.mark(o, true) {
		return watch.ErrLate
	}
	if outcome.Status != convert.Answered {
		_, err := r.client.call(ctx, "turn/interrupt", map[string]string{"threadId": o.thread, "turnId": p.Get("turnId").Str})
		return err
	}
	if err := r.client.send(ctx, json.RawMessage(dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body)); err != nil {
		return err
	}
	return watch.ErrUnsure // Codex says of a question that it is resolved, and not how
}

// told reports whether we have said something to Codex.
func (r *run) told(o *opened) (sent bool) {
	r.Step(func() { sent = o.sent })
	return sent
}

// mark notes what we are about to say, unless the terminal was first.
func (r *run) mark(o *opened, yes bool) (first bool) {
	r.Step(func() {
		if first = !o.end; first {
			o.sent, o.yes = true, yes
		}
	})
	return first
}

// decision is an option of a permission.
type decision struct {
	label, about, kind string
	result             string // as Codex has it
	verb               string // what it is where a person dismisses: decline or cancel
	yes                bool
}

// decisionsOf are those that Codex offers; others are never sent.
func decisionsOf(offered gjson.Result) (list []decision) {
	for _, d := range offered.Array() {
		result := `{"decision":` + d.Raw + `}`
		switch rule, host := d.Get("acceptWithExecpolicyAmendment.execpolicy_amendment"), d.Get("applyNetworkPolicyAmendment.network_policy_amendment"); {
		case d.Str == "accept":
			list = append(list, decision{"Allow once", "", "allow_once", result, d.Str, true})
		case d.Str == "acceptForSession":
			list = append(list, decision{"Allow for this session", "", "allow_always", result, d.Str, true})
		case d.Str == "decline":
			list = append(list, decision{"Reject", "the turn goes on", "reject_once", result, d.Str, false})
		case d.Str == "cancel":
			list = append(list, decision{"Reject, and stop", "the turn ends", "reject_once", result, d.Str, false})
		case rule.IsArray():
			var words []string
			for _, w := range rule.Array() {
				words = append(words, oneWord(clean.Line(w.String())))
			}
			list = append(list, decision{"Always allow commands that start with " + strings.Join(words, " "), "", "allow_always", result, d.Str, true})
		case host.IsObject() && host.Get("action").Str == "allow":
			list = append(list, decision{"Always allow " + clean.Line(host.Get("host").Str), "", "allow_always", result, d.Str, true})
		case host.IsObject():
			list = append(list, decision{"Never allow " + clean.Line(host.Get("host").Str), "", "reject_always", result, d.Str, false})
		}
	}
	return distinct(list)
}

// oneWord is a word of a command as a shell has it: where it ends can be seen.
func oneWord(s string) string {
	if s == "" || strings.ContainsAny(s, " \t'\"\\") {
		return string(clean.JSON(s))
	}
	return s
}

// distinct leaves out what reads like something before it: a person could not tell which
// of them is meant.
func distinct(list []decision) []decision {
	var out []decision
	for _, d := range list {
		if !slices.ContainsFunc(out, func(o decision) bool { return o.label == d.label }) {
			out = append(out, d)
		}
	}
	return out
}

// permission asks for what a tool call does.
func (r *run) permission(id string, input json.RawMessage, decisions []decision) (desk.Item, answering) {
	q := convert.Question{Closed: true}
	it := desk.Item{Kind: desk.Permission, About: about.About{Tool: about.Tool{NoReason: true}}}
	for _, d := range decisions {
		q.Options = append(q.Options, convert.Option{Label: d.label, Description: d.about})
		it.About.Picks = append(it.About.Picks, d.kind)
	}
	it.Call = convert.Call{Questions: []convert.Question{q}, Input: input}
	if len(decisions) == 0 { // there is nothing that we know how to say
		return it, nil
	}
	it.Check = it.About.Check(q.Options)
	return it, func(ctx context.Context, o *opened, outcome convert.Outcome) error {
		d, err := decided(it, decisions, outcome)
		if err != nil {
			return err
		}
		if !r.mark(o, d.yes) {
			return watch.ErrLate
		}
		if err := r.client.send(ctx, json.RawMessage(`{"id":`+id+`,"result":`+d.result+`}`)); err != nil {
			return err
		}
		if o.item == "" {
			return watch.ErrUnsure
		}
		select { // what the tool call becomes says whose answer it was
		case <-o.said:
			return o.result
		case <-r.ctx.Done():
			return watch.ErrUnsure
		}
	}
}

// decided is what a person has decided. To dismiss a permission is to reject it once.
func decided(it desk.Item, decisions []decision, o convert.Outcome) (decision, error) {
	if o.Status == convert.Answered {
		i, _, err := it.About.Picked(it.Call.Questions[0].Options, o.Answers)
		if err != nil {
			return decision{}, err
		}
		return decisions[i], nil
	}
	for _, verb := range []string{"decline", "cancel"} {
		if i := slices.IndexFunc(decisions, func(d decision) bool { return d.verb == verb }); i >= 0 {
			return decisions[i], nil
		}
	}
	return decision{}, errors.New("Codex does not offer to dismiss it")
}

// inputOf is what a permission is for: what Codex says of it, with the changes of the
// item that it names.
func (r *run) inputOf(p gjson.Result) json.RawMessage {
	var members []string
	add := func(key, value string) { members = append(members, key+":"+value) }
	p.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "threadId", "turnId", "itemId", "approvalId", "startedAtMs", "availableDecisions", "commandActions", "proposedExecpolicyAmendment", "kind":
		case "reason":
			if v.Str != "" {
				add(`"description"`, v.Raw)
			}
		default:
			if v.Type != gjson.Null {
				add(k.Raw, v.Raw)
			}
		}
		return true
	})
	if changes := r.items[p.Get("threadId").Str+" "+p.Get("itemId").Str].Get("changes"); changes.IsArray() {
		add(`"changes"`, changes.Raw)
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// resolved says that a request has its answer: ours, or the terminal's.
func (r *run) resolved(id string) {
	o := r.open[id]
	if o == nil {
		return
	}
	sent := false
	r.Step(func() { o.end, sent = true, o.sent })
	if !sent {
		delete(r.open, id)
		r.watch.End(o.root, o.name, watch.Over("it was answered in the terminal"), "")
	}
}

// completed says what became of a tool call: whether it was declined. Of calls that are
// alike nobody knows which it is.
func (r *run) completed(thread string, item gjson.Result) {
	name := itemName(item)
	var of []string
	for id, o := range r.open {
		if o.thread == thread && o.item == name && (r.told(o) || name == item.Get("id").Str) {
			of = append(of, id)
		}
	}
	if len(of) > 1 && name != item.Get("id").Str {
		return
	}
	for _, id := range of {
		o := r.open[id]
		delete(r.open, id)
		var err error
		if wasDeclined(item) == o.yes {
			err = watch.ErrLate
		}
		r.finish(o, err)
	}
}

// over ends what a thread has asked: its turn has ended.
func (r *run) over(thread string) {
	for id, o := range r.open {
		if o.thread == thread {
			delete(r.open, id)
			r.finish(o, watch.ErrUnsure)
		}
	}
}

func (r *run) finish(o *opened, err error) {
	o.result = err
	close(o.said)
	r.Step(func() { o.end = true })
	r.watch.End(o.root, o.name, watch.Over("its turn has ended in the terminal"), "")
}
