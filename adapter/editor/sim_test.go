package editor_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
)

var (
	simSteps = flag.Int("sim.steps", 0, "how many steps TestSimulation takes")
	simSeed  = flag.Uint64("sim.seed", 0, "the seed of the only life to play; 0 plays many")
)

// lifeSteps is how long one connection lives.
const lifeSteps = 400

// TestSimulation plays editors, their users and agents against the front, the
// ladder, the desk and the connection, by a seed: virtual time, one thing at a
// time. After each step everything comes to rest before the next one is drawn.
// What the agents got is held against what the people said, and to which text.
//
//	go test ./adapter/editor -run TestSimulation -sim.steps 1000000
//	go test ./adapter/editor -run TestSimulation -sim.seed 4711 -v
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		play(t, *simSeed)
		return
	}
	if *simSteps == 0 {
		t.Skip("it is run by its flag: the same seed does not yet give the same life")
	}
	first := uint64(time.Now().UnixNano())
	answered := 0
	for n := range *simSteps / lifeSteps {
		answered += play(t, first+uint64(n))
	}
	if answered < *simSteps/200 {
		t.Errorf("only %d questions were answered in %d steps: the simulation does not reach what it is for", answered, *simSteps)
	}
}

// play lives one life.
func play(t *testing.T, seed uint64) (answered int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed)
		for range lifeSteps {
			s.step()
		}
		s.finish()
		answered = s.answered
	})
	if t.Failed() {
		t.Fatalf("-sim.seed %d", seed)
	}
	return answered
}

// sim is one connection with everybody at it.
type sim struct {
	t *testing.T
	// mu is for what the front calls while others run. A step begins when all are
	// at rest, and needs it for the log alone.
	mu   sync.Mutex
	rng  *rand.Rand
	desk *desk.Desk
	conn *conn.Conn
	// leave ends the editor's side; served is closed when Serve has returned.
	leave func()

	served chan struct{}

	agent    *simAgent
	sessions []*simSession
	requests []*simRequest         // at the editor, open
	prompts  map[string]*simPrompt // by the id of their request
	serial   int
	answered int
	logging  sync.Mutex
	log      []string
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, rng: rand.New(rand.NewPCG(seed, 1)), desk: &desk.Desk{}, served: make(chan struct{}), prompts: map[string]*simPrompt{}}
	s.agent = &simAgent{sim: s}
	in, toFront := io.Pipe()
	fromFront, out := io.Pipe()
	first := []adapter.Rung{0, 0, adapter.Permission, adapter.Conversation}[s.rng.IntN(4)]
	go func() {
		defer close(s.served)
		_ = editor.Serve(context.Background(), in, out, s.agent, &editor.Options{Desk: s.desk, First: first})
	}()
	s.conn = conn.New(&lines{Reader: fromFront, see: s.received}, &lines{Writer: toFront, see: s.sent}, (*simEditor)(s), nil)
	s.leave = func() {

		_ = toFront.Close()
		<-s.served
		_ = out.Close()
		_ = s.conn.Close()
	}
	caps := []string{`{}`, `{"elicitation":{"form":{}}}`, `{"_meta":{"askUserQuestion":true}}`}[s.rng.IntN(3)]
	s.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+caps+`}`)
	synctest.Wait()
	s.note("initialize %s", caps)
	return s
}

// lines looks at each line that is read or written.
type lines struct {
	io.Reader
	io.Writer
	see  func(line []byte)
	part []byte
}

func (l *lines) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	l.look(b[:n])
	return n, err
}

func (l *lines) Write(b []byte) (int, error) {
	l.look(b)
	return l.Writer.Write(b)
}

func (l *lines) look(b []byte) {
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return
		}
		l.see(line)
		l.part = rest
	}
}

func (s *sim) note(format string, args ...any) {
	s.logging.Lock()
	defer s.logging.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// wrong tells what must not be, with the way that led there.
func (s *sim) wrong(format string, args ...any) {
	s.t.Helper()
	text := fmt.Sprintf(format, args...)
	if s.t.Failed() {
		return // one at a time
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	s.t.Errorf("%s\n%s", text, strings.Join(s.log, "\n"))
	if os.Getenv("SIM_PANIC") != "" {
		panic(text)
	}
}

// act is something that can happen now.
type act struct {
	weight int
	do     func()
}

// step lets one thing happen and everything come to rest.
func (s *sim) step() {
	if s.t.Failed() {
		return
	}
	acts := []act{{1, func() { s.pass(time.Duration(s.rng.IntN(7000)) * time.Millisecond) }}}
	if len(s.sessions) < 3 {
		acts = append(acts, act{3, s.newSession})
	}
	for _, o := range s.sessions {
		acts = append(acts, o.personActs()...)
		acts = append(acts, o.agent.acts()...)
		acts = append(acts, o.phoneActs()...)
	}
	for _, r := range s.requests {
		acts = append(acts, r.acts()...)
	}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	n := s.rng.IntN(total)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			a.do()
			break
		}
	}
	synctest.Wait()
	s.check()
}

// pass lets time go by: graces end, interrupts are repeated.
func (s *sim) pass(d time.Duration) {
	s.note("%s pass", d)
	time.Sleep(d)
}

// finish lets everybody end what they began: then nothing may be left.
func (s *sim) finish() {
	for range 200 {
		if s.t.Failed() || s.quiet() {
			break
		}
		for _, o := range s.sessions {
			o.agent.wantsToEnd()
		}
		for _, r := range s.requests {
			r.dismiss()
		}
		synctest.Wait()
		for _, o := range s.sessions {
			if o.waits && len(o.running) == 0 {
				o.sayCancel()
			}
		}
		s.pass(6 * time.Second)
		synctest.Wait()
		s.check()
	}
	if !s.t.Failed() && !s.quiet() {
		for _, o := range s.sessions {
			s.note("%s: %d prompts run, waits %v for %q, %d requests at the agent", o.id, len(o.running), o.waits, o.seen, len(o.agent.asked))
		}
		s.wrong("something never ends")
	}
	s.leave()
}

// quiet reports whether no prompt runs and nothing is asked.
func (s *sim) quiet() bool {
	for _, o := range s.sessions {
		if len(o.running) > 0 || len(o.agent.asked) > 0 {
			return false
		}
	}
	return len(s.requests) == 0 && len(s.desk.List()) == 0
}

// check is what must hold whenever everything is at rest.
func (s *sim) check() {
	for _, o := range s.sessions {
		shown := 0
		for _, r := range s.requests {
			if r.session == o {
				shown++
			}
		}
		if shown > 1 {
			s.wrong("%s: the editor shows %d requests at once", o.id, shown)
		}
	}
}

func (s *sim) newSession() {
	s.note("session/new")
	raw := s.call("session/new", `{"cwd":"/","mcpServers":[]}`)
	synctest.Wait()
	if raw.err != nil {
		s.wrong("session/new: %v", raw.err)
	}
}
