package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// A line is a prompt unless it is ours. Whoever types has a prompt to type at, whatever
// the line was; a script has none.
func TestLinesThatAreNoPrompts(t *testing.T) {
	about := Command{Name: "about", Run: func(args string) string { return "about " + args }}
	for _, c := range []struct {
		line, person, script string
		ends, over           bool
	}{
		{line: "", person: "> ", script: ""},
		{line: "/about us", person: "about us\n\n> ", script: "about us\n\n"},
		{line: "/help", person: helpLine + "\n\n> ", script: helpLine + "\n\n"},
		{line: "/quit", over: true},
		{line: " /exit ", over: true},
		{ends: true, person: "\n", over: true},
	} {
		for _, typed := range []bool{true, false} {
			var out strings.Builder
			p := &plain{o: &Options{Out: &out, Commands: []Command{about}}, in: &source{err: io.ErrUnexpectedEOF}, typed: typed, working: true}
			p.line(c.line, !c.ends)
			p.flush()
			want := c.script
			if typed {
				want = c.person
			}
			require.Equal(t, want, out.String(), "%q, typed: %v", c.line, typed)
			require.Equal(t, c.over, p.over, c.line)
			if c.ends {
				require.Equal(t, io.ErrUnexpectedEOF, p.err)
			} else {
				require.NoError(t, p.err)
			}
		}
	}
}

const helpLine = "Each line is a prompt. Ctrl+C cancels the turn, pressed twice it quits; so do /quit and the end of the input."

// Whoever chooses no session to go on with has cancelled: that is no failure of the agent.
func TestNoSessionIsChosen(t *testing.T) {
	p := &plain{o: &Options{}}
	p.event(opened{errNotChosen})
	require.True(t, p.over)
	require.Equal(t, ErrCancelled, p.err)
}

// A resolver whose answer does not fit has nothing else to say: the question is left,
// and not told as the user's no.
func TestAnAnswerOfAProgramThatDoesNotFit(t *testing.T) {
	var out strings.Builder
	a := newWaiting(t.Context(), &request{
		call: convert.Call{Questions: []convert.Question{{Text: "How many?"}}},
		reply: func(o convert.Outcome, _ int) (any, error) {
			if o.Status == convert.Answered {
				return nil, errors.New("expected a number")
			}
			return o.Status, nil
		},
	})
	l := &link{told: newTold("")}
	l.told.asked(a, gjson.Parse(`{}`))
	p := &plain{ctx: t.Context(), l: l, o: &Options{Out: &out, Resolver: adapter.Static{Answers: []convert.Answer{{Text: "many"}}}}}
	p.ask(a)
	require.Empty(t, a.said, "it is nobody's no")
	require.True(t, p.over)
	require.ErrorContains(t, p.err, "expected a number")
}

// What ends without the user is not told as their choice: the program's end leaves the
// question, and the agent gets an error where the user could not be asked.
func TestNobodysChoiceInLines(t *testing.T) {
	for name, c := range map[string]struct {
		outcome convert.Outcome
		ends    bool
		said    string
	}{
		"the program ends":                {convert.Outcome{Status: convert.Cancelled}, true, ""},
		"and says that it failed":         {convert.Outcome{Status: convert.Failed, Reason: "withdrawn: terminated"}, true, ""},
		"the user answers at that moment": {allows, true, "selected"},
		"nobody can be asked":             {convert.Outcome{Status: convert.Failed, Reason: "no terminal"}, false, "no terminal"},
		"the user cancels":                {convert.Outcome{Status: convert.Cancelled}, false, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			l := &link{told: newTold(""), box: proc.NewQueue[any]()}
			a := asksFor(t, l)
			p := &plain{ctx: ctx, l: l, o: &Options{Out: io.Discard}}
			p.o.Resolver = resolver(func(context.Context, convert.Call) (convert.Outcome, error) {
				if c.ends {
					end()
				}
				return c.outcome, nil
			})
			p.ask(a)
			require.Equal(t, c.said == "", p.over)
			if c.said == "" {
				require.Empty(t, a.said)
				return
			}
			reply, err := l.decide(a)
			require.Contains(t, fmt.Sprint(string(marshal(t, reply)), err), c.said)
			require.Equal(t, c.said == "no terminal", err != nil)
		})
	}
}

// asksFor is a request for permission of a tool call that the agent has shown.
func asksFor(t *testing.T, l *link) *waiting {
	const params = `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"List files"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"}]}`
	l.told.update("s", gjson.Parse(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","rawInput":{"command":"ls"}}`))
	r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, []byte(params)))
	a := newWaiting(t.Context(), r)
	l.told.asked(a, gjson.Parse(params))
	return a
}

// changes has the agent show something else.
func (l *link) changes() {
	l.told.update("s", gjson.Parse(`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":{"command":"rm"}}`))
}

// resolver is a function that answers.
type resolver func(context.Context, convert.Call) (convert.Outcome, error)

func (r resolver) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) { return r(ctx, c) }

// poster is a permission that was allowed; taken counts how often that was handed over.
type poster struct {
	resolver
	meanwhile func()
	taken     *int
}

func (p poster) Post(context.Context, convert.Call) adapter.Asking { return p }

func (p poster) Wait() (convert.Outcome, error) { p.meanwhile(); return allows, nil }

func (p poster) Deliver(use func() error) error {
	err := use()
	if err == nil {
		*p.taken++
	}
	return err
}

// What somebody elsewhere allowed is taken when the agent is told, not when the agent has
// taken its request back.
func TestAllowedIsTakenWhenTheAgentIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*link, *waiting)
		taken     int
	}{
		"told":       {func(*link, *waiting) {}, 1},
		"taken back": {func(_ *link, a *waiting) { a.cancel(nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &link{told: newTold(""), box: proc.NewQueue[any]()}
			a, taken := asksFor(t, l), 0
			approver := poster{resolver(func(context.Context, convert.Call) (convert.Outcome, error) {
				test.meanwhile(l, a)
				return allows, nil
			}), func() { test.meanwhile(l, a) }, &taken}
			p := &plain{ctx: t.Context(), l: l, o: &Options{Out: io.Discard, Resolver: approver.resolver, Approver: approver}}
			p.ask(a)
			require.Equal(t, test.taken, taken)
			require.Len(t, a.said, test.taken)
		})
	}
}

var allows = convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick("Allow")}}

// What is said to something that the agent has changed since is no answer, whether or not
// its asker has noticed. The user is asked again, with what it is now.
func TestAnAnswerToWhatHasChanged(t *testing.T) {
	for name, first := range map[string]func(context.Context) (convert.Outcome, error){
		"it came too late": func(context.Context) (convert.Outcome, error) { return allows, nil },
		"it was given up": func(ctx context.Context) (convert.Outcome, error) {
			<-ctx.Done()
			return convert.Outcome{Status: convert.Disconnected}, context.Cause(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &link{told: newTold("")}
			a := asksFor(t, l)
			var texts []string
			p := &plain{ctx: t.Context(), l: l, o: &Options{Out: io.Discard}}
			p.o.Resolver = resolver(func(ctx context.Context, c convert.Call) (convert.Outcome, error) {
				texts = append(texts, c.Questions[0].Text)
				if len(texts) > 1 {
					return allows, nil
				}
				l.changes()
				return first(ctx)
			})
			p.ask(a)
			require.Equal(t, []string{"List files\n$ ls", "List files\n$ rm"}, texts)
			require.Len(t, a.said, 1)
			require.Empty(t, p.err)
		})
	}
}

// What is answered elsewhere is told, also if that is so before it is asked here.
func TestAnsweredBeforeItIsAsked(t *testing.T) {
	l := &link{told: newTold("")}
	a := asksFor(t, l)
	a.there = allows
	a.cancel(errElsewhere)
	var out strings.Builder
	p := &plain{ctx: t.Context(), l: l, o: &Options{Out: &out}}
	p.event(asked{a})
	p.flush()
	require.Contains(t, out.String(), "Answered elsewhere: Allow")
}

// In the window, too: also if the key comes before the window has noticed.
func TestAKeyForWhatHasChanged(t *testing.T) {
	now := time.Now()
	l := &link{told: newTold("")}
	w := &window{o: &Options{}, l: l, now: func() time.Time { return now }, state: working, prompt: newPrompt(), height: 24}
	w.screen.Width = 80
	a := asksFor(t, l)
	w.event(asked{a})
	key := func(name string) {
		w.openPicker()
		w.picker.Drawn(now)
		now = now.Add(time.Minute)
		w.terminal(tty.Key{Name: name, At: now, Since: now})
	}
	l.changes()
	l.told.update("s", gjson.Parse(`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":{"command":"ls"}}`))
	w.openPicker()
	l.changes()
	key("1")
	require.Empty(t, a.said)
	w.openPicker()
	lines, _, _ := w.picker.View()
	require.Contains(t, strings.Join(lines, "\n"), "$ rm")
	key("1")
	require.Empty(t, a.said, "it has to be seen")
	key("enter")
	key("1")
	require.Len(t, a.said, 1)
}

// Who is first at the desk has answered, also if the user has said something since: what
// others were told stands, and the user is told.
func TestFirstAtTheDesk(t *testing.T) {
	for _, first := range []bool{true, false} {
		l := &link{told: newTold(""), desk: new(desk.Desk), box: proc.NewQueue[any]()}
		a := asksFor(t, l)
		answered := make(chan error, 1)
		l.desk.Watch(func(e desk.Entry) {
			switch {
			case e.State == desk.Settled:
			case first:
				err := l.desk.Answer(e.Name, allows.Answers, "Bob")
				answered <- errors.Join(err, a.answer(convert.Outcome{Status: convert.Cancelled}, -1))
			default:
				answered <- a.answer(convert.Outcome{Status: convert.Cancelled}, -1)
			}
		})
		reply := acptest.Must(l.decide(a))
		require.NoError(t, <-answered)
		out := string(marshal(t, reply))
		p := &plain{l: l, o: &Options{Out: io.Discard}}
		for _, v := range l.box.Take() {
			p.event(v)
		}
		if first {
			require.Contains(t, out, `"yes"`)
			require.Equal(t, "Answered elsewhere: Allow (that was first)", strings.Join(p.screen.Lines(), "\n"))
		} else {
			require.Contains(t, out, "cancelled")
			require.Empty(t, p.screen.Lines())
		}
	}
}

// What is answered elsewhere as the agent takes its request back reaches nobody: the user
// is told that the agent withdrew it, and whoever answered that it was not used.
func TestAnsweredElsewhereAndTakenBack(t *testing.T) {
	l := &link{told: newTold(""), desk: new(desk.Desk), box: proc.NewQueue[any]()}
	a := asksFor(t, l)
	var receipts []error
	received := make(chan struct{})
	l.desk.WatchReceipts(func(_ string, err error) { receipts = append(receipts, err); close(received) })
	l.desk.Watch(func(e desk.Entry) {
		if e.State != desk.Settled {
			a.cancel(nil)
			_ = l.desk.Answer(e.Name, allows.Answers, "Bob")
		}
	})
	reply, err := l.decide(a)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, reply)
	require.Empty(t, a.name)
	require.Contains(t, l.gone(a), "withdrew")
	<-received
	require.Equal(t, []error{errGivenUp}, receipts)
}

// What the user has said before the agent takes its request back is their answer, however
// the two are noticed: it is not told as withdrawn, at the desk neither.
func TestAnsweredHereAndTakenBack(t *testing.T) {
	for i := range 100 { // either may be noticed first
		l := &link{told: newTold(""), box: proc.NewQueue[any]()}
		var ends []desk.Settlement
		if i%2 == 1 { // there is a desk
			l.desk = new(desk.Desk)
			l.desk.Watch(func(e desk.Entry) {
				if e.State == desk.Settled {
					ends = append(ends, e.Settlement)
				}
			})
		}
		a := asksFor(t, l)
		require.NoError(t, a.answer(allows, 0))
		a.cancel(nil)
		require.Contains(t, string(marshal(t, acptest.Must(l.decide(a)))), `"yes"`)
		require.Empty(t, l.box.Take(), "nothing is told as withdrawn")
		if l.desk != nil {
			require.Len(t, ends, 1)
			require.Equal(t, convert.Answered, ends[0].Outcome.Status)
			require.Equal(t, "the terminal", ends[0].By)
		}
	}
}

// A question that the agent takes back because somebody has answered it behind the agent
// is not told as withdrawn.
func TestAnsweredBehindTheAgent(t *testing.T) {
	for outcome, words := range map[string]string{"answered": "Answered elsewhere by Ann: List files $ ls", "cancelled": "Dismissed elsewhere by Ann: List files $ ls"} {
		l := &link{told: newTold(""), box: proc.NewQueue[any]()}
		a := asksFor(t, l)
		a.cancel(life.Elsewhere{Outcome: outcome, By: "Ann"})
		require.Error(t, acptest.Err(l.decide(a)))
		require.Equal(t, words, l.gone(a))
		require.Empty(t, l.overruled(a))
		a.spoken = true
		require.Equal(t, words+" (that was first)", l.overruled(a))
		require.Equal(t, "It was "+outcome+" elsewhere by Ann", a.givenUp().Reason)
	}
}

// A permission that is open when its tool call has ended stays what it was, here, and is
// no card for others, whatever the agent shows under that id then.
func TestAPermissionThatOutlivesItsToolCall(t *testing.T) {
	l := &link{told: newTold("")}
	a := asksFor(t, l)
	before := l.told.described(a)
	require.True(t, before.elsewhere)
	for _, u := range []string{
		`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"Harmless"}`,
		`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Harmless"}`,
	} {
		l.told.update("s", gjson.Parse(u))
		now := l.told.described(a)
		require.False(t, now.elsewhere)
		require.True(t, now.sameHere(before))
	}
	require.ErrorIs(t, before.Check(allows.Answers), errAnother)
}

// What the agent has begun to say stands before what comes next: the words of a command,
// or the end.
func TestWhatWasBegunStandsBeforeWhatComesNext(t *testing.T) {
	said := gjson.Parse(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I begin"}}`)
	s := screen{}
	s.Update("s", said)
	s.shows("a command")
	require.Equal(t, []string{"I begin", "", "a command", ""}, s.Lines())
	w := &window{}
	w.screen.Update("s", said)
	w.leave(nil)
	require.Equal(t, "I begin", w.screen.Lines()[0])
}

// A key right behind the end of a question was meant for it, as long as hands need to
// rest; each such key begins that time anew.
func TestStrayKeys(t *testing.T) {
	end := time.Now()
	w := &window{withdrawn: end}
	at := func(d time.Duration) bool { return w.stray(tty.Key{At: end.Add(d)}) }
	require.True(t, at(seen.Hands-1))
	require.True(t, at(2*seen.Hands-2))
	require.False(t, at(3*seen.Hands-2))
	require.False(t, at(3*seen.Hands-1), "it was no stray one")
	w = &window{answered: end}
	enter := tty.Key{Name: "enter", At: end.Add(seen.Hands - 1)}
	require.True(t, w.stray(enter), "pressed twice for one answer")
	require.True(t, w.stray(enter))
	require.False(t, w.stray(tty.Key{Name: "x", At: enter.At}))
	require.False(t, w.stray(enter), "the user types on")
}

// What is asked when the window ends is dismissed by a user who ends it, and by nothing
// else: the agent must not take a hang-up for a no.
func TestOnlyTheUserDismisses(t *testing.T) {
	key := func(name string) func(*window) { return func(w *window) { w.terminal(tty.Key{Name: name}) } }
	for name, c := range map[string]struct {
		happens   func(*window)
		dismissed int
	}{
		"Ctrl+C twice":          {func(w *window) { w.state = cancelling; key("ctrl+c")(w) }, 2},
		"Ctrl+C as a signal":    {func(w *window) { w.terminal(tty.End{Typed: true, Reason: "interrupt"}) }, 2},
		"the process is ended":  {func(w *window) { w.terminal(tty.End{Told: true, Reason: "terminated"}) }, 0},
		"the terminal hangs up": {func(w *window) { w.terminal(tty.End{Gone: true, Reason: "hung up"}) }, 0},
		"the program ends":      {func(w *window) { w.terminal(tty.End{Reason: "canceled"}) }, 0},
		"the agent goes":        {func(w *window) { w.event(gone{}) }, 0},
		"the turn fails":        {func(w *window) { w.event(turned{err: io.ErrUnexpectedEOF}) }, 0},
		"the turn ends":         {func(w *window) { w.event(turned{reason: acp.StopReasonEndTurn}) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{o: &Options{Once: true}, l: &link{told: newTold("")}, now: time.Now, state: idle, running: 1, prompt: newPrompt()}
			w.screen.Width, w.height = 80, 24
			for range 2 {
				r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, []byte(`{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`)))
				a := newWaiting(t.Context(), r)
				w.l.told.asked(a, gjson.Parse(`{}`))
				w.asks = append(w.asks, a)
			}
			asks := w.asks
			w.openPicker()
			c.happens(w)
			require.True(t, w.over)
			dismissed := 0
			for _, a := range asks {
				dismissed += len(a.said)
			}
			require.Equal(t, c.dismissed, dismissed)
		})
	}
}

// A window that changes its size does so with a question in it, and without.
func TestWindowChangesItsSize(t *testing.T) {
	long := strings.Repeat("word ", 30)
	w := &window{}
	w.terminal(tty.Size{Width: 70, Height: 20})
	require.Equal(t, 70, w.screen.Width)
	w.picker = picker.New(convert.Call{Questions: []convert.Question{{Text: long, Options: []convert.Option{{Label: "A"}, {Label: "B"}}}}}, picker.Options{Width: 70, Height: 20})
	w.terminal(tty.Size{Width: 30, Height: 20})
	w.terminal(tty.Size{})
	require.Equal(t, 30, w.screen.Width, "no size is none")
	lines, _, _ := w.picker.View()
	for _, l := range lines {
		require.LessOrEqual(t, width(l), 30)
	}
}

// When a session was used last, for people.
func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.Local)
	ago := func(d time.Duration) *string { s := now.Add(-d).Format(time.RFC3339); return &s }
	odd := "yester\x1b[31mday"
	for want, at := range map[string]*string{
		"": nil, "yesterday": &odd, "just now": ago(59 * time.Second), "1 min ago": ago(time.Minute), "59 min ago": ago(time.Hour - time.Second),
		"1 h ago": ago(time.Hour), "23 h ago": ago(24*time.Hour - time.Second), "15 Nov 2026, 12:00": ago(24 * time.Hour),
	} {
		require.Equal(t, want, since(at, now))
	}
}

// A session is loaded, with what was said before, where somebody reads that; else it is
// resumed, where the agent can.
func TestHowASessionIsGoneOnWith(t *testing.T) {
	const load, resume = acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume
	for _, c := range []struct {
		load, resume, once bool
		want               string
	}{
		{true, true, false, load}, {true, true, true, resume}, {true, false, false, load}, {true, false, true, load},
		{false, true, false, resume}, {false, true, true, resume}, {false, false, false, ""},
	} {
		agentIn, toAgent := io.Pipe()
		fromAgent, agentOut := io.Pipe()
		asked := make(chan string, 1)
		agent := conn.New(agentIn, agentOut, methods(asked), nil)
		l := dial(fromAgent, toAgent, &Options{})
		caps := acp.AgentCapabilities{LoadSession: c.load}
		if c.resume {
			caps.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
		}
		err := l.resume(t.Context(), caps, &Options{Session: "s1", Once: c.once})
		if c.want == "" {
			require.EqualError(t, err, "the agent cannot continue a session")
		} else {
			require.NoError(t, err)
			require.Equal(t, c.want, <-asked, "%+v", c)
		}
		for _, e := range []io.Closer{toAgent, agentOut, agentIn, fromAgent} {
			e.Close()
		}
		agent.Close()
		l.conn.Close()
	}
}

// A prompt that comes in place of an answer is sent, also if the question arrives before
// the client knows that the session is open: the agent's reply and its question are read
// one behind the other, and the client hears of the two in any order. An agent that had the
// prompt before it asked does not take the question back: it goes when the turn is over.
func TestPromptInsteadOfWhatIsAskedFirst(t *testing.T) {
	for _, takenBack := range []bool{true, false} {
		agentIn, toAgent := io.Pipe()
		fromAgent, agentOut := io.Pipe()
		prompted := make(chan string, 1)
		agent := conn.New(agentIn, agentOut, methods(prompted), nil)
		l := dial(fromAgent, toAgent, &Options{})
		l.session = "s1"
		ctx, withdraw := context.WithCancel(t.Context())
		a := newWaiting(ctx, &request{call: convert.Call{Questions: []convert.Question{{Text: "Which?"}}}})
		l.told.asked(a, gjson.Parse(`{}`))
		p := &plain{ctx: t.Context(), l: l, o: &Options{Out: io.Discard, Prompt: "the second", Once: true, Instead: true}}
		p.o.Resolver = resolver(func(ctx context.Context, _ convert.Call) (convert.Outcome, error) {
			<-ctx.Done()
			return convert.Outcome{Status: convert.Disconnected}, ctx.Err()
		})
		go func() {
			require.Equal(t, acp.AgentMethodSessionPrompt, <-prompted)
			if takenBack {
				withdraw()
			}
		}()
		p.event(asked{a})
		p.event(opened{})
		require.ErrorIs(t, a.ctx.Err(), context.Canceled, "it was left open until the agent took it back, or its turn was over")
		require.Empty(t, a.said)
		require.False(t, p.over)
		withdraw()
		for _, e := range []io.Closer{toAgent, agentOut, agentIn, fromAgent} {
			e.Close()
		}
		agent.Close()
		l.conn.Close()
	}
}

// methods is an agent that answers everything with nothing.
type methods chan string

func (m methods) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	m <- method
	return struct{}{}, nil
}
func (m methods) Notify(context.Context, string, json.RawMessage) {}

// What the agent asks again may have its answer at a hub: the agent says so.
func TestAskedAgainAtTheDesk(t *testing.T) {
	l := &link{told: newTold(""), desk: new(desk.Desk), box: proc.NewQueue[any]()}
	for meta, again := range map[string]bool{"": false, `,"_meta":{"acp-bridge-again":true}`: true} {
		params := `{"sessionId":"s","message":"Go on?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}` + meta + `}`
		r := acptest.Must(parseRequest(acp.ClientMethodElicitationCreate, []byte(params)))
		a := newWaiting(t.Context(), r)
		l.told.asked(a, gjson.Parse(params))
		require.Equal(t, again, l.told.described(a).Again)
	}
}
