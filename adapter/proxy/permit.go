package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// permit is a request for permission that the agent puts to the editor, and that is
// at the desk as well. The request and the editor's reply pass as they are written.
// The desk decides who was first:
//
//	| first            | the agent gets            | the editor                       | the desk  |
//	|------------------|---------------------------|----------------------------------|-----------|
//	| the editor       | its reply                 |                                  | is told   |
//	| somebody else    | the option picked there   | the request is taken back;       |           |
//	|                  |                           | a reply to it goes nowhere       |           |
//	| the agent,       | what it gets without us   | what it gets without us          | withdrawn |
//	| or a cancel      |                           |                                  |           |
type permit struct {
	p  *proxy
	id []byte // the request's, as the agent wrote it
	// in is the session in which a person types; session is the request's own.
	in            *session
	session, tool string
	endsWithTurn  bool
	options       []string // their ids, as the agent wrote them
	params        gjson.Result
	asked         *about.Asked
	ticket        *desk.Ticket
	over          bool
	recall        bool // the editor has to be told that it is asked no more
	delivered     bool // the agent is told what was said at the desk
	lost          bool // it did not want to know any more
}

// asksPermission puts a request for permission that passes to the desk.
func (p *proxy) asksPermission(m *message) {
	key := idKey(m.id)
	if p.passed[key] > 1 || p.late[key] > 0 { // of two with one id nobody can tell which is answered
		p.noPermit(p.permit[key], "The agent asked something else under the same id")
		return
	}
	params := gjson.ParseBytes(m.params)
	if name := params.Get("sessionId").Str; p.opts.Desk != nil && name != "" {
		p.permits(bytes.Clone(m.id), params, p.session(name).shapes.Ask(params))
	}
}

// unseen is the line that shows in the conversation what a request is for, before it
// passes to an editor that does not show that; nil if there is none.
func (p *proxy) unseen(m *message) []byte {
	params := gjson.ParseBytes(m.params)
	name := params.Get("sessionId").Str
	var own acp.RequestPermissionRequest
	if !p.titlesOnly || name == "" || json.Unmarshal(m.params, &own) != nil {
		return nil
	}
	text := about.Unseen(own)
	if text == "" {
		asked := p.session(name).shapes.Ask(params)
		defer asked.Over()
		if shaped, ok := asked.Request(); ok {
			text = about.Unseen(shaped)
		}
	}
	if text == "" {
		return nil
	}
	return append(textLine(name, "\n\n"+text+"\n\n"), '\n')
}

// permits puts a permission to the desk, unless what it is for cannot be shown whole
// there.
func (p *proxy) permits(id []byte, params gjson.Result, asked *about.Asked) {
	request, ok := asked.Request()
	if !ok || p.over || len(p.permit) >= maxOpen {
		asked.Over()
		return
	}
	name, tool := params.Get("sessionId"), params.Get("toolCall.toolCallId").Str
	apart := p.asksForAnother(name.Str, &message{params: []byte(params.Raw)})
	w := &permit{p: p, id: id, params: params, asked: asked, in: p.session(p.typedIn(name.Str)), session: name.Str, tool: tool}
	w.endsWithTurn = !apart && w.in.id == w.session && w.in.runs()
	for _, o := range params.Get("options").Array() {
		w.options = append(w.options, strings.Clone(o.Get("optionId").Raw))
	}
	it := desk.Item{Kind: desk.Permission, Unqueued: true, Call: about.PermissionCall(request), Again: asksAgain(params)}
	it.About.Tool = about.ToolTold(request)
	it.Call.Session = w.in.id
	if apart || w.in.id != w.session {
		it.Call.SubAgent = convert.SubAgent{Parent: strings.Clone(params.Get(parentMeta).Str), Session: w.session}
	}
	it.About.NoReason = !p.takesNotes && p.side == nil
	it.Check = it.About.Check(it.Call.Questions[0].Options)
	p.about.describe(&it)
	w.ticket = p.opts.Desk.Place(p.ctx, it)
	p.permit[idKey(id)] = w
	p.asking.Add(1)
	go w.wait()
}

// wait waits for whoever is first. The editor is told behind the request itself.
func (w *permit) wait() {
	p := w.p
	defer p.asking.Done()
	defer w.ticket.Leave()
	if w.ticket.Turn() == nil {
		w.ticket.Asking(0, adapter.Permission.String())
	}
	<-w.ticket.Context().Done()
	recall, told, lost := false, false, false
	p.Step(func() {
		w.end(takenBack("It was given up"), "")
		recall, told, lost = w.recall, w.delivered, w.lost
	})
	if recall {
		w.takeBack()
	}
	if told {
		p.used(w.ticket.Item().Name)
	}
	if lost {
		p.opts.Desk.Receipt(w.ticket.Item().Name, errNotWanted)
	}
}

var errNotWanted = errors.New("the agent had taken it back, or the turn was cancelled")

// takeBack tells the editor that the request needs no answer, behind the request itself.
func (w *permit) takeBack() {
	p := w.p
	p.passing.Enter()
	defer p.passing.Leave()
	p.Step(func() {
		if p.late[idKey(w.id)] > 0 && !p.known.NoCancel {
			p.editor.post(notificationLine(cancelMethod, conn.CancelParams(w.ticket.Context(), w.id)))
		}
	})
}

// end settles it, unless somebody at the desk has: then the agent gets that answer.
// It reports whether this is the end that stands.
func (w *permit) end(o convert.Outcome, by string) (first bool) {
	if w.over {
		return false
	}
	w.over = true
	w.asked.Over()
	delete(w.p.permit, idKey(w.id))
	stands, first := w.ticket.Reply(o, by)
	if !first {
		w.deliver(stands)
	}
	return first
}

// deliver gives the agent an answer from the desk.
func (w *permit) deliver(o convert.Outcome) {
	p, key := w.p, idKey(w.id)
	result, ok := w.result(o)
	if !ok || !p.passed.take(w.id) {
		w.lost = true
		return
	}
	delete(p.permitting, key)
	w.tell(o, result)
	if p.unhold(key) != nil {
		return // the editor has never seen it
	}
	p.late.add(w.id)
	w.recall = true
}

// tell gives the agent an answer by the way that it has for it. Words that it cannot
// have are not lost without a trace.
func (w *permit) tell(o convert.Outcome, result []byte) {
	p, note, rejects := w.p, "", false
	if o.Status == convert.Answered {
		it := w.ticket.Item()
		pick, words, err := it.About.Picked(it.Call.Questions[0].Options, o.Answers)
		note, rejects = words, err == nil && about.Rejects(it.About.Picks[pick])
	}
	lost := func() {
		p.say(w.in.id, "\n\nThe agent takes no words with a permission. It has the answer, and these words did not reach it: "+clean.Line(note)+"\n\n")
	}
	if note != "" && rejects && p.side != nil {
		p.asking.Add(1)
		dir := p.session(w.session).dir
		go func() {
			defer p.asking.Done()
			told := p.side.rejectWith(note, w.tool, dir)
			p.Step(func() {
				p.agent.post(resultLine(string(w.id), result))
				if !told {
					lost()
				}
			})
			p.used(w.ticket.Item().Name)
		}()
		return
	}
	p.agent.post(resultLine(string(w.id), result))
	w.delivered = true
	if note != "" && !p.takesNotes {
		lost()
	}
}

// result is the answer in the agent's words: an option that it offered.
func (w *permit) result(o convert.Outcome) ([]byte, bool) {
	switch o.Status {
	case convert.Cancelled:
		return []byte(`{"outcome":{"outcome":"cancelled"}}`), true
	case convert.Answered:
		for i, option := range w.ticket.Item().Call.Questions[0].Options {
			if option.Label == o.Answers[0].Selected[0] {
				result := []byte(`{"outcome":{"outcome":"selected","optionId":` + w.options[i] + `}}`)
				if note := o.Answers[0].Note; note != "" {
					result = edit(result, func([]byte) []byte { return clean.JSON(map[string]string{"notes": note}) }, "outcome", "_meta")
				}
				return result, true
			}
		}
	}
	return nil, false
}

// replied takes the editor's reply, and reports whether it goes on to the agent.
func (w *permit) replied(m *message) bool {
	if w.end(w.outcome(m)) {
		return true
	}
	w.recall = false
	w.p.late.take(m.id)
	return false
}

// outcome is what the editor's reply means at the desk, and whose it is. The agent
// makes of it what it likes.
func (w *permit) outcome(m *message) (o convert.Outcome, by string) {
	response, err := conn.DecodePermission(m.result)
	switch {
	case given(m.err) || err != nil:
		return takenBack("The editor did not show it"), ""
	case response.Outcome.Cancelled != nil:
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, byEditor
	}
	id := response.Outcome.Selected.OptionId
	for i, raw := range w.options {
		if gjson.Parse(raw).Str == string(id) {
			picked := convert.Answer{Selected: []string{w.ticket.Item().Call.Questions[0].Options[i].Label}, Note: about.Beside(response)}
			return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{picked}}, byEditor
		}
	}
	return takenBack("The editor selected an option that was not offered"), ""
}

// byEditor is who answers there.
const byEditor = "editor"

// takenBack is the end of something that nobody has answered.
func takenBack(why string) convert.Outcome {
	return convert.Outcome{Status: convert.Failed, Reason: why}
}

// noPermit takes a permission off the desk: nobody waits for it any more, or the
// editor is about to say so. It reports whether the agent has no answer from there;
// nil has none.
func (p *proxy) noPermit(w *permit, why string) bool {
	return w == nil || w.end(takenBack(why), "")
}

// noPermits does so for all that fit.
func (p *proxy) noPermits(why string, fits func(*permit) bool) {
	for _, w := range p.permit {
		if fits(w) {
			p.noPermit(w, why)
		}
	}
}

// shaped takes what the agent shows of a tool call. Where that is not what a person
// at the desk has seen, the permission is another one there.
func (p *proxy) shaped(session string, update gjson.Result) {
	if p.opts.Desk == nil {
		return
	}
	changed := p.session(session).shapes.Saw(update)
	for _, w := range slices.Collect(maps.Values(p.permit)) {
		if slices.Contains(changed, w.asked) && p.noPermit(w, "The agent shows something else by now") {
			p.permits(w.id, w.params, w.asked.Again())
		}
	}
}

// ofSession fits what is asked in a session, or by a sub-agent of it.
func ofSession(id string) func(*permit) bool {
	return func(w *permit) bool { return w.session == id || w.in.id == id }
}
