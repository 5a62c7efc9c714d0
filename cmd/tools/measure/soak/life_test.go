//go:build unix

package soak_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

type (
	steps  = []ct.Step
	object = map[string]any
)

// life is one editor, from its start to its end, with a few sessions.
type life struct {
	*lifetime
	serve    served.By
	rung     string
	e        *acptest.Editor
	wire     served.Wire // from it
	cli      *ct.CLI
	sessions []*soakSession
	left     atomic.Bool
	leaving  sync.Once
	log      acptest.Written

	mu     sync.Mutex
	asked  map[string][]int  // how many questions a call of the CLI had, each time it was put
	open   map[string]string // the last request of a session: its id on the wire
	faults map[string]int
}

// soakTurn is one prompt and what the agent asks on it.
type soakTurn struct {
	key   string // the prompt's text
	calls []*soakCall
	// fate is what the user did beside answering: cancelled, killed, left.
	fate string
}

// meets notes a fate. The worse one counts: what a dying CLI still did is of no
// importance.
func (t *soakTurn) meets(fate string) {
	if order := []string{"", "cancelled", "killed", "left"}; slices.Index(order, fate) > slices.Index(order, t.fate) {
		t.fate = fate
	}
}

// soakCall is a question call and what the user said to it.
type soakCall struct {
	id        string
	questions []map[string]any
	given     map[string]string // by question
	notes     map[string]string // beside picks
	declined  bool
	// withdrawn means that the CLI was told to take it back.
	withdrawn bool
	// passed is set when the next call was asked: this one's reply was sent.
	passed bool
}

var soakRungs = map[string]struct {
	first adapter.Rung
	caps  string
}{
	"form":       {0, `{"elicitation":{"form":{}}}`},
	"permission": {0, `{}`},
	"message":    {adapter.Conversation, `{}`},
}

// live runs a life and counts how its questions ended.
func live(t testing.TB, seed uint64, all *tally, serve served.By) {
	l := &life{lifetime: &lifetime{TB: t, seed: seed}, serve: serve, asked: map[string][]int{}, open: map[string]string{}, faults: map[string]int{}}
	defer l.end()
	defer func() {
		if t.Failed() {
			t.Logf("-soak.seed %d, the agent's log:\n%s", seed, l.log.String())
		}
	}()
	var done sync.WaitGroup
	done.Go(func() { l.begin(rand.New(rand.NewPCG(seed, 1))) })
	done.Wait()
	if t.Failed() {
		return
	}
	over := make(chan struct{})
	var routing sync.WaitGroup
	routing.Go(func() { l.route(over) })
	for _, s := range l.sessions {
		done.Go(s.play)
	}
	done.Wait()
	close(over)
	routing.Wait()
	done.Go(func() {
		l.leave()
		l.judge(all)
	})
	done.Wait()
}

// begin writes the script, starts the agent and opens the sessions.
func (l *life) begin(rng *rand.Rand) {
	l.rung = []string{"form", "permission", "message"}[rng.IntN(3)]
	guard := rng.IntN(4) == 0 // these users are fast: most of their first replies are distrusted
	script := ct.Script{Turns: []ct.Turn{{Match: "more;", Steps: steps{ct.Text("More.")}}}}
	for i := range 1 + rng.IntN(3) {
		s := &soakSession{life: l, rng: rand.New(rand.NewPCG(rng.Uint64(), 2)), requests: make(chan *acptest.Request, 100)}
		for j := range 3 + rng.IntN(5) {
			turn, plan := newSoakTurn(fmt.Sprintf("s%dt%d", i, j), rng)
			s.turns = append(s.turns, turn)
			script.Turns = append(script.Turns, ct.Turn{Match: turn.key + ";", Steps: plan})
		}
		l.sessions = append(l.sessions, s)
	}
	l.cli = ct.New(l, script)
	logger := slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l.e = l.serve.To(l, backend.Options{Claude: l.cli.Path, First: soakRungs[l.rung].first, Guard: guard, Logger: logger, CancelGrace: soakGrace, Trace: l.trace})
	l.e.Initialize(soakRungs[l.rung].caps)
	for _, s := range l.sessions {
		s.id = l.e.Open(l.TempDir())
	}
}

// soakGrace is short, because some CLIs have to be killed, and long enough for the others
// on a busy machine: of one that was only slow it is not known in which turn it asks.
const soakGrace = 10 * time.Second

// trace counts what the CLI asks, and notes the ids of requests to the editor.
func (l *life) trace(wire string, dir ndjson.Direction, text []byte) {
	switch {
	case wire != "editor" && dir == ndjson.In && bytes.Contains(text, []byte(`"can_use_tool"`)):
		if r := gjson.GetBytes(text, "request"); r.Get("tool_name").Str == "AskUserQuestion" {
			id := r.Get("tool_use_id").Str
			l.mu.Lock()
			l.asked[id] = append(l.asked[id], int(r.Get("input.questions.#").Int()))
			l.mu.Unlock()
		}
	case wire == "editor" && dir == ndjson.Out && bytes.Contains(text, []byte(`"method"`)):
		if m := gjson.ParseBytes(text); m.Get("id").Exists() {
			l.mu.Lock()
			l.open[m.Get("params.sessionId").Str] = m.Get("id").Raw
			l.mu.Unlock()
		}
	}
}

// newSoakTurn makes a turn, with labels that no other question has.
func newSoakTurn(key string, rng *rand.Rand) (*soakTurn, steps) {
	turn := &soakTurn{key: key}
	blocks := []ct.Block{ct.TextBlock("Let me see. ")}
	switch rng.IntN(8) {
	case 0:
		return turn, steps{ct.Burst(rng.IntN(200))}
	case 1:
		blocks = append(blocks, ct.AskTool("toolu_"+key+"x", "Bash", object{"command": "ls"}, "a b", nil))
	default:
		for c := range 1 + rng.IntN(5)/4 {
			call := &soakCall{id: fmt.Sprintf("toolu_%sc%d", key, c), given: map[string]string{}, notes: map[string]string{}}
			for q := range 1 + rng.IntN(3) {
				name := fmt.Sprintf("%s-%d", call.id, q)
				multi := rng.IntN(2) == 0
				call.questions = append(call.questions, ct.Q("What is "+name+"?", fmt.Sprintf("Q%d", q), multi, name+"-A", name+"-B", name+"-C"))
			}
			turn.calls = append(turn.calls, call)
			block := ct.Question(call.id, call.questions...)
			block.Ask.Withdraw = call.release()
			blocks = append(blocks, block)
		}
	}
	return turn, steps{ct.Message(blocks...), ct.Text("Noted.")}
}

// route gives each session its requests.
func (l *life) route(over <-chan struct{}) {
	for {
		select {
		case r := <-l.e.Requests:
			for _, s := range l.sessions {
				if strings.Contains(r.Raw, s.id) {
					s.requests <- r
				}
			}
		case <-over:
			return
		}
	}
}

func (l *life) leave() { l.leaveAfter(func() {}) }

// leaveAfter does something to the wire, and leaves.
func (l *life) leaveAfter(last func()) {
	l.leaving.Do(func() {
		l.left.Store(true)
		last()
		l.e.Leave()
	})
}

// judge compares what the agent got with what its user did.
func (l *life) judge(all *tally) {
	for _, start := range l.cli.Starts() {
		require.ErrorIs(l, syscall.Kill(start.Pid, 0), syscall.ESRCH, "a process is left: %s", served.Process(start.Pid))
	}
	l.repliesOnce()
	all.Lock()
	defer all.Unlock()
	all.lives++
	for fault, n := range l.faults {
		all.faults[fault] += n
	}
	for id, times := range l.asked {
		require.Len(l, times, 1, "%s was asked more than once", id)
		all.calls++
		all.asked += times[0]
	}
	for _, s := range l.sessions {
		for _, turn := range s.turns[:s.played] {
			all.turns++
			for _, call := range turn.calls {
				if l.asked[call.id] == nil {
					require.Empty(l, call.given, "%s: an answer to what was not asked", call.id)
					continue
				}
				questions, end := len(call.questions), l.ending(s, turn, call)
				all.rungs[l.rung] += questions
				if end == "answered" { // a form may leave some empty
					all.ends["left empty"] += questions - len(call.given)
					questions = len(call.given)
				}
				all.ends[end] += questions
			}
		}
	}
}

// repliesOnce checks that no request of a CLI got two replies.
func (l *life) repliesOnce() {
	type to struct {
		pid int
		id  string
	}
	replies := map[to]int{}
	for _, line := range l.cli.Lines() {
		if gjson.GetBytes(line.Raw, "type").Str == "control_response" {
			r := to{line.Pid, gjson.GetBytes(line.Raw, "response.request_id").Str}
			replies[r]++
			require.Equal(l, 1, replies[r], "%s got a second reply: %s", r.id, line.Raw)
		}
	}
}

// release is what the CLI takes the call back upon.
func (c *soakCall) release() string { return "withdraw-" + c.id }

// ending is how a call ended.
func (l *life) ending(s *soakSession, turn *soakTurn, call *soakCall) string {
	shown := l.e.Tool(s.id, call.id)
	reply := gjson.ParseBytes(l.cli.Reply(call.id))
	about := fmt.Sprintf("%s of %s, asked first by %s: fate %q, given %v, declined %v; the agent got %s\n%s", call.id, s.id, l.rung, turn.fate, call.given, call.declined, reply.Raw, strings.Join(s.history, "\n"))
	switch {
	case reply.Get("behavior").Str == "allow":
		answers := map[string]string{}
		for question, answer := range reply.Get("updatedInput.answers").Map() {
			answers[question] = answer.Str
		}
		require.Equal(l, call.given, answers, about)
		notes := map[string]string{}
		for question, beside := range reply.Get("updatedInput.annotations").Map() {
			notes[question] = beside.Get("notes").Str
		}
		require.Equal(l, call.notes, notes, about)
		require.NotEmpty(l, shown, about)
		if turn.fate == "" {
			require.Equal(l, "completed", shown["status"], about)
		}
		return "answered"
	case strings.Contains(reply.Get("message").Str, "it was not asked"): // a prompt came before it had its turn
		require.Equal(l, "cancelled", turn.fate, about)
		require.Empty(l, call.given, about)
		return "not asked"
	case reply.Exists() && !reply.Get("interrupt").Bool():
		require.True(l, call.declined, about)
		return "declined"
	case call.withdrawn && turn.fate == "":
		require.False(l, reply.Exists(), "a reply to what was withdrawn: %s", about)
		return "withdrawn"
	}
	require.NotEmpty(l, turn.fate, about)
	require.False(l, call.passed && !call.withdrawn && turn.fate == "cancelled", "the answer is lost: %s", about)
	if turn.fate == "left" {
		return "disconnected"
	}
	if len(shown) > 0 && (!l.left.Load() || s.finished) {
		require.Contains(l, []string{"completed", "failed"}, shown["status"], about) // of its first question
	}
	if turn.fate == "killed" {
		return "failed"
	}
	return "cancelled"
}

// pid is the process of a session's CLI.
func (l *life) pid(session string) (pid int) {
	for _, start := range l.cli.Starts() {
		if slices.Contains(start.Args, session) {
			pid = start.Pid
		}
	}
	require.NotZero(l, pid)
	return pid
}

func (l *life) signal(session string, s syscall.Signal) { _ = syscall.Kill(l.pid(session), s) }
