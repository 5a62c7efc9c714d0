package front_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// simAgent is the agent of the simulation. It does what the seed says.
type simAgent struct{ sim *sim }

func (a *simAgent) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *simAgent) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

func (a *simAgent) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	id := "s" + strconv.Itoa(len(a.sim.sessions)+1)
	c := &simConversation{sim: a.sim, up: true, numbers: map[string]int{}, begun: map[int]bool{}}
	c.person = &simSession{sim: a.sim, id: id, agent: c, given: map[string][]string{}}
	c.out = o.Session(id)
	a.sim.sessions = append(a.sim.sessions, c.person)
	return c, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
}

// simConversation is one conversation of the agent.
type simConversation struct {
	sim    *sim
	out    *editor.Session
	person *simSession
	steers bool

	up          bool     // its process runs
	inbox       []string // prompts that it has and has not begun with
	turn        []string // prompts of the turn that runs
	runs        bool
	interrupted bool
	excused     bool // the turn may be a cancelled one: nothing more is asked in it
	killed      bool
	numbers     map[string]int // the user's, of prompts by their ids
	begun       map[int]bool   // prompts that the model has seen
	busy        bool           // a call into the session is under way
	asked       []*simAsked    // in the order in which they were asked
}

// simAsked is a request of the agent that has no reply yet.
type simAsked struct {
	id        string
	questions []string
	withdrawn bool
	// excuse says that the user or the agent did something that may end it
	// without an answer.
	excuse bool
}

func (c *simConversation) Start(context.Context) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.up, c.killed, c.interrupted, c.steers = true, false, false, c.sim.serial%2 == 0
	return nil
}

func (c *simConversation) Read(r acp.PromptRequest) (any, error) {
	if len(r.Prompt) == 0 {
		return nil, nil
	}
	n, _ := r.Meta["n"].(float64)
	return int(n), nil
}

func (c *simConversation) Prompt(id string, content any) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	if !c.up {
		return editor.ErrGone
	}
	c.inbox = append(c.inbox, id)
	c.numbers[id] = content.(int)
	for _, p := range c.person.running {
		if p.n == content.(int) && p.unsent {
			c.sim.wrong("%s: prompt %d was meant for a question that died with the agent, and was sent", c.person.id, p.n)
		}
	}
	return nil
}

func (c *simConversation) Interrupt(context.Context, bool) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.interrupted = true
	return nil
}

func (c *simConversation) Kill() {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.killed = true
}

func (c *simConversation) Close(context.Context) error {
	if c.up {
		c.exit("closed")
	}
	return nil
}

func (c *simConversation) Request(context.Context, string, json.RawMessage) (any, error) {
	return struct{}{}, nil
}

// acts are what the agent can do now.
func (c *simConversation) acts() []act {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	switch {
	case c.busy:
		return nil
	case !c.up:
		return nil
	case c.killed:
		return []act{{20, func() { c.die("killed") }}}
	}
	acts := []act{{1, func() { c.die("broke") }}}
	switch {
	case !c.runs && len(c.inbox) > 0:
		acts = append(acts, act{30, c.begin}, act{1, c.giveBack})
	case !c.runs:
		acts = append(acts, act{2, c.begin})
	default:
		acts = append(acts, act{4, c.say}, act{6, c.end})
		if c.steers && len(c.inbox) > 0 {
			acts = append(acts, act{10, c.take}, act{3, c.giveBack})
		}
		if !c.interrupted {
			acts = append(acts, act{20, c.ask})
		} else {
			acts = append(acts, act{40, c.end})
		}
	}
	if len(c.asked) < 4 {
		acts = append(acts, act{2, c.ask}) // also between turns
	}
	for _, a := range c.asked {
		if !a.withdrawn {
			acts = append(acts, act{1, func() { c.withdraw(a) }})
		}
	}
	return acts
}

func (c *simConversation) note(format string, args ...any) {
	c.sim.note("%s: agent %s", c.person.id, fmt.Sprintf(format, args...))
}

func (c *simConversation) begin() {
	c.runs, c.turn = true, c.inbox
	c.inbox = nil
	for _, id := range c.turn {
		c.begun[c.numbers[id]] = true
	}
	c.note("begins with %d prompts, steers %v", len(c.turn), c.steers)
	c.out.Began(c.steers)
	if c.steers {
		for _, id := range c.turn {
			c.out.PromptBegun(id)
		}
	}
}

// take shows the model a prompt that came while it works.
func (c *simConversation) take() {
	id := c.inbox[0]
	c.inbox = c.inbox[1:]
	c.turn = append(c.turn, id)
	c.begun[c.numbers[id]] = true
	c.note("takes a prompt")
	c.out.PromptBegun(id)
}

// giveBack gives up a prompt that the model has not seen.
func (c *simConversation) giveBack() {
	id := c.inbox[0]
	c.inbox = c.inbox[1:]
	refused := error(nil)
	if c.sim.rng.IntN(3) == 0 {
		refused = errors.New("refused")
	}
	c.note("gives a prompt back, %v", refused)
	c.out.PromptBack(id, refused)
}

func (c *simConversation) say() {
	c.note("says something")
	c.apart(func() { c.out.Text(editor.MessageChunk, "word ") })
}

// apart calls the session on a goroutine, as a reader of its own.
func (c *simConversation) apart(do func()) {
	c.busy = true
	go func() {
		do()
		c.sim.mu.Lock()
		defer c.sim.mu.Unlock()
		c.busy = false
	}()
}

// end ends the turn. A question of its own that is open goes with it.
func (c *simConversation) end() {
	c.note("ends the turn")
	end := editor.TurnEnd{Prompts: c.turn, Reason: acp.StopReasonEndTurn, Own: len(c.turn) == 0}
	c.runs, c.turn, c.interrupted = false, nil, false
	c.excused = c.excused && len(c.inbox) > 0 // what waits was cancelled with it
	c.excuseAll()
	c.apart(func() { c.out.EndTurn(end, func(bool) {}) })
}

func (c *simConversation) die(why string) {
	c.note("dies: %s", why)
	c.excuseAll()
	c.apart(func() { c.exit(why) })
}

func (c *simConversation) exit(why string) {
	c.sim.mu.Lock()
	// Else the person may know less than the front. That the process behind an agent
	// died is nothing that a proxy could know.
	c.person.died = c.person.waits && !c.sim.slow && !c.sim.proxied
	c.up, c.runs, c.turn, c.inbox, c.interrupted, c.excused = false, false, nil, nil, false, false
	c.sim.mu.Unlock()
	c.out.Exited(errors.New(why), func(bool) {})
}

// excuseAll notes that what is asked may end without an answer.
func (c *simConversation) excuseAll() {
	for _, a := range c.asked {
		a.excuse = true
	}
}

// wantsToEnd is how a life ends: the agent does what is left to do.
func (c *simConversation) wantsToEnd() {
	switch {
	case c.busy || !c.up:
	case c.killed:
		c.die("killed")
	case !c.runs && len(c.inbox) > 0:
		c.begin()
	case c.runs && c.steers && len(c.inbox) > 0:
		c.take()
	case c.runs:
		c.end()
	}
}

func (c *simConversation) withdraw(a *simAsked) {
	c.note("withdraws %s", a.id)
	a.withdrawn = true
	c.forget(a)
	c.out.Withdraw(a.id)
}

// ask asks one or two questions, for a permission, or with a form.
func (c *simConversation) ask() {
	s := c.sim
	s.serial++
	// A prompt that was typed before takes the place of a question.
	a := &simAsked{id: "r" + strconv.Itoa(s.serial), excuse: c.excused || c.promptWaits()}
	c.asked = append(c.asked, a)
	apart := s.rng.IntN(3) == 0 && !s.proxied // which is told nothing of that
	switch s.rng.IntN(6) {
	case 0:
		c.note("asks permission %s, apart %v", a.id, apart)
		r := acp.RequestPermissionRequest{
			ToolCall: acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(a.id), Title: acp.Ptr("permission " + a.id)},
			Options: []acp.PermissionOption{
				{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
				{OptionId: "reject", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
			},
		}
		a.questions = []string{"permission " + a.id}
		c.out.AskPermission(a.id, apart, convert.SubAgent{}, r, func(resp acp.RequestPermissionResponse, err error) bool { c.leaveGiven(a, resp, err); return true })
	case 1:
		c.note("asks with the form %s", a.id)
		f, err := ask.ServerForm{Server: "srv", Message: "form " + a.id, Schema: json.RawMessage(
			`{"type":"object","properties":{"field":{"type":"string","title":"field ` + a.id + `","enum":["` + a.id + `-A","` + a.id + `-B"]}},"required":["field"]}`)}.Call()
		if err != nil {
			s.wrong("the form is wrong: %v", err)
			return
		}
		f.ID = a.id
		a.questions = []string{"field " + a.id}
		c.out.AskForm(a.id, f, func(raw json.RawMessage, o convert.Outcome) bool { c.formAnswered(a, raw, o); return true })
	default:
		c.askQuestions(a, apart)
	}
}

// promptWaits reports whether the user has said something that the model has not
// seen.
func (c *simConversation) promptWaits() bool {
	return slices.ContainsFunc(c.person.running, func(p *simPrompt) bool { return !c.begun[p.n] })
}

func (c *simConversation) askQuestions(a *simAsked, apart bool) {
	call := convert.Call{ID: a.id, Name: "AskUserQuestion"}
	for n := range 1 + c.sim.rng.IntN(2) {
		text := fmt.Sprintf("question %s.%d?", a.id, n)
		a.questions = append(a.questions, text)
		q := convert.Question{Text: text, MultiSelect: c.sim.rng.IntN(3) == 0}
		for _, l := range []string{"A", "B", "C"} {
			q.Options = append(q.Options, convert.Option{Label: fmt.Sprintf("%s.%d-%s", a.id, n, l)})
		}
		call.Questions = append(call.Questions, q)
	}
	c.note("asks %v, apart %v", a.questions, apart)
	c.out.AskQuestion(a.id, apart, call, func(o convert.Outcome) bool { c.answered(a, call, o); return true })
}

// answered holds an outcome against what people said.
func (c *simConversation) answered(a *simAsked, call convert.Call, o convert.Outcome) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	s := c.sim
	c.note("gets %v %v for %s", o.Status, o.Answers, a.id)
	c.settle(a)
	switch o.Status {
	case convert.Answered:
		s.answered++
		for i, q := range call.Questions {
			for _, said := range o.Answers[i].Items() {
				if !slices.Contains(c.person.given[q.Text], said) {
					s.wrong("%s got %q, nobody said that to it; said was %q", q.Text, said, c.person.given[q.Text])
				}
			}
		}
	case convert.Cancelled, convert.Declined:
		c.excused = c.excused || c.runs // the turn is cancelled with it
		if !a.excuse {
			s.wrong("%s was told as %v, nobody did that", a.id, o.Status)
		}
	default:
		if !a.excuse {
			s.wrong("%s was told as %v (%s), for no reason", a.id, o.Status, o.Reason)
		}
		if strings.Contains(o.Reason, session.ErrNotAsked.Error()) { // the turn makes way for a prompt
			c.excused = c.excused || c.runs
		}
	}
}

func (c *simConversation) leaveGiven(a *simAsked, resp acp.RequestPermissionResponse, err error) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.settle(a)
	if err != nil || resp.Outcome.Selected == nil {
		c.note("gets no permission for %s", a.id)
		if !a.excuse && !c.person.broken {
			c.sim.wrong("%s: a refusal is told, nobody said no: %v", a.questions[0], err)
		}
		c.excused = c.excused || c.runs // perhaps with its turn
		return
	}
	said := string(resp.Outcome.Selected.OptionId)
	c.note("gets %q for %s", said, a.id)
	if said != "allow" && said != "reject" { // the agent's business
		return
	}
	if !slices.Contains(c.person.given[a.questions[0]], said) {
		c.sim.wrong("%s: %q was not given", a.questions[0], said)
	}
}

func (c *simConversation) formAnswered(a *simAsked, raw json.RawMessage, o convert.Outcome) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.note("gets %s for %s", raw, a.id)
	c.settle(a)
	var reply struct {
		Action  string
		Content struct{ Field string }
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		c.sim.wrong("a reply to a form is no JSON: %s", raw)
	}
	if reply.Action != "accept" && !a.excuse && !c.person.broken {
		c.sim.wrong("%s is told as %s, nobody did that: %s", a.questions[0], reply.Action, o.Reason)
	}
	if reply.Action == "cancel" {
		c.excused = c.excused || c.runs // perhaps with its turn
	}
	if reply.Action == "accept" && !slices.Contains(c.person.given[a.questions[0]], reply.Content.Field) {
		c.sim.wrong("%s: %q was not given", a.questions[0], reply.Content.Field)
	}
}

// settle notes that the agent has its reply, which must come once.
func (c *simConversation) settle(a *simAsked) {
	switch {
	case a.withdrawn:
		c.sim.wrong("%s was withdrawn and got a reply", a.id)
	case !slices.Contains(c.asked, a):
		c.sim.wrong("%s got a second reply", a.id)
	}
	c.forget(a)
}

func (c *simConversation) forget(a *simAsked) {
	c.asked = slices.DeleteFunc(c.asked, func(o *simAsked) bool { return o == a })
}
