package proxy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/about"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// session is what is known of a conversation: what its state's keys stand for, and
// what the agent shows in it.
type session struct {
	id string
	// within is the session that this one, a sub-agent's, works for. Nobody can
	// type in it.
	within string
	// dir is where the agent works.
	dir string
	// tools are the tool calls that the agent has shown and not ended.
	tools map[string]bool
	// inputs are those of tool calls that ask something, and have not done so.
	inputs map[string]json.RawMessage
	// shapes are what else it shows of its tool calls.
	shapes *about.Shapes
	// drawn are those of its tool calls that ask the user.
	drawn drawn
	// subAgents are the tool calls in which a sub-agent works for the agent.
	subAgents map[string]bool
	// noWordsTold is set when the user knows that the agent takes no own words.
	noWordsTold bool
	// closed is set when the agent has closed the session.
	closed bool
	// opening is closed when the editor has opened the session anew: what was asked
	// before, up to the key shownBefore, is shown again then.
	opening     <-chan struct{}
	shownBefore int

	typed   typed.Reader // reads the editor's prompts
	state   machine.Driven
	prompts map[int]*prompt
	// holding keeps back what the agent says while no prompt runs, unseen says that it is
	// for an editor that would not show it.
	holding, unseen bool
	held            []byte
}

// maxTools bounds what is remembered of an agent that ends none of its tool
// calls.
const maxTools = 10_000

// session returns the session with this id.
func (p *proxy) session(id string) *session {
	s := p.sessions[id]
	if s == nil {
		s = &session{
			id: id, tools: map[string]bool{}, inputs: map[string]json.RawMessage{}, shapes: about.NewShapes(), subAgents: map[string]bool{}, drawn: newDrawn(),
			state: machine.Drive(machine.NewRelayed()), prompts: map[int]*prompt{},
		}
		s.state.PromptsOnly = p.known.PromptsOnly
		p.sessions[id] = s
	}
	return s
}

var toolCallWord, subAgentWord, messageWord = []byte(`"tool_call`), []byte(`"subagent_update"`), []byte(`"agent_message_chunk"`)

// update keeps track of tool calls and sub-agents. Nearly all updates are something
// else. It returns the line for the editor; nil is none.
func (p *proxy) update(line []byte) []byte {
	if p.opts.Desk != nil && bytes.Contains(line, messageWord) {
		p.about.say(line)
	}
	if !bytes.Contains(line, toolCallWord) && !bytes.Contains(line, subAgentWord) {
		return line
	}
	params := gjson.GetBytes(line, "params")
	update := params.Get("update")
	kind := update.Get("sessionUpdate").Str
	session, id := params.Get("sessionId").Str, update.Get("toolCallId").Str
	if kind == "subagent_update" {
		if part := update.Get("sessionId").Str; part != "" && p.typedIn(session) != part {
			p.session(part).within = session
			p.release(p.session(part)) // nobody sends it a prompt
		}
		return line
	}
	if kind != "tool_call" && kind != "tool_call_update" || session == "" {
		return line
	}
	status, input := update.Get("status").Str, update.Get("rawInput")
	p.tools.saw(p.profile, session, update)
	p.track(session, id, status, input, update.Get(parentMeta).Str != "")
	p.shaped(session, update)
	p.asksAside(session, id, status, input)
	return p.redraw(line, p.session(session), update)
}

// typedIn is the session in which a person types who is asked in this one.
func (p *proxy) typedIn(session string) string {
	for s := p.sessions[session]; s != nil && s.within != ""; s = p.sessions[session] {
		session = s.within
	}
	return session
}

// track remembers a tool call for as long as it runs.
func (p *proxy) track(session, id, status string, input gjson.Result, subAgent bool) {
	s := p.session(session)
	switch {
	case status == "completed" || status == "failed":
		if status == "failed" && s.inputs[id] != nil && p.profile.Until > 0 && p.side == nil && (p.tools.plugin == nil || !p.tools.plugin.used) && s.runs() {
			p.say(session, unseenRemark)
		}
		delete(s.tools, id)
		delete(s.inputs, id)
		delete(s.subAgents, id)
		p.noPermits("The agent went on without it", func(w *permit) bool { return w.session == session && w.tool == id })
		if q := p.open[asideID(session, id)]; q != nil { // nobody waits for the answer
			p.apply(q.in, machine.RequestWithdrawn{Key: q.Key}, nil)
		}
		return
	case len(s.tools) >= maxTools:
		return
	}
	s.tools[id] = true
	if subAgent {
		s.subAgents[id] = true
	}
	if input.Get("questions").Exists() {
		s.inputs[id] = json.RawMessage(input.Raw)
	}
}

// unseenRemark says what OpenCode 2 does with a question that it cannot show.
const unseenRemark = "\n\nThe agent has dismissed its own question: this version of it shows none to an editor. Answer it in your next message.\n\n"

// turnOver drops what belongs to the agent's turn, if it is over: the inputs of its
// tool calls, and what waits with a ticket of the question tool.
func (p *proxy) turnOver(s *session) {
	if !s.runs() {
		clear(s.inputs)
		s.drawn = newDrawn()
		p.noPermits("The agent's turn is over", func(w *permit) bool { return w.endsWithTurn && w.in == s })
		p.tools.endTurn(s.id)
	}
}

// runs reports whether the agent has a prompt.
func (s *session) runs() bool {
	for _, r := range s.prompts {
		if r.given {
			return true
		}
	}
	return false
}

// shows reports whether the editor knows a tool call from the agent.
func (p *proxy) shows(session, tool string) bool {
	s := p.sessions[session]
	return s != nil && s.tools[tool]
}

// input takes that of a tool call that asks something now, nil if it is not known.
func (p *proxy) input(session, tool string) (input json.RawMessage) {
	if s := p.sessions[session]; s != nil {
		input = s.inputs[tool]
		delete(s.inputs, tool)
	}
	return input
}

// subAgentIn reports whether a sub-agent works in a tool call. OpenCode 2 writes its
// session before the id.
func (p *proxy) subAgentIn(session, tool string) bool {
	s := p.sessions[session]
	return s != nil && (s.subAgents[tool] || p.profile.Until > 0 && strings.HasPrefix(tool, "ses_"))
}

// opensAnew takes note of an opening of a session that is there: what the editor
// shows in it may be shown no more, and what comes behind answers none of that.
func (p *proxy) opensAnew(id string, opened <-chan struct{}) {
	if s := p.sessions[p.typedIn(id)]; s != nil {
		s.opening, s.shownBefore = opened, s.state.NextKey()
		p.apply(s, machine.OpenedAnew{}, nil)
	}
}

// opens is closed when the editor has opened the session anew; nil if it does not
// open it.
func (s *session) opens() <-chan struct{} {
	select {
	case <-s.opening:
		s.opening = nil
	default:
	}
	return s.opening
}

// stopPart takes back what a sub-agent's session asks where a person types.
func (p *proxy) stopPart(s *session, why error) {
	if typed := p.sessions[p.typedIn(s.id)]; typed != nil && typed != s {
		p.apply(typed, machine.PartStopped{Why: why, Keys: typed.state.ShownIn(s.id)}, nil)
	}
}

// closed takes the agent's word that it has closed a session. Until then the
// agent may go on with it, and have its question tool.
func (p *proxy) closed(r *request) {
	for _, one := range r.ends {
		p.tools.remove(one.token)
	}
	if s := p.sessions[r.session]; s != nil {
		s.closed = true
		p.forget(s)
	}
}

// forget drops a session that is closed, when the agent has ended its prompts, and
// the editor does not open it anew.
func (p *proxy) forget(s *session) {
	if s.closed && s.opens() == nil && !s.runs() && p.sessions[s.id] == s {
		delete(p.sessions, s.id)
	}
}
