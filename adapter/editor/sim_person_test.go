package editor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// simSession is a session as its user sees it.
type simSession struct {
	sim   *sim
	id    string
	agent *simConversation

	prompts int
	running []*simPrompt // in the order in which they were sent
	// waits means that a question stands in the conversation, as far as the user
	// knows; seen is the last one that did.
	waits bool
	seen  string
	// draft is a reply that the user is writing, to the question that stood there
	// when it was begun.
	draft *simDraft
	// died means that the agent ended while a question waited for the next
	// prompt, which it must not get.
	died bool
	// given is what was said to each question: options and words.
	given map[string][]string
}

type simPrompt struct {
	session *simSession
	n       int
	unsent  bool // the agent must not get it
}

type simDraft struct{ question, text string }

// simReply is the end of a request of the editor.
type simReply struct {
	raw  json.RawMessage
	err  error
	done bool
}

// call sends a request. What comes back is there when everything is at rest.
func (s *sim) call(method, params string) *simReply {
	r := &simReply{}
	go func() {
		r.raw, r.err = s.conn.Call(context.Background(), method, json.RawMessage(params))
		r.done = true
	}()
	return r
}

// simEditor takes what the front sends.
type simEditor sim

func (e *simEditor) Notify(context.Context, string, json.RawMessage) {} // see received

// reads is how the user learns what is asked in the conversation, and that it is
// gone.
func (o *simSession) reads(text string) {
	if q := nameOf(text); q != "" {
		o.waits, o.seen = true, q
	}
	if strings.Contains(text, "It needs no answer") {
		o.waits = false
	}
}

var questionName = regexp.MustCompile(`question r\d+\.\d\?|field r\d+|leave r\d+`)

// nameOf is the question in a text: the last one, which is the one that is asked.
func nameOf(text string) string {
	all := questionName.FindAllString(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func (s *sim) session(id string) *simSession {
	for _, o := range s.sessions {
		if o.id == id {
			return o
		}
	}
	return nil
}

// simRequest is a request that the editor shows.
type simRequest struct {
	sim     *sim
	session *simSession
	method  string
	params  gjson.Result
	reply   chan string
	text    string // of the question
}

func (e *simEditor) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	s := (*sim)(e)
	r := &simRequest{sim: s, method: method, params: gjson.ParseBytes(params), reply: make(chan string, 1)}
	r.session = s.session(r.params.Get("sessionId").Str)
	r.text = nameOf(r.params.Get("toolCall.rawInput.question").Str)
	if r.text == "" {
		r.text = nameOf(r.params.Get("toolCall.title").Str)
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = slices.DeleteFunc(s.requests, func(o *simRequest) bool { return o == r })
	}()
	select {
	case reply := <-r.reply:
		if reply == "" {
			return nil, errors.New("the editor is broken")
		}
		return json.RawMessage(reply), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *simRequest) note(format string, args ...any) {
	r.sim.note("%s: user, asked %q: %s", r.session.id, r.text, fmt.Sprintf(format, args...))
}

// acts are what the user can do with a request.
func (r *simRequest) acts() []act {
	acts := []act{{2, r.dismiss}, {1, r.breaks}, {12, r.picks}}
	if r.method == "elicitation/create" {
		acts = append(acts, act{2, r.declines})
	}
	return acts
}

// excuse notes that what is asked in the session may end without an answer.
func (o *simSession) excuse() {
	o.agent.excuseAll()
	o.agent.excused = o.agent.runs || len(o.agent.inbox) > 0
}

func (r *simRequest) dismiss() {
	r.note("dismisses it")
	r.session.excuse()
	if r.method == "elicitation/create" {
		r.send(`{"action":"cancel"}`)
		return
	}
	r.send(`{"outcome":{"outcome":"cancelled"}}`)
}

func (r *simRequest) declines() {
	r.note("declines")
	r.session.excuse()
	r.send(`{"action":"decline"}`)
}

// breaks replies with something that makes no sense.
func (r *simRequest) breaks() {
	reply := []string{"", `{"outcome":{"outcome":"selected","optionId":"nobody offered this"}}`, `{}`, `{"action":"accept","content":{"other":1}}`}[r.sim.rng.IntN(4)]
	r.note("replies %s", reply)
	r.send(reply)
}

func (r *simRequest) send(reply string) { r.reply <- reply }

// give notes what the user says to a question.
func (o *simSession) give(question, answer string) {
	o.given[question] = append(o.given[question], answer)
}

// picks takes one of the options, or several in rounds.
func (r *simRequest) picks() {
	if r.method == "elicitation/create" {
		r.fillsIn()
		return
	}
	options := r.params.Get("options").Array()
	pick := options[r.sim.rng.IntN(len(options))].Get("optionId").Str
	r.note("picks %s", pick)
	if pick != "__other__" && pick != "__done__" {
		r.session.give(r.text, pick)
	}
	if pick == "__other__" && !strings.HasPrefix(r.text, "leave") {
		r.session.give(r.text, "Other") // where the editor has no way for words
	}
	meta := ""
	if pick == "__other__" && r.sim.rng.IntN(2) == 0 {
		words := "words of " + r.text
		r.session.give(r.text, words)
		meta = `,"_meta":{"customText":"` + words + `"}`
	}
	r.send(`{"outcome":{"outcome":"selected","optionId":"` + pick + `"` + meta + `}}`)
}

// fillsIn accepts a form with an answer to each question.
func (r *simRequest) fillsIn() {
	content := map[string]any{}
	r.params.Get("requestedSchema.properties").ForEach(func(key, field gjson.Result) bool {
		values := field.Get("oneOf.#.const").Array()
		if len(values) == 0 {
			values = field.Get("items.anyOf.#.const").Array()
		}
		if len(values) == 0 {
			values = field.Get("enum").Array()
		}
		if len(values) == 0 {
			return true // own words
		}
		v := values[r.sim.rng.IntN(len(values))].Str
		label, _, _ := strings.Cut(v, "-") // of the question that the value is of
		text := "question " + label + "?"
		if !strings.Contains(label, ".") {
			text = "field " + label
		}
		r.session.give(text, v)
		content[key.Str] = v
		if field.Get("type").Str == "array" {
			content[key.Str] = []string{v}
		}
		return true
	})
	raw, _ := json.Marshal(map[string]any{"action": "accept", "content": content})
	r.note("accepts %s", raw)
	r.send(string(raw))
}

// personActs are what the user can do in a session.
func (o *simSession) personActs() []act {
	acts := []act{{1, o.cancels}}
	if len(o.running) < 3 && o.draft == nil {
		acts = append(acts, act{3, func() { o.prompt("do something") }})
	}
	if o.draft != nil && len(o.running) == 0 {
		acts = append(acts, act{8, o.sends})
	} else if o.waits && len(o.running) == 0 {
		acts = append(acts, act{12, o.answers}, act{6, o.begins}, act{1, o.sayCancel})
	}
	return acts
}

func (o *simSession) cancels() {
	o.sim.note("%s: user cancels", o.id)
	o.excuse()
	o.waits = false
	go func() {
		_ = o.sim.conn.Notify(context.Background(), "session/cancel", json.RawMessage(`{"sessionId":"`+o.id+`"}`))
	}()
}

func (o *simSession) sayCancel() { o.prompt("cancel") }

// answers types a reply to the question that the user has in mind: the last one
// in the conversation.
func (o *simSession) answers() {
	o.begins()
	o.sends()
}

// sends ends a draft. What came into the conversation meanwhile was not noticed.
func (o *simSession) sends() {
	d := o.draft
	o.draft = nil
	o.give(d.question, d.text)
	if n := strings.TrimSpace(d.text); len(n) == 1 { // a number means an option of that question
		label := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(d.question, "question "), "?"), "field ")
		o.give(d.question, label+"-"+string(rune('A'+n[0]-'1')))
	}
	o.prompt(d.text)
}

// begins a reply.
func (o *simSession) begins() {
	n := o.sim.rng.IntN(3)
	label := strings.TrimSuffix(strings.TrimPrefix(o.seen, "question "), "?")
	label = strings.TrimPrefix(label, "field ")
	switch letter := string(rune('A' + n)); o.sim.rng.IntN(3) {
	case 0:
		o.draft = &simDraft{o.seen, fmt.Sprint(n + 1)}
	case 1:
		o.draft = &simDraft{o.seen, label + "-" + letter}
	default:
		o.draft = &simDraft{o.seen, "my own words"}
	}
	o.sim.note("%s: user begins to write %q to %s", o.id, o.draft.text, o.draft.question)
}

// prompt sends a prompt. Prompts end in order, each once.
func (o *simSession) prompt(text string) {
	o.prompts++
	p := &simPrompt{session: o, n: o.prompts, unsent: o.died}
	o.died = false
	o.sim.note("%s: user says %q (%d)", o.id, text, p.n)
	if len(o.agent.asked) > 0 {
		o.excuse() // it may take the place of what is asked
	}
	if o.waits && text == "do something" { // whatever is said now is said to it
		o.give(o.seen, text)
	}
	o.running = append(o.running, p)
	o.waits = false
	params, _ := json.Marshal(map[string]any{
		"sessionId": o.id, "prompt": []any{map[string]any{"type": "text", "text": text}}, "_meta": map[string]int{"n": p.n},
	})
	o.sim.call("session/prompt", string(params))
}

// sent and received see the wire: the order in which prompts end is the order
// there.
func (s *sim) sent(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := gjson.ParseBytes(line)
	if m.Get("method").Str != "session/prompt" {
		return
	}
	for _, p := range s.session(m.Get("params.sessionId").Str).running {
		if int64(p.n) == m.Get("params._meta.n").Int() {
			s.prompts[m.Get("id").Raw] = p
		}
	}
}

func (s *sim) received(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := gjson.ParseBytes(line)
	if m.Get("params.update.sessionUpdate").Str == "agent_message_chunk" {
		s.session(m.Get("params.sessionId").Str).reads(m.Get("params.update.content.text").Str)
	}
	if m.Get("method").Exists() {
		return
	}
	if p := s.prompts[m.Get("id").Raw]; p != nil {
		delete(s.prompts, m.Get("id").Raw)
		p.session.ended(p, m)
	}
}

func (o *simSession) ended(p *simPrompt, m gjson.Result) {
	o.sim.note("%s: prompt %d ends: %s%s", o.id, p.n, m.Get("result").Raw, m.Get("error").Raw)
	if len(o.running) == 0 || o.running[0] != p {
		o.sim.wrong("%s: prompt %d ended before one that came earlier", o.id, p.n)
	}
	o.running = slices.DeleteFunc(o.running, func(r *simPrompt) bool { return r == p })
	if waits := m.Get("result._meta.acp-bridge.waitingFor").Exists(); waits && !o.waits {
		o.sim.wrong("%s: prompt %d ended for a question that is not in the conversation", o.id, p.n)
	}
}

// phoneActs are what somebody elsewhere can do: the desk's questions of the
// session, waiting ones too.
func (o *simSession) phoneActs() []act {
	var acts []act
	for _, e := range o.sim.desk.List() {
		if e.Call.Session != o.id || e.Kind == desk.Permission {
			continue
		}
		acts = append(acts, act{1, func() { o.phoneAnswers(e) }})
	}
	return acts
}

func (o *simSession) phoneAnswers(e desk.Entry) {
	answers := make([]convert.Answer, len(e.Call.Questions))
	for i, q := range e.Call.Questions {
		label := q.Options[o.sim.rng.IntN(min(2, len(q.Options)))].Label
		o.give(nameOf(q.Text), label)
		answers[i].Selected = []string{label}
	}
	o.sim.note("%s: phone answers %s with %v", o.id, e.Call.ID, answers)
	if err := o.sim.desk.Answer(desk.Ref{Session: o.id, ID: e.Call.ID, Revision: e.Revision}, answers, "phone"); err != nil {
		o.sim.wrong("the phone's answer was not taken: %v", err)
	}
}
