package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// plain is the client in lines.
type plain struct {
	ctx    context.Context
	l      *link
	o      *Options
	screen screen
	wire   wire
	in     *source
	typed  bool        // the lines come from a person at a terminal
	reader *answers    // in, for questions
	kept   chan string // piped lines that came before a question: prompts

	working, cancelling bool
	ctrlC               time.Time       // when it cancelled a turn
	gone                bool            // the agent is; a turn that runs ends by itself
	opened              bool            // the session is
	early               []*waiting      // what was asked before that, and the Prompt comes in place of
	prompted            context.Context // ends with the turn of the last prompt
	over                bool            // time to leave, with err
	err                 error
}

func runPlain(ctx context.Context, l *link, o *Options, start func()) error {
	p := &plain{ctx: ctx, l: l, o: o, working: true, screen: screen{Replay: o.replays()}, wire: wire{full: o.WireFull}}
	if f, ok := o.In.(*os.File); ok {
		p.typed = term.IsTerminal(f.Fd())
	}
	if o.Resolver == nil || !o.Once {
		scripted := !p.typed && (o.Answers || o.Once) // there is no other prompt than Options.Prompt
		p.in = newSource(ctx, o.In, scripted)
		p.reader = p.answers(scripted)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	start()
	for !p.over {
		var lines <-chan line
		if !p.working && p.in != nil {
			lines = p.in.lines
		}
		if !p.working && len(p.kept) > 0 {
			p.line(<-p.kept, true)
			p.flush()
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-interrupts:
			p.interrupt()
		case <-l.box.Ready:
			for _, v := range l.box.Take() {
				if !p.over {
					p.event(v)
				}
			}
		case l, ok := <-lines:
			p.line(l.text, ok)
		}
		p.flush()
	}
	return p.err
}

func (p *plain) leave(err error) { p.over, p.err = true, err }

// flush writes the lines that are finished.
func (p *plain) flush() {
	if lines := p.screen.Lines(); len(lines) > 0 {
		_, _ = io.WriteString(p.o.Out, strings.Join(lines, "\n")+"\n")
	}
}

// interrupt is Ctrl+C: it cancels the turn, and where there is none, or for the
// second time, leaves.
func (p *plain) interrupt() {
	if !p.working || p.cancelling || time.Since(p.ctrlC) < againTime {
		p.leave(nil)
		if p.o.Once {
			p.err = ErrCancelled
		}
		return
	}
	p.cancelling, p.ctrlC = true, time.Now()
	p.screen.Note("Cancelling. Ctrl+C again quits.")
	p.l.cancel(p.ctx)
}

func (p *plain) event(v any) {
	switch v := v.(type) {
	case opened:
		if p.screen.Replay {
			p.screen.EndTurn("")
			p.screen.Replay = false
		}
		if errors.Is(v.err, errNotChosen) {
			p.leave(ErrCancelled)
			return
		}
		if v.err != nil {
			p.leave(p.l.explain(v.err))
			return
		}
		if p.opened = true; p.o.Opened != nil {
			p.o.Opened(string(p.l.session), p.l.left != "")
		}
		if p.l.left != "" && (!p.typed || p.o.Once) && !p.o.Instead { // what comes next is no answer to it
			go p.l.wait(p.ctx)
			return
		}
		if p.o.Prompt != "" {
			p.say(p.o.Prompt)
			for _, a := range p.early {
				p.asked(a)
			}
			return
		}
		if p.typed {
			p.screen.add(blockNote, p.screen.greeting(p.l.told.greeted(), p.o.folder())...)
			p.screen.add(blockNone)
		}
		p.idle()
	case updated:
		p.screen.Update(v.session, v.update)
	case traced:
		p.screen.Trace(p.wire.lines(v.dir, v.line, p.screen.Width))
	case asked:
		if p.o.Instead && !p.opened && !v.waiting.permission { // asking would keep the prompt from being sent
			p.early = append(p.early, v.waiting)
			return
		}
		p.asked(v.waiting)
	case withdrawn: // while nobody is asked
		if note := p.l.overruled(v.waiting); note != "" {
			p.screen.Note(note)
		}
	case turned:
		p.turned(v)
	case gone:
		if p.gone = true; !p.working {
			p.leave(errGone)
		}
	}
}

// asked asks below what was shown before.
func (p *plain) asked(a *waiting) {
	p.screen.endText()
	if p.o.Resolver == nil {
		p.screen.add(blockNote)
	}
	p.flush()
	p.ask(a)
}

// say sends a prompt.
func (p *plain) say(words string) {
	if p.o.Hidden {
	} else if !p.typed || p.o.Once {
		p.screen.Say(words)
	} else {
		p.screen.add(blockNone, "")
	}
	p.working, p.cancelling = true, false
	ctx, over := context.WithCancel(context.Background())
	p.prompted = ctx
	go func() {
		p.l.prompt(p.ctx, words)
		over()
	}()
}

func (p *plain) turned(t turned) {
	p.screen.EndTurn(t.waiting)
	if err := p.l.ended(t, p.o.Once, &p.screen); err != nil {
		p.leave(err)
		return
	}
	if t.again && p.o.Prompt != "" && !p.o.Rest && t.reason != acp.StopReasonCancelled {
		p.say(p.o.Prompt)
		return
	}
	if p.o.Once {
		p.leave(t.once())
		return
	}
	p.screen.add(blockNone)
	p.idle()
}

// ended notes what the end of a turn was, if it was not as usual. An error says that it is
// time to leave.
func (l *link) ended(t turned, once bool, s *screen) error {
	switch err := l.explain(t.err); {
	case errors.Is(err, errGone), once && err != nil:
		return err
	case err != nil:
		s.Note("✗ " + err.Error())
	case t.reason != acp.StopReasonEndTurn:
		s.Note(cmp.Or(stopNotes[t.reason], "The agent stopped: "+string(t.reason)))
	}
	return nil
}

// once is how the client ends after a turn that was to be the only one.
func (t turned) once() error {
	if t.reason == acp.StopReasonCancelled {
		return ErrCancelled
	}
	return nil
}

// stopNotes say why a turn ended that did not end as usual.
var stopNotes = map[acp.StopReason]string{
	acp.StopReasonCancelled:       "Cancelled.",
	acp.StopReasonMaxTokens:       "The agent stopped: it reached its token limit.",
	acp.StopReasonMaxTurnRequests: "The agent stopped: it reached its request limit.",
	acp.StopReasonRefusal:         "The agent refused to continue.",
}

// idle waits for the next line.
func (p *plain) idle() {
	p.working, p.cancelling = false, false
	if p.gone {
		p.leave(errGone)
		return
	}
	p.flush()
	if p.typed {
		_, _ = io.WriteString(p.o.Out, "> ")
	}
}

// leftError is why the client left, which is not the agent's doing.
type leftError struct{ error }

func (e leftError) Unwrap() error { return e.error }

// errNoMoreInput means that a question found the end of the input.
var errNoMoreInput = errors.New("the input ended before the question was answered")

// errPromptsOnly is errNoMoreInput for input that held lines, but none for the question.
var errPromptsOnly = fmt.Errorf("%w: the lines that were there before it are prompts; --answers - makes them answers", errNoMoreInput)

// line takes a line of input as a prompt.
func (p *plain) line(line string, ok bool) {
	if shown, mine := p.o.run(strings.TrimSpace(line)); ok && mine {
		p.screen.shows(shown)
		p.idle()
		return
	}
	switch words := strings.TrimSpace(line); {
	case !ok:
		if p.typed {
			p.screen.add(blockNone, "")
		}
		p.leave(p.in.err)
	case isQuit(words):
		p.leave(nil)
	case words == "/help":
		p.screen.Note("Each line is a prompt. Ctrl+C cancels the turn, pressed twice it quits; so do /quit and the end of the input.")
		p.screen.add(blockNone)
		p.idle()
	case words == "":
		p.idle()
	case p.typed && tty.Cut(line):
		p.screen.Note(tty.CutText)
		p.idle()
	default:
		p.say(line)
	}
}

// isQuit reports whether a prompt is meant for the client.
func isQuit(words string) bool { return words == "/quit" || words == "/exit" }

// ask asks the user, and again as long as the answer does not fit, or it is to something
// else than what the agent asks by now. Updates wait meanwhile.
func (p *plain) ask(a *waiting) {
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	defer context.AfterFunc(p.ctx, stop)()
	if p.o.Instead && !a.permission { // an agent that had the prompt before it asked takes nothing back
		defer context.AfterFunc(p.prompted, func() { a.cancel(convert.ErrWithdrawn) })()
	}
	for a.ctx.Err() == nil {
		d := p.l.told.described(a)
		asked, end := d.describing(ctx)
		outcome, index, deliver, err := p.resolve(asked, a, d)
		end()
		switch {
		case a.ctx.Err() != nil:
			continue
		case d.another():
			if now := p.l.told.described(a); !now.sameHere(d) {
				p.screen.Note(anotherNote)
				p.flush()
			}
			continue
		case p.ctx.Err() != nil && outcome.Status != convert.Answered: // that the program ends is nobody's choice
			p.leave(leftError{context.Cause(p.ctx)})
			return
		case (outcome.Status == convert.Failed || outcome.Status == convert.Withdrawn) && p.o.Resolver == nil: // nor is a signal
			p.leave(leftError{err})
			return
		case outcome.Status == convert.Failed, outcome.Status == convert.Withdrawn:
			a.fail(outcome)
			p.screen.Note("✗ " + outcome.Reason)
			return
		case outcome.Status == convert.Disconnected && p.o.Resolver == nil:
			if err = errNoMoreInput; len(p.kept) > 0 {
				err = errPromptsOnly
			}
			fallthrough
		case outcome.Status == convert.Disconnected: // nobody has answered, so nothing is
			p.leave(leftError{err})
			return
		}
		if err = deliver(func() error { return a.answer(outcome, index) }); err == nil {
			return
		}
		if p.o.Resolver != nil { // what was given does not fit, and nobody is there to give another
			p.leave(leftError{err})
			return
		}
		_, _ = fmt.Fprintln(p.o.Out, err)
	}
	p.screen.Note(p.l.gone(a)) // also if that came before it could be asked
}

// resolve asks wherever somebody may answer. What it got is taken when deliver has handed
// it over.
func (p *plain) resolve(ctx context.Context, a *waiting, d description) (o convert.Outcome, index int, deliver func(use func() error) error, err error) {
	deliver = func(use func() error) error { return use() }
	resolver := p.o.Resolver
	if a.permission && p.o.Approver != nil {
		resolver = p.o.Approver
	}
	if resolver != nil {
		call := d.here
		call.Session = a.session
		asking := adapter.Post(ctx, resolver, call)
		o, err = asking.Wait()
		return o, picked(a.request, o), asking.Deliver, err
	}
	p.reader.ask(ctx)
	p.reader.secret = slices.ContainsFunc(d.here.Questions, lineask.Secret)
	if p.reader.secret {
		defer tty.Quiet(p.o.In)()
	}
	if p.typed && seen.Hands > 0 {
		_, p.reader.begun = tty.DropUnread(p.o.In)
	}
	r := terminal.Resolver{In: p.reader, Out: p.o.Out, Plain: true, Environ: p.o.Environ}
	if a.closed {
		q := d.here.Questions[0]
		if !d.verbatim {
			q.Text = strings.Join(cells.MarkdownLines(cells.Bare, strings.Split(q.Text, "\n")), "\n")
		}
		index, o, err = r.Choose(ctx, q)
		return o, index, deliver, err
	}
	o, err = r.Ask(ctx, d.here)
	return o, -1, deliver, err
}

// answers is the input for questions.
func (p *plain) answers(scripted bool) *answers {
	r := &answers{s: p.in}
	if p.typed {
		r.early = func(why, text string) {
			if text = lineask.Told(text, r.secret); text != "" || why == tty.CutText {
				_, _ = fmt.Fprintf(p.o.Out, "%s%s\n> ", why, text)
			}
		}
		r.typed = p.o.In
		return r
	}
	r.took = func(text string) { _, _ = fmt.Fprintln(p.o.Out, clean.Line(text)) } // nobody else shows it
	if !scripted {
		p.kept = make(chan string, maxAhead)
		r.piped, r.early = true, func(_, text string) {
			select {
			case p.kept <- text:
			case <-p.ctx.Done():
			}
		}
	}
	return r
}

// picked is the position of the option that answers a closed request.
func picked(r *request, o convert.Outcome) int {
	if !r.closed || o.Status != convert.Answered || len(o.Answers) == 0 {
		return -1
	}
	return slices.IndexFunc(r.call.Questions[0].Options, func(opt convert.Option) bool {
		return slices.Contains(o.Answers[0].Selected, opt.Label)
	})
}
