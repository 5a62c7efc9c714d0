package front_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// simSession is a session as its user sees it.
type simSession struct {
	sim   *sim
	id    string
	agent *simConversation

	prompts int
	running []*simPrompt // in the order in which they were sent
	// waits means that a question stands in the conversation, as far as the user
	// knows; seen is the last one that did, read are all.
	waits bool
	seen  string
	read  []string
	// draft is a reply that the user is writing, to the question that stood there
	// when it was begun.
	draft *simDraft
	// died means that the agent ended while a question waited for the next
	// prompt, which it must not get.
	died bool
	// given is what was said to each question: options and words.
	given map[string][]string
	// broken means that the editor gave replies that make no sense.
	broken bool
}

type simPrompt struct {
	session *simSession
	n       int
	unsent  bool // the agent must not get it
}

type simDraft struct{ question, text string }

// request sends a request of the editor and returns its id.
func (s *sim) request(method, params string, arrives func()) (id string) {
	s.ids++
	id = strconv.Itoa(s.ids)
	s.toFront.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`, arrives)
	return id
}

// reads is how the user learns what is asked in the conversation, and that it is
// gone.
func (o *simSession) reads(text string) {
	if q := nameOf(text); q != "" && wantsReply.MatchString(text) {
		o.waits, o.seen, o.read = true, q, append(o.read, q)
	}
	if strings.Contains(text, "It needs no answer") {
		o.waits = false
	}
}

// wantsReply is what a question in the conversation says, and not what stands there beside a
// request.
var wantsReply = regexp.MustCompile(`Reply with|Type your answer`)

var questionName = regexp.MustCompile(`question r\d+\.\d\?|field r\d+|permission r\d+`)

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
	id      string
	method  string
	params  gjson.Result
	text    string // of the question
	since   time.Time
	guarded bool // a reply that comes at once is not the user's
}

// shows puts a request in front of the user.
func (s *sim) shows(m gjson.Result) {
	r := &simRequest{sim: s, id: m.Get("id").Raw, method: m.Get("method").Str, params: m.Get("params"), since: time.Now()}
	r.session = s.session(r.params.Get("sessionId").Str)
	r.text = nameOf(r.params.Get("toolCall.rawInput.question").Str)
	if r.text == "" {
		r.text = nameOf(r.params.Get("toolCall.title").Str)
	}
	permission := strings.HasPrefix(r.text, "permission")
	r.guarded = s.guard && !permission && r.params.Get("_meta.acp-bridge.round").Int() < 2
	if s.proxied { // it guards what it asks itself
		r.guarded = r.guarded && strings.HasPrefix(r.id, `"acp-bridge-`)
	}
	s.requests = append(s.requests, r)
}

// takenBack is the front's word that a request needs no reply any more. Not every
// editor heeds it.
func (s *sim) takenBack(id string) {
	for _, r := range s.requests {
		if r.id != id {
			continue
		}
		s.forget(r)
		luck := rand.New(rand.NewPCG(s.luck, uint64(crc32.ChecksumIEEE([]byte(r.session.id+r.text))))) // not by the order
		reply := []string{
			`"error":{"code":-32800,"message":"cancelled"}`, `"result":{"outcome":{"outcome":"cancelled"}}`, `"result":{"action":"cancel"}`, "",
			`"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`,
		}[luck.IntN(5)]
		if reply != "" {
			s.toFront.send(`{"jsonrpc":"2.0","id":`+r.id+`,`+reply+`}`, nil)
		}
		return
	}
}

func (s *sim) forget(r *simRequest) {
	s.requests = slices.DeleteFunc(s.requests, func(o *simRequest) bool { return o == r })
}

// counts reports whether a reply that is given now may be taken for the user's.
// The guard cannot know how long a line is on its way.
func (r *simRequest) counts() bool {
	return !r.guarded || r.sim.slow || time.Since(r.since) >= seen.Person
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
	if r.method == "elicitation/create" {
		r.sendNo(`{"action":"cancel"}`)
		return
	}
	r.sendNo(`{"outcome":{"outcome":"cancelled"}}`)
}

func (r *simRequest) declines() {
	r.note("declines")
	r.sendNo(`{"action":"decline"}`)
}

// breaks replies with something that makes no sense.
func (r *simRequest) breaks() {
	reply := []string{"", `{"outcome":{"outcome":"selected","optionId":"nobody offered this"}}`, `{}`, `{"action":"accept","content":{"other":1}}`}[r.sim.rng.IntN(4)]
	r.note("replies %s", reply)
	r.session.broken = true
	r.send(reply)
}

// sendNo sends a reply that ends more than the request.
func (r *simRequest) sendNo(reply string) {
	r.session.excuse()
	r.sendThen(reply, r.session.excuse)
}

func (r *simRequest) send(reply string) { r.sendThen(reply, nil) }

// sendThen sends a reply, now and then twice.
func (r *simRequest) sendThen(reply string, arrives func()) {
	r.sim.forget(r)
	line := `{"jsonrpc":"2.0","id":` + r.id + `,"result":` + reply + `}`
	if reply == "" {
		line = `{"jsonrpc":"2.0","id":` + r.id + `,"error":{"code":-32603,"message":"the editor is broken"}}`
	}
	r.sim.toFront.send(line, arrives)
	if r.sim.rng.IntN(16) == 0 {
		r.note("replies twice")
		r.sim.toFront.send(line, nil)
	}
}

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
	r.note("picks %s, it counts %v", pick, r.counts())
	if pick != "__other__" && pick != "__done__" && r.counts() {
		r.session.give(r.text, pick)
	}
	if pick == "__other__" && !strings.HasPrefix(r.text, "permission") && r.counts() {
		r.session.give(r.text, "Other") // where the editor has no way for words
	}
	if pick == "Decline" { // of a form
		r.session.excuse()
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
		if r.counts() {
			r.session.give(text, v)
		}
		content[key.Str] = v
		if field.Get("type").Str == "array" {
			content[key.Str] = []string{v}
		}
		return true
	})
	raw, _ := json.Marshal(map[string]any{"action": "accept", "content": content})
	r.note("accepts %s, it counts %v", raw, r.counts())
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
	o.waits, o.died = false, false
	o.sim.toFront.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"`+o.id+`"}}`, o.excuse)
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
	o.says(d.question, d.text)
	o.prompt(d.text)
}

// says notes words that are meant for a question. A number means one of its options.
func (o *simSession) says(question, text string) {
	o.give(question, text)
	if len(text) == 1 {
		label := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(question, "question "), "?"), "field ")
		o.give(question, label+"-"+string(rune('A'+text[0]-'1')))
	}
}

// crosses notes that a prompt is at the front that met questions on its way: the
// user had read so many when it was sent. Nothing tells the front which of them
// was first.
func (o *simSession) crosses(text string, read int) {
	if len(o.agent.asked) > 0 && o.sim.slow {
		o.excuse() // it may take the place of what is asked
	}
	for _, q := range o.read[read:] {
		o.says(q, text)
	}
	for _, line := range o.sim.toEditor.onWay {
		m := gjson.ParseBytes(line.line)
		if q := nameOf(m.Get("params.update.content.text").Str); q != "" && m.Get("params.sessionId").Str == o.id {
			o.says(q, text)
		}
	}
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
	declines := text == "cancel" || text == "3" && strings.HasPrefix(o.seen, "field") // its last option
	if len(o.agent.asked) > 0 && (!o.waits || o.sim.slow || declines) {
		o.excuse() // it may take the place of what is asked
	}
	if o.waits && text == "do something" { // whatever is said now is said to it
		o.give(o.seen, text)
	}
	o.running = append(o.running, p)
	o.waits = false
	read := len(o.read)
	params, _ := json.Marshal(map[string]any{
		"sessionId": o.id, "prompt": []any{map[string]any{"type": "text", "text": text}}, "_meta": map[string]int{"n": p.n},
	})
	o.sim.prompts[o.sim.request("session/prompt", string(params), func() { o.crosses(text, read) })] = p
}

// seesEnd is how the user of a slow connection learns that words that were sent
// before a question was there have been taken for its answer.
func (o *simSession) seesEnd(toolCall string) {
	id, _, _ := strings.Cut(toolCall, ":")
	of := func(question string) bool {
		return strings.HasPrefix(question, "question "+id+".") || question == "field "+id
	}
	if !o.sim.slow {
		return
	}
	if of(o.seen) {
		o.waits = false
	}
	if o.draft != nil && of(o.draft.question) {
		o.draft = nil
	}
}

// received is all that the editor learns.
func (s *sim) received(line []byte) {
	m := gjson.ParseBytes(line)
	switch method := m.Get("method").Str; {
	case method == "$/cancel_request":
		s.takenBack(m.Get("params.requestId").Raw)
	case method == seen.Method:
		s.toFront.send(`{"jsonrpc":"2.0","id":`+m.Get("id").Raw+`,"error":{"code":-32601,"message":"Method not found"}}`, nil)
	case method != "" && m.Get("id").Exists():
		s.shows(m)
	case m.Get("params.update.sessionUpdate").Str == "agent_message_chunk":
		s.session(m.Get("params.sessionId").Str).reads(m.Get("params.update.content.text").Str)
	case m.Get("params.update.sessionUpdate").Str == "tool_call_update":
		if status := m.Get("params.update.status").Str; status == "completed" || status == "failed" {
			s.session(m.Get("params.sessionId").Str).seesEnd(m.Get("params.update.toolCallId").Str)
		}
	case method == "":
		if p := s.prompts[m.Get("id").Raw]; p != nil {
			delete(s.prompts, m.Get("id").Raw)
			p.session.ended(p, m)
		} else if m.Get("error").Exists() {
			s.wrong("a request failed: %s", line)
		}
	}
}

func (o *simSession) ended(p *simPrompt, m gjson.Result) {
	o.sim.note("%s: prompt %d ends: %s%s", o.id, p.n, m.Get("result").Raw, m.Get("error").Raw)
	if len(o.running) == 0 || o.running[0] != p && !o.sim.proxied {
		o.sim.wrong("%s: prompt %d ended before one that came earlier", o.id, p.n)
	}
	o.running = slices.DeleteFunc(o.running, func(r *simPrompt) bool { return r == p })
	if call := m.Get("result._meta.acp-bridge.waitingFor"); call.Exists() {
		id, _, _ := strings.Cut(call.Str, ":")
		if !strings.Contains(o.seen+"?", id+".") && !strings.HasSuffix(o.seen, id) || !o.waits && !o.sim.slow {
			o.sim.wrong("%s: prompt %d ended for %s, which is not in the conversation", o.id, p.n, id)
		}
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
		if o.sim.serial%5 == 0 {
			acts = append(acts, act{1, func() { o.phoneCancels(e) }})
		}
	}
	return acts
}

func (o *simSession) phoneAnswers(e desk.Entry) {
	answers := make([]convert.Answer, len(e.Call.Questions))
	for i, q := range e.Call.Questions {
		label := q.Options[o.sim.rng.IntN(min(2, len(q.Options)))].Label
		o.give(nameOf(q.Text), label)
		o.give("field "+strings.Split(label, "-")[0], label) // its text may not say so
		answers[i].Selected = []string{label}
	}
	o.sim.note("%s: phone answers %s with %v", o.id, e.Call.ID, answers)
	if err := o.sim.desk.Answer(e.Name, answers, "phone"); err != nil {
		o.sim.wrong("the phone's answer was not taken: %v", err)
	}
}

func (o *simSession) phoneCancels(e desk.Entry) {
	o.sim.note("%s: phone cancels %s", o.id, e.Call.ID)
	o.excuse()
	if err := o.sim.desk.Cancel(e.Name, "phone"); err != nil {
		o.sim.wrong("the phone's cancel was not taken: %v", err)
	}
}
