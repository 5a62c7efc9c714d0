package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// printOptions are those of a turn without a terminal.
type printOptions struct {
	prompt   string
	words    string // that come behind the prompt
	given    bool   // a prompt was
	headless bool
	answers  answerFlags
	hub      hubFlags
}

func (p *printOptions) flags(fs *flagSet) {
	fs.Func("p", "run one turn with this `prompt` and leave; @FILE at its beginning\nstands for the words of that file", func(v string) error {
		p.prompt, p.given = v, true
		return nil
	})
	fs.BoolVar(&p.headless, "headless", false, "with -p: use no terminal even if there is one. Questions wait in a\nfile, and the same command again goes on")
	p.answers.flags(fs)
	p.hub.flags(fs)
}

// cutWords takes the words off the arguments that follow the file of a prompt:
// -p @FILE "words".
func (p *printOptions) cutWords(args []string) []string {
	own, _ := cutArgs(args)
	i := slices.IndexFunc(own, func(a string) bool { return a == "-p" || a == "--p" })
	if i < 0 || i+2 >= len(own) || !strings.HasPrefix(own[i+1], "@") || strings.HasPrefix(own[i+2], "-") {
		return args
	}
	p.words = own[i+2]
	return slices.Delete(slices.Clone(args), i+2, i+3)
}

// check refuses flags that mean nothing without a prompt.
func (p *printOptions) check() error {
	if !p.given && (p.headless || p.answers.given || p.answers.file != "" || p.answers.strict || p.hub.tokenFile != "") {
		return misused("--headless, --answers and --hub-token-file need a prompt: -p PROMPT")
	}
	return p.hub.check(0)
}

// expand replaces the files that a prompt begins with by their words.
func expand(prompt, dir string) (string, error) {
	var b strings.Builder
	rest := strings.TrimSpace(prompt)
	for strings.HasPrefix(rest, "@") {
		name := rest
		if i := strings.IndexAny(rest, " \t\n"); i >= 0 {
			name, rest = rest[:i], strings.TrimSpace(rest[i:])
		} else {
			rest = ""
		}
		path := name[1:]
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		data, err := os.ReadFile(path)
		switch {
		case err != nil:
			return "", usagef("%s: %w", name, err)
		case !utf8.Valid(data):
			return "", usagef("%s: expected text, got other bytes", name)
		case len(data) > maxInput:
			return "", usagef("%s is larger than %d MiB", name, maxInput>>20)
		}
		fmt.Fprintf(&b, "<file name=%q>\n%s\n</file>\n", path, strings.TrimSuffix(string(data), "\n"))
	}
	b.WriteString(rest)
	if strings.TrimSpace(b.String()) == "" {
		return "", usagef("the prompt is empty")
	}
	return b.String(), nil
}

// printTurn runs one turn and leaves.
func printTurn(ctx context.Context, agent []string, o client.Options, p printOptions, s streams) error {
	p.prompt = strings.TrimSpace(p.prompt + " " + p.words)
	prompt, err := expand(p.prompt, o.Dir)
	if err != nil {
		return err
	}
	run := newPrintRun(agent, p.prompt, o.Dir)
	a := &printAsker{run: run, printOptions: p, s: s, store: pending.Store{Dir: o.Dir, Report: func(err error) {
		fmt.Fprintf(s.err, "acp-bridge chat: %s; it is kept\n", oneLine(err))
	}}}
	if a.list, err = p.answers.list(s); err != nil {
		return err
	}
	if a.desk = p.hub.open("acp-bridge chat", s); a.desk != nil {
		if err := os.Unsetenv(hubEnv); err != nil { // the agent does not ask there a second time
			return err
		}
		a.desk.dir = o.Dir
		defer a.desk.close()
	}
	o.Prompt, o.Once, o.Hidden, o.Plain = prompt, true, true, true
	o.Resolver, o.Approver = a, approver{a}
	session := o.Session
	o.Opened = func(id string) { session = id }
	if o.Session == "" && !o.Last && !o.Resume {
		if o.Session = run.session(); o.Session != "" {
			o.Rest = true
		}
	}
	err = client.RunAgent(ctx, agent, o)
	switch {
	case errors.Is(err, errPending):
		if err := run.keep(session); err != nil {
			fmt.Fprintf(s.err, "acp-bridge chat: the session is not noted, the same command again begins a new one: %s\n", oneLine(err))
		}
		fmt.Fprint(s.err, instructions(a.pending))
		return exitError{exitPending}
	case err == nil || errors.Is(err, client.ErrCancelled):
		run.forget()
		a.done()
	}
	return chatResult(err)
}

// errPending means that a question waits in a file.
var errPending = errors.New("a question waits in a file")

// printAsker answers the questions of a turn: with the answers given, from the
// file where they wait, at the hub, on the terminal. Without any they go into a
// file and the turn is left.
type printAsker struct {
	printOptions
	run     printRun
	s       streams
	list    *answerList
	desk    *hubDesk
	store   pending.Store
	pending *pending.File
}

// Ask implements [adapter.Resolver].
func (a *printAsker) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	if a.list != nil {
		o, err := a.list.next(c)
		if err != nil {
			return left(err)
		}
		return o, o.Err()
	}
	c.Session, c.ID = a.run.name, ""
	file, err := a.store.Find(c)
	switch {
	case errors.Is(err, pending.ErrDamaged), errors.Is(err, pending.ErrAnswer):
		return left(usagef("%w; correct it, or remove it with acp-bridge questions clear", err))
	case err != nil && !errors.Is(err, pending.ErrNotFound):
		return left(err)
	case file != nil && file.Settled():
		r := fromFile(file, modePrint)
		return r.Outcome, r.Outcome.Err()
	}
	if o, ok := a.live(ctx, desk.Question, c); ok {
		return finished(o)
	}
	if a.pending, err = a.store.Post(c); err != nil {
		return left(err)
	}
	return left(errPending)
}

// live asks where somebody may be: at the hub, and on the terminal.
func (a *printAsker) live(ctx context.Context, kind desk.Kind, c convert.Call) (o convert.Outcome, ok bool) {
	local := func(ctx context.Context, c convert.Call) (convert.Outcome, error) {
		return askTerminal(ctx, c, true, a.s)
	}
	if a.headless {
		local = nil
	}
	if a.desk != nil {
		o, _ = a.desk.ask(ctx, kind, c, local)
		return o, true
	}
	if local == nil {
		return o, false
	}
	o, err := local(ctx, c)
	return o, !errors.Is(err, terminal.ErrNoTerminal)
}

// done forgets what the turn asked: it is over, wherever the answers came from.
func (a *printAsker) done() {
	a.desk.used(a.run.name)
	asked, err := a.store.List()
	for _, f := range asked {
		if f.Session == a.run.name && f.Foreign == nil {
			err = errors.Join(err, a.store.Clear(f))
		}
	}
	if err != nil {
		fmt.Fprintf(a.s.err, "acp-bridge chat: the turn is over, but %s\n", oneLine(err))
	}
}

// approver answers permission requests. No file does: an agent could write one.
type approver struct{ *printAsker }

var _ adapter.Resolver = approver{}

// Ask implements [adapter.Resolver].
func (a approver) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	what := clean.Truncate(clean.Line(c.Questions[0].Text), 100)
	c.Session, c.ID = a.run.name, ""
	if o, ok := a.live(ctx, desk.Permission, c); ok {
		return finished(o)
	}
	return left(fmt.Errorf("the agent needs permission, and nobody can be asked for it: %s (use --hub or a terminal, or allow it in the agent's settings)", what))
}

// finished is an outcome that people gave, or the end of the connection to them.
func finished(o convert.Outcome) (convert.Outcome, error) {
	if o.Status == convert.Disconnected {
		return left(errors.New(o.Message()))
	}
	return o, o.Err()
}

// left leaves a question without a reply.
func left(err error) (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Disconnected, Reason: err.Error()}, err
}

// printRun remembers, in the user's state folder, which session a command is to
// go on with.
type printRun struct {
	name string // stands for the command
	path string // empty if there is no place for it
}

func newPrintRun(agent []string, prompt, dir string) printRun {
	sum := sha256.Sum256([]byte(strings.Join(append(append([]string{dir}, agent...), prompt), "\x00")))
	r := printRun{name: "chat-" + hex.EncodeToString(sum[:8])}
	if state, err := hublink.DataDir(); err == nil {
		r.path = filepath.Join(filepath.Dir(state), "chat", r.name)
	}
	return r
}

func (r printRun) session() string {
	data, _ := os.ReadFile(r.path)
	return strings.TrimSpace(string(data))
}

func (r printRun) keep(session string) error {
	if r.path == "" || session == "" {
		return errors.New("there is no place for it")
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.path, []byte(session+"\n"), 0o600)
}

func (r printRun) forget() { _ = os.Remove(r.path) }
