package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// AsksVariable is set for a Claude Code that acp-bridge runs itself: its questions are
// asked there.
const AsksVariable = "ACP_BRIDGE_ASKS"

// maxEvent is the most that a hook sends, and parentTime how often one that waits looks
// around. Until it has seen the dialog it looks each time, then each fifth.
const (
	maxEvent   = 8 << 20
	parentTime = 100 * time.Millisecond
)

var (
	// HubTime is what a hub may cost that is down, slow or wrong.
	HubTime, _ = time.ParseDuration(hookLimit)
	hookLimit  = "1s" // the linker says more where a test's hub shares a busy machine
)

// RunClaude is what Claude Code starts for an event. Whatever goes wrong is as if there
// were no hook: it says nothing, and ends well.
func RunClaude(ctx context.Context, in io.Reader, out io.Writer) {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent))
	grok := gjson.GetBytes(data, "hookEventName").Exists() // it runs the hooks in Claude Code's settings, too
	if err != nil || grok || os.Getenv(AsksVariable) != "" {
		return
	}
	data = hook.From(data, os.Getenv("CLAUDE_PID"))
	e, err := hook.Parse(data)
	if err != nil {
		return
	}
	state, err := ReadClaude()
	if err != nil {
		return
	}
	h := &hookRun{event: e, name: life.Mint()}
	if h.hub, err = state.caller(); err != nil {
		return
	}
	if e.Name == hook.Stop {
		h.about = aboutSession(e) // with what its user began the turn
	}
	if !e.Asks() {
		h.note(ctx, data, out)
		return
	}
	answers := make(chan bool, 1)
	go func() { answers <- !e.Blocks() || h.alive(ctx) }()
	h.about = aboutSession(e)
	if !<-answers {
		return
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	reply, err := h.hold(ctx, hook.Name(data, h.name))
	if ctx.Err() != nil || h.ended.Load() {
		h.takeBack()
	}
	h.print(out, reply, err)
}

// print has Claude Code hear what the hub says to this event.
func (h *hookRun) print(out io.Writer, reply []byte, err error) {
	if err == nil && clean.ValidJSON(reply) && gjson.GetBytes(reply, "hookSpecificOutput.hookEventName").Str == h.event.Name {
		_, _ = out.Write(reply)
	}
}

// silence is a file with a byte for each time in a row that a hub did not answer in time.
// After maxSilent of them it is left alone for silentTime: agents wait for each event, and
// there are several to a tool call.
type silence string

const (
	hookSilence  silence = "hook.silent"
	watchSilence silence = "watch.silent"
	maxSilent            = 3
	silentTime           = 30 * time.Second
)

// tell talks to the hub, unless it is left alone.
func (s silence) tell(talk func() error) {
	file, err := hublink.StateFile(string(s))
	if err != nil {
		return
	}
	info, err := os.Stat(file)
	silent := err == nil
	if silent && info.Size() >= maxSilent && time.Since(info.ModTime()) < silentTime {
		return
	}
	switch err := talk(); {
	case errors.Is(err, context.DeadlineExceeded):
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.Write([]byte{'.'})
			_ = f.Close()
		}
	case silent:
		_ = os.Remove(file)
	}
}

// note tells the hub of an event that nobody has to answer: what it says is there at once.
func (h *hookRun) note(ctx context.Context, data []byte, out io.Writer) {
	hookSilence.tell(func() error {
		ctx, cancel := context.WithTimeout(ctx, HubTime)
		defer cancel()
		reply, err := h.post(ctx, data)
		h.print(out, reply, err)
		return ctx.Err()
	})
}

// hookRun is one event on its way.
type hookRun struct {
	hub   *hublink.Caller
	event hook.Event
	name  string
	about string // of an event that asks, or ends a turn

	ended   atomic.Bool // Claude Code is gone
	over    atomic.Bool // the dialog in the terminal is
	reached atomic.Bool // the hub was
}

// writeTime is how long Claude Code may take to write down what it has said: it asks
// before that, and of a new session nothing is there yet. The end of a turn waits for nothing.
const writeTime = time.Second

// aboutSession is what a person is told of the session in which an event asks. It is read
// where Claude Code keeps it, whatever file the event names.
func aboutSession(e hook.Event) string {
	a := about.About{Branch: hublink.BranchOf(e.Dir)}
	said, ok := lastSaid(e)
	for end := time.Now().Add(writeTime); e.Name != hook.Stop && said.Model == "" && e.Transcript != "" && time.Now().Before(end); said, ok = lastSaid(e) {
		time.Sleep(writeTime / 20)
	}
	if ok {
		var words about.Words
		if said.Title != transcript.Untitled {
			words.Name(said.Title)
		}
		words.Prompt(said.Prompt)
		words.Say(said.Words)
		words.Tell(&a)
		a.Model = said.Model
	}
	return a.Encode()
}

func lastSaid(e hook.Event) (transcript.Said, bool) {
	path, err := transcript.Find(transcript.ConfigDir(os.Getenv), e.Session, e.Dir)
	if err != nil {
		return transcript.Said{}, false
	}
	return transcript.Last(path)
}

func (h *hookRun) post(ctx context.Context, body []byte) ([]byte, error) {
	machine, _ := os.Hostname()
	hub := *h.hub
	hub.Header = http.Header{"Acp-Bridge-Machine": {machine}}
	if h.about != "" {
		hub.Header.Set(about.Header, h.about)
	}
	return hub.Fetch(ctx, http.MethodPost, "/hooks/claude", body)
}

// A hub that is gone is asked again after firstPause, and then less and less often.
// backTime is for how long it is told that the terminal was faster.
const (
	firstPause, lastPause = 200 * time.Millisecond, 3 * time.Second
	backTime              = 10 * time.Minute
)

// hold waits for an answer at the hub, and at the one that is started after it: under its
// name it is the same question there. A hub that was not there to begin with is as if there
// were no hook. Where the terminal shows nothing meanwhile, the hub has answered just now and
// has to stay there.
func (h *hookRun) hold(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go endWithParent(ctx, func() { h.ended.Store(true); cancel() })
	go h.look(ctx, cancel)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began := time.Now()
		reply, err := h.ask(ctx, body)
		var said hublink.ReplyError
		stays := errors.As(err, &said) && !hublink.Unavailable(said.Status)
		if err == nil || stays || h.event.Blocks() || !h.reached.Load() || ctx.Err() != nil {
			return reply, err
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		proc.Sleep(ctx, pause)
		if h.over.Load() { // there is nothing to ask any more
			<-ctx.Done()
		}
	}
}

// ask asks at the hub, which has to be there within a moment.
func (h *hookRun) ask(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(HubTime, cancel)
	defer late.Stop()
	return h.post(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		late.Stop()
		h.reached.Store(true)
	}}), body)
}

// takeBack tells the hub that nobody waits any more.
func (h *hookRun) takeBack() {
	ctx, cancel := context.WithTimeout(context.Background(), HubTime)
	defer cancel()
	_, _ = h.post(ctx, hook.TakenBackIn(h.event.Session, h.name))
}

// look ends the waiting when the hub is gone while the terminal waits for it, and tells the
// hub when the dialog in the terminal is gone.
func (h *hookRun) look(ctx context.Context, cancel func()) {
	tick := time.NewTicker(parentTime)
	defer tick.Stop()
	dialog, since := dialogWatch{pid: os.Getenv("CLAUDE_PID")}, time.Time{}
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch {
		case h.event.Blocks() && n%10 == 0 && !h.alive(ctx):
			cancel()
		case !h.event.Blocks() && (!dialog.seen || n%5 == 0) && (h.over.Load() || dialog.gone()):
			if !h.over.Swap(true) {
				since = time.Now()
			}
			note, done := context.WithTimeout(ctx, HubTime)
			_, err := h.post(note, hook.AnsweredIn(h.event.Session, h.name))
			done()
			if err == nil || time.Since(since) > backTime {
				cancel()
			}
		}
	}
}

// alive reports whether the hub still answers.
func (h *hookRun) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, HubTime)
	defer cancel()
	_, err := h.hub.Fetch(ctx, http.MethodGet, "/healthz", nil)
	return err == nil
}

// dialogWatch follows what Claude Code says of itself in a file: whether a dialog waits.
// Nothing else tells that the terminal has allowed something that takes long.
type dialogWatch struct {
	pid  string
	seen bool // a dialog
	not  int  // how often there was none since
}

// gone reports that there was a dialog, and is none. One that makes way for the next is
// not.
func (d *dialogWatch) gone() bool {
	if d.pid == "" || strings.Trim(d.pid, "0123456789") != "" {
		return false
	}
	f, err := os.Open(filepath.Join(transcript.ConfigDir(os.Getenv), "sessions", d.pid+".json"))
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	switch status := gjson.GetBytes(data, "status").Str; {
	case err != nil || status == "":
	case status == "waiting":
		d.seen, d.not = true, 0
	case d.seen:
		d.not++
	}
	return d.not >= 2
}
