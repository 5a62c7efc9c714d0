//go:build unix

package soak_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// soakSession is a session of a life, and its user.
type soakSession struct {
	*life
	id       string
	rng      *rand.Rand
	requests chan *acptest.Request
	turns    []*soakTurn
	played   int
	finished bool // all turns were played, and the session still answers
	history  []string
}

// play sends the prompts one after the other until the user is done.
func (s *soakSession) play() {
	s.says("hello") // from here on there is something to resume
	for _, turn := range s.turns {
		if s.left.Load() {
			return
		}
		s.played++
		s.run(turn)
		switch turn.fate {
		case "left":
			return
		case "killed":
			s.mourns(2 * time.Second)
		}
	}
	s.says("more;")
	s.finished = !s.left.Load()
}

func (s *soakSession) note(format string, args ...any) {
	s.history = append(s.history, fmt.Sprintf(format, args...))
}

// says sends an ordinary prompt, which must work.
func (s *soakSession) says(text string) {
	turn := s.e.Prompt(s.id, text)
	<-turn.Done
	if !s.left.Load() {
		require.NoError(s, turn.Err, "the next prompt works\n%s", strings.Join(s.history, "\n"))
		require.Equal(s, "end_turn", turn.Resp.Get("stopReason").Str, strings.Join(s.history, "\n"))
		require.False(s, turn.Resp.Get("_meta.acp-bridge").Exists(), strings.Join(s.history, "\n"))
	}
}

// mourns sends prompts until the death of the CLI was seen: before that they
// may fail with it, or be taken for answers that go nowhere. A CLI that was idle
// when it froze, or became deaf, swallows one: then the user stops it, after a
// time.
func (s *soakSession) mourns(wait time.Duration) *acptest.Turn {
	for {
		turn := s.e.Prompt(s.id, "more;")
		select {
		case <-turn.Done:
		case <-time.After(wait):
			s.stop()
			<-turn.Done
		}
		if turn.Resp.Get("_meta.acp-bridge.waitingFor").Exists() {
			continue
		}
		return turn
	}
}

// run sends a prompt and acts until its turn is over.
func (s *soakSession) run(turn *soakTurn) {
	s.note("prompt %s", turn.key)
	running := s.e.Prompt(s.id, turn.key+";")
	if s.rng.IntN(30) == 0 {
		turn.meets("cancelled")
		s.stop()
	}
	for {
		select {
		case r := <-s.requests:
			select {
			case <-r.Withdrawn:
				continue
			default:
			}
			if next := s.acts(turn, r); next != nil {
				<-running.Done
				running = next
			}
		case <-running.Done:
			if s.left.Load() {
				turn.meets("left")
				return
			}
			waiting := running.Resp.Get("_meta.acp-bridge.waitingFor").Str
			if waiting == "" {
				s.over(turn, running)
				return
			}
			if running = s.words(turn, waiting); running == nil {
				return
			}
		case <-time.After(acptest.Patience):
			require.Fail(s, "nothing happens", strings.Join(s.history, "\n"))
		}
	}
}

// over checks how the last prompt of a turn ended.
func (s *soakSession) over(turn *soakTurn, last *acptest.Turn) {
	reason := last.Resp.Get("stopReason").Str
	s.note("ended: %s %v", reason, last.Err)
	about := strings.Join(s.history, "\n")
	switch turn.fate {
	case "killed":
		if last.Err != nil {
			require.ErrorContains(s, last.Err, "Claude Code", about)
		}
	case "cancelled":
		require.NoError(s, last.Err, about)
		require.Contains(s, []string{"cancelled", "end_turn"}, reason, about)
	default:
		require.NoError(s, last.Err, about)
		require.Equal(s, "end_turn", reason, about)
	}
}

func (s *soakSession) stop() {
	s.note("stop")
	_ = s.e.Conn.Notify(s.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(s.id)})
}

// act draws what the user does. Mostly they answer.
func (s *soakSession) act() string {
	act := "answer"
	switch n := s.rng.IntN(200); {
	case n < 4:
		act = "dismiss"
	case n < 8:
		act = "decline"
	case n < 12:
		act = "stop"
	case n < 15:
		act = "prompt"
	case n < 18:
		act = "kill"
	case n < 19:
		act = "leave"
	case n < 24:
		act = "nonsense"
	case n < 27:
		act = "answer and stop"
	case n < 30:
		act = "answer and kill"
	case n < 32:
		act = "mute"
	case n < 33:
		act = "deaf"
	case n < 34:
		act = "frozen and stop"
	case n < 37:
		act = "broken reply"
	case n < 46:
		act = "withdraw"
	case n < 51:
		act = "answer and withdraw"
	}
	s.note("%s", act)
	return act
}

// acts does something about an open request. It returns the prompt that the
// user sends instead of an answer, if they do.
func (s *soakSession) acts(turn *soakTurn, r *acptest.Request) *acptest.Turn {
	s.note("%s %s", r.Method, r.Get("toolCall.toolCallId").Str)
	form := r.Method == acp.ClientMethodElicitationCreate
	call, n := turn.find(r)
	turn.passes(call)
	s.disturb()
	act := s.act()
	switch {
	case act == "dismiss" && form:
		turn.meets("cancelled")
		r.Answer <- object{"action": "cancel"}
	case act == "dismiss":
		turn.meets("cancelled")
		r.Cancels()
	case act == "decline" && form:
		call.declined = true
		r.Answer <- object{"action": "decline"}
	case act == "stop":
		turn.meets("cancelled")
		s.stop()
	case act == "prompt" && call != nil:
		turn.meets("cancelled")
		return s.e.Prompt(s.id, "more;")
	case act == "kill":
		turn.meets("killed")
		s.kills()
	case act == "mute":
		turn.meets("killed")
		s.mute()
	case act == "deaf", act == "frozen and stop":
		turn.meets("killed")
		s.unheard(act)
		if call != nil && s.rng.IntN(2) == 0 {
			r.Selects("never to arrive")
		}
		s.stop()
	case act == "leave":
		turn.meets("left")
		s.leaves()
	case act == "withdraw" && call != nil:
		s.withdraws(call)
		s.until(r.Withdrawn)
		if s.rng.IntN(2) == 0 {
			r.Selects("too late")
		}
	case act == "broken reply" && call != nil && r.Get("options.0.optionId").Str != "__done__":
		s.hit("broken reply")
		s.send(served.Half(s.wireID()) + "\n") // and the question goes to the next rung
		r.Selects("never given")
	case call == nil:
		r.Selects([]string{"allow", "reject"}[s.rng.IntN(2)])
	case act == "nonsense" && form:
		r.Answer <- object{"action": "accept", "content": object{"question_0": "never offered"}}
	case act == "nonsense" && r.Get("options.0.optionId").Str != "__done__":
		s.nonsense(r)
	default:
		if form {
			r.Answer <- object{"action": "accept", "content": s.fills(call)}
		} else {
			s.picks(call, n, r)
		}
		switch act {
		case "answer and withdraw":
			s.withdraws(call)
		case "answer and stop":
			turn.meets("cancelled")
			s.stop()
		case "answer and kill":
			turn.meets("killed")
			s.kills()
		}
	}
	return nil
}

// withdraws has the CLI take a call back.
func (s *soakSession) withdraws(c *soakCall) {
	s.hit("withdrawn")
	c.withdrawn = true
	s.cli.Release(c.release())
}

// until waits for an event, or the end of the life.
func (s *soakSession) until(event <-chan struct{}) {
	require.Eventually(s, func() bool {
		select {
		case <-event:
			return true
		default:
			return s.left.Load()
		}
	}, acptest.Patience, 2*time.Millisecond, "what the agent withdrew stays\n%s", strings.Join(s.history, "\n"))
}

// nonsense is a reply to a permission request that is none.
func (s *soakSession) nonsense(r *acptest.Request) {
	switch s.rng.IntN(4) {
	case 0:
		r.Selects("never offered")
	case 1:
		r.Answer <- acp.NewMethodNotFound(r.Method)
	case 2:
		r.Answer <- object{}
	default:
		r.Selects("__other__") // and the words are asked for in the conversation
	}
}

// find returns the call and the question that a request is about, or none.
func (t *soakTurn) find(r *acptest.Request) (*soakCall, int) {
	for _, c := range t.calls {
		for i := range c.questions {
			if strings.Contains(r.Raw, fmt.Sprintf("What is %s-%d?", c.id, i)) {
				return c, i
			}
		}
	}
	return nil, 0
}

// withdrawn reports whether the CLI was told to take a call back.
func (t *soakTurn) withdrawn(id string) bool {
	return slices.ContainsFunc(t.calls, func(c *soakCall) bool { return c.id == id && c.withdrawn })
}

// wish is what the user wants to say to a question: picks, words, or, if it is
// empty, to dismiss it.
type wish struct {
	picks []string
	text  string
}

// wish draws what the user says to a question, and notes it.
func (s *soakSession) wish(c *soakCall, n int, both bool) wish {
	var w wish
	name := fmt.Sprintf("%s-%d", c.id, n)
	multi := c.questions[n]["multiSelect"].(bool)
	for _, label := range []string{name + "-A", name + "-B", name + "-C"} {
		if (multi || len(w.picks) == 0) && s.rng.IntN(2) == 0 {
			w.picks = append(w.picks, label)
		}
	}
	if len(w.picks) == 0 || multi && both && s.rng.IntN(3) == 0 {
		w.text = fmt.Sprintf("words %d", s.rng.Uint32())
	}
	said := w.picks
	if w.text != "" {
		said = append(said[:len(said):len(said)], w.text)
	}
	delete(c.notes, "What is "+name+"?")
	c.given["What is "+name+"?"] = strings.Join(said, ", ")
	return w
}

// fills in a form; what is left empty is not given.
func (s *soakSession) fills(c *soakCall) object {
	content := object{}
	for i, q := range c.questions {
		if i > 0 && s.rng.IntN(5) == 0 {
			continue
		}
		w := s.wish(c, i, true)
		switch key := "question_" + strconv.Itoa(i); {
		case q["multiSelect"].(bool):
			content[key] = append([]string{}, w.picks...)
		case len(w.picks) > 0:
			content[key] = w.picks[0]
		}
		if w.text != "" {
			content[fmt.Sprintf("question_%d_custom", i)] = w.text
		}
	}
	return content
}

// picks answers a permission request: one option, the next one of several, all
// in one go, or the user's own words.
func (s *soakSession) picks(c *soakCall, n int, r *acptest.Request) {
	if r.Get("options.0.optionId").Str == "__done__" { // a round: the picks so far are given
		key := fmt.Sprintf("What is %s-%d?", c.id, n)
		switch left := r.Get("options").Array(); {
		case len(left) > 2 && s.rng.IntN(2) == 0:
			id := left[1].Get("optionId").Str
			c.given[key] = inOrder(c.given[key], id)
			r.Selects(id)
		case s.rng.IntN(3) == 0:
			c.given[key] += ", my words"
			r.Types("my words")
		default:
			r.Selects("__done__")
		}
		return
	}
	w := s.wish(c, n, true)
	multi := c.questions[n]["multiSelect"].(bool)
	switch {
	case len(w.picks) == 0:
		r.Types(w.text)
	case !multi && s.rng.IntN(3) == 0:
		note := fmt.Sprintf("note %d", s.rng.Uint32())
		c.notes[fmt.Sprintf("What is %s-%d?", c.id, n)] = note
		r.Reply(object{"outcome": "selected", "optionId": w.picks[0], "_meta": object{"notes": note}})
	case !multi:
		r.Selects(w.picks[0])
	case w.text != "" || s.rng.IntN(2) == 0:
		meta := object{"selectedOptionIds": w.picks}
		if w.text != "" {
			meta["customText"] = w.text
		}
		r.Reply(object{"outcome": "selected", "optionId": w.picks[0], "_meta": meta})
	default:
		c.given[fmt.Sprintf("What is %s-%d?", c.id, n)] = w.picks[0]
		r.Selects(w.picks[0])
	}
}

// inOrder adds a label to those picked before, in the order of the options.
func inOrder(picked, label string) string {
	before, after := []string{}, []string{}
	for p := range strings.SplitSeq(picked, ", ") {
		if p < label {
			before = append(before, p)
		} else {
			after = append(after, p)
		}
	}
	return strings.Join(append(append(before, label), after...), ", ")
}

// words does something about a question in the conversation. It returns the
// prompt that answers it; nil if the turn is over.
func (s *soakSession) words(turn *soakTurn, waiting string) *acptest.Turn {
	s.note("waiting for %s", waiting)
	call, n := turn.find(&acptest.Request{Result: gjson.Result{Raw: s.lastQuestion()}})
	require.NotNil(s, call, "%s: the last question in the conversation is %q", waiting, s.lastQuestion())
	id, position, _ := strings.Cut(waiting, ":")
	at, _ := strconv.Atoi(position)
	if !turn.withdrawn(id) { // else the next one may be there by now
		require.Equal(s, fmt.Sprint(id, max(at-1, 0)), fmt.Sprint(call.id, n), "the question that waits is not the last one in the conversation")
	}
	turn.passes(call)
	s.disturb()
	act := s.act()
	if act == "withdraw" && (call.withdrawn || turn.fate != "") {
		act = "answer" // which may be one: it is not known whether the question is gone
	}
	if call.withdrawn && call != turn.calls[len(turn.calls)-1] {
		turn.meets("cancelled") // words may take the place of the question that is just being written
	}
	switch act {
	case "withdraw":
		gone := strings.Count(s.e.Said(s.id), "It needs no answer")
		s.withdraws(call)
		require.Eventually(s, func() bool {
			return s.left.Load() || strings.Count(s.e.Said(s.id), "It needs no answer") > gone
		}, acptest.Patience, 2*time.Millisecond, "nobody says that the question is gone\n%s", strings.Join(s.history, "\n"))
		// The user has not noticed, or has: either is no answer to another question,
		// but may take the place of one that is just being written.
		if call != turn.calls[len(turn.calls)-1] {
			turn.meets("cancelled")
		}
		return s.e.Prompt(s.id, []string{"1", "more;"}[s.rng.IntN(2)])
	case "dismiss":
		turn.meets("cancelled")
		return s.e.Prompt(s.id, "Cancel")
	case "stop":
		turn.meets("cancelled")
		s.stop()
		return nil
	case "nonsense":
		return s.e.Prompt(s.id, " ")
	case "leave":
		turn.meets("left")
		s.leaves()
		return nil
	case "mute":
		turn.meets("killed")
		s.mute()
		s.buried(waiting)
		return nil
	case "deaf", "frozen and stop":
		turn.meets("killed")
		s.unheard(act)
		s.stop()
		return nil
	case "kill":
		open := turn.fate == "" && !call.withdrawn
		turn.meets("killed")
		s.kills()
		if dead := s.mourns(acptest.Patience); open && !s.left.Load() {
			require.ErrorContains(s, dead.Err, "Claude Code", strings.Join(s.history, "\n"))
		}
		return nil
	default:
		w := s.wish(call, n, false)
		text := w.text
		if text == "" {
			text = s.list(w.picks)
		}
		running := s.e.Prompt(s.id, text)
		switch act {
		case "answer and stop":
			turn.meets("cancelled")
			s.stop()
		case "answer and kill":
			turn.meets("killed")
			s.kills()
		}
		return running
	}
}

// lastQuestion is what the user has read last in the conversation that is a
// question.
func (s *soakSession) lastQuestion() string {
	all := questionText.FindAllString(s.e.Said(s.id), -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

var questionText = regexp.MustCompile(`What is \S+\?`)

// list writes picks as numbers, or one of them as its label: behind Other nothing
// has a number.
func (s *soakSession) list(picks []string) string {
	said := s.e.Said(s.id)
	behindOther := strings.Contains(said[strings.LastIndex(said, s.lastQuestion()):], "Type your answer, or one of these: ")
	if len(picks) == 1 && (s.rng.IntN(2) == 0 || behindOther) {
		return strings.ToLower(picks[0])
	}
	numbers := make([]string, len(picks))
	for i, p := range picks {
		numbers[i] = strconv.Itoa(int(p[len(p)-1]-'A') + 1)
	}
	return strings.Join(numbers, ",")
}
