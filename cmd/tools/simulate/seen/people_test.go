// Package seen_test plays editors that read ahead and people in front of them, against
// all that asks them.
package seen_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

func TestMain(m *testing.M) {
	asChild()
	leaktest.Parallel(16)
	leaktest.Main(m)
}

// desk is an editor with a person in front of it. Lines are read ahead into its
// buffer; it looks at them one after the other, when it is not busy. The person
// says "second" to a question that is on the screen, a second later or more, and
// nothing else; "first" is what was typed before, and what the editor says by
// itself.
type desk struct {
	rng *rand.Rand
	w   io.Writer
	nature

	lines chan string
	sent  sync.Mutex
	ids   int
	slept bool // it was busy, when the question came
	pings int
}

// nature is what an editor and its person are like.
type nature struct {
	// guard is on, and the editor answers requests by itself.
	guard, lies bool
	// mute editors do not answer what they do not know, and are busy for less than
	// anybody needs to read.
	mute bool
	// busy is how long it does not look at what it has read.
	busy time.Duration
	// slow people take up to so much more than a second.
	slow time.Duration
	// ahead is how many prompts the person has typed before the question.
	ahead int
	// dies after the first question.
	dies bool
	rung adapter.Rung
}

func (d *desk) send(line string) {
	d.sent.Lock()
	defer d.sent.Unlock()
	_, _ = io.WriteString(d.w, line+"\n")
}

func (d *desk) thinks() time.Duration {
	return time.Second + time.Duration(d.rng.Int64N(int64(d.slow)+1))
}

func (d *desk) prompt(text string) {
	d.ids++
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":%q}]}}`, d.ids, text))
}

// reads takes lines into the buffer until the stream ends.
func (d *desk) reads(r io.Reader) {
	defer close(d.lines)
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		d.lines <- in.Text()
	}
}

// looks goes through the buffer until the turn is over, or the editor dies.
func (d *desk) looks() {
	for line := range d.lines {
		m := gjson.Parse(line)
		method, id := m.Get("method").Str, m.Get("id").Raw
		if strings.Contains(line, "Which?") && !d.slept {
			d.slept = true
			time.Sleep(d.busy)
		}
		if method == seen.Method {
			d.pings++
		}
		switch {
		case method == seen.Method && d.mute:
		case method == seen.Method:
			d.send(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found"}}`)
		case method == "session/request_permission" && d.lies:
			d.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"first"}}}`)
		case method == "session/request_permission":
			time.AfterFunc(d.thinks(), func() {
				d.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"second"}}}`)
			})
		case m.Get("result.stopReason").Exists() && m.Get(`result._meta.acp-bridge.waitingFor`).Exists():
			if d.dies {
				return
			}
			if d.ahead > 0 { // kept back until the turn is over
				d.ahead--
				d.prompt("first")
				continue
			}
			time.AfterFunc(d.thinks(), func() { d.prompt("second") })
		case m.Get("result.stopReason").Exists(), m.Get("error").Exists() && strings.HasPrefix(m.Get("id").Str, "p"):
			return
		}
	}
}

// surface is something that asks "Which?" over an editor's streams, first and
// second being its options, and returns what it was told.
type surface func(ctx context.Context, r io.Reader, w io.Writer, n nature, told func(string))

var which = convert.Question{Text: "Which?", Options: []convert.Option{{Label: "first"}, {Label: "second"}}}

func serves(ctx context.Context, r io.Reader, w io.Writer, n nature, told func(string)) {
	agent := &scripted.Agent{Word: "s", Name: "test", Prompt: "go", New: func(out *editor.Session, _ string) scripted.Turn {
		return func(context.Context, string) error {
			o := scripted.Ask(out, convert.Call{ID: "q", Questions: []convert.Question{which}})
			if o.Status == convert.Answered {
				told(strings.Join(o.Answers[0].Selected, ",") + o.Answers[0].Text)
			}
			return nil
		}
	}}
	_ = editor.Serve(ctx, r, w, agent, &editor.Options{Guard: n.guard, First: n.rung})
}

// relays asks with a form of a proxied agent.
func relays(ctx context.Context, r io.Reader, w io.Writer, n nature, told func(string)) {
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		in := bufio.NewScanner(agentIn)
		say := func(line string) { _, _ = io.WriteString(agentOut, line+"\n") }
		prompt := ""
		for in.Scan() {
			m := gjson.Parse(in.Text())
			switch id := m.Get("id").Raw; m.Get("method").Str {
			case "initialize":
				say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":1}}`)
			case "session/new":
				say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"sessionId":"s-1"}}`)
			case "session/prompt":
				prompt = id
				say(`{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"sessionId":"s-1","mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"question_0":{"type":"string","oneOf":[{"const":"first","title":"first"},{"const":"second","title":"second"}]}}}}}`)
			case "":
				if id == "900" {
					if v := m.Get("result.content.question_0"); v.Exists() {
						told(v.Str)
					}
					say(`{"jsonrpc":"2.0","id":` + prompt + `,"result":{"stopReason":"end_turn"}}`)
				}
			}
		}
	}()
	_ = proxy.Relay(ctx, proxy.Stream{In: r, Out: w}, proxy.Stream{In: fromAgent, Out: toAgent},
		proxy.Options{Guard: n.guard, First: n.rung})
	_ = agentOut.Close()
	_ = agentIn.Close()
	_ = toAgent.Close()
	_ = fromAgent.Close()
	<-done
}

// sits plays one question on a surface, over pipes that pipe makes. It returns
// what the agent was told, "" for nothing.
func sits(t *testing.T, seed uint64, n nature, on surface, pipe func() (io.ReadCloser, io.WriteCloser)) (told string) {
	inR, inW := pipe()
	outR, outW := pipe()
	defer inR.Close()
	defer outR.Close()
	d := &desk{rng: rand.New(rand.NewPCG(seed, 2)), w: inW, nature: n, lines: make(chan string, 1000)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		on(t.Context(), inR, outW, n, func(s string) { told = s })
	}()
	go d.reads(outR)
	d.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	<-d.lines
	d.send(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	<-d.lines
	d.prompt("begin")
	d.looks()
	if n.dies {
		d.prompt("first")
	}
	_ = inW.Close()
	<-served
	_ = outW.Close()
	for range d.lines { // to its end
	}
	if n.rung == adapter.Permission && !n.guard {
		require.Zero(t, d.pings, "nobody doubts it")
	} else if !n.dies {
		require.NotZero(t, d.pings)
	}
	return told
}

// An editor that nobody doubts sees not a byte more.
func TestUndoubted(t *testing.T) {
	for _, on := range []surface{serves, relays} {
		synctest.Test(t, func(t *testing.T) {
			require.Equal(t, "second", sits(t, 1, nature{rung: adapter.Permission, slow: 2 * time.Second}, on, inMemory))
			require.Equal(t, "first", sits(t, 1, nature{rung: adapter.Permission, lies: true}, on, inMemory), "it may answer by itself")
			time.Sleep(10 * time.Second)
		})
	}
}

func inMemory() (io.ReadCloser, io.WriteCloser) { return io.Pipe() }

// A guarded editor that reads ahead into its buffer, is busy, and then answers by
// itself, over real pipes: 20 of 20 times it is not believed.
func TestRule3ReadsAhead(t *testing.T) {
	t.Parallel()
	osPipe := func() (io.ReadCloser, io.WriteCloser) {
		r, w := acptest.Must2(os.Pipe())
		return r, w
	}
	n := nature{guard: true, lies: true, busy: 350 * time.Millisecond, slow: 300 * time.Millisecond, rung: adapter.Permission}
	told := make(chan string)
	for _, on := range []surface{serves, relays} {
		for seed := range uint64(20) {
			go func() { told <- sits(t, seed, n, on, osPipe) }()
		}
	}
	for range 40 {
		require.Equal(t, "second", <-told)
	}
}

// Nobody ever gets "first": no person who saw the question says that. Programs do,
// and people who typed something before it was on the screen.
func TestRule3NobodyIsTakenAtTheirWordTooEarly(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]surface{"serve": serves, "proxy": relays} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(150) {
				rng := rand.New(rand.NewPCG(seed, 1))
				n := nature{
					guard: true, lies: rng.IntN(2) == 0, mute: rng.IntN(3) == 0, ahead: rng.IntN(4), dies: rng.IntN(8) == 0,
					busy: time.Duration(rng.IntN(3000)) * time.Millisecond, slow: 2 * time.Second,
					rung: []adapter.Rung{adapter.Permission, adapter.Conversation}[rng.IntN(2)],
				}
				if n.mute { // more than that cannot be known of it
					n.busy = time.Duration(rng.Int64N(int64(seen.Strict - 50*time.Millisecond)))
				}
				var told string
				synctest.Test(t, func(t *testing.T) {
					told = sits(t, seed, n, on, inMemory)
					time.Sleep(10 * time.Second) // for timers
				})
				require.NotEqual(t, "first", told, "seed %d, %+v", seed, n)
				if !n.dies {
					require.Equal(t, "second", told, "the person's own answer is not lost: seed %d, %+v", seed, n)
				}
			}
		})
	}
}
