package main

import (
	"cmp"
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
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
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
	fs.Func("p", "run one turn with this `prompt` and exit; @FILE at the start stands\nfor the contents of that file. If that file holds an open question,\nthe rest answers it, in the session that asked", func(v string) error {
		p.prompt, p.given = v, true
		return nil
	})
	fs.BoolVar(&p.headless, "headless", false, "with -p: do not use the terminal, even if there is one. Questions wait in a\nfile, and the same command again goes on")
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

// piped reports whether the lines of the input are answers, too.
func (p *printOptions) piped() bool { return !p.given && p.answers.given && p.answers.inline == "-" }

// check refuses flags that mean nothing without a prompt.
func (p *printOptions) check() error {
	if !p.given && (p.headless || p.answers.given && !p.piped() || p.answers.file != "" || p.answers.strict || p.hub.TokenFile != "") {
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
	t := &printedTurn{run: newPrintRun(agent, p.prompt, o.Dir), last: o.Last}
	c := chainOf("chat", o.Dir, s)
	if c.Given, err = p.answers.forCalls(s); err != nil {
		return err
	}
	c.GivenBy, c.Leave, c.Sessions, c.Resumed = p.answers.name(), true, t.sessions, t.resumed
	if c.Hub = p.hub.Options(hubLogger("chat", s)); c.Hub != nil {
		if err := os.Unsetenv(hubEnv); err != nil { // the agent does not ask there a second time
			return err
		}
	}
	if !p.headless {
		c.Terminal = nearby{true, s}
	}
	t.chain = pending.New(c)
	defer t.chain.Close()
	o.Prompt, o.Once, o.Hidden, o.Plain = prompt, true, true, true
	o.Resolver, o.Approver, o.Opened = t, approver{t.chain.Approver()}, t.opened
	if f := pendingIn(c.Store, p.prompt); f != nil {
		t.answers, o.Instead = f.ID, true
		t.resumes = f.Session
	} else {
		t.resumes = t.run.session()
	}
	switch {
	case o.Session != "" || o.Last:
		t.resumes = o.Session
	case t.resumes != "":
		o.Session, o.Rest = t.resumes, true
	}
	return t.end(client.RunAgent(ctx, agent, o), s)
}

// printedTurn answers the questions of a turn. Where nobody can, they go into a
// file and the turn is left; whoever takes up the session again, or runs the same
// command, goes on with it.
type printedTurn struct {
	chain   *pending.Chain
	run     printRun
	resumes string // the session that is taken up again, if it is known
	last    bool   // or the last one
	session string // the agent's
	answers string // the id of the question that the prompt answers, in words
	again   bool   // the agent asks that again, until it has the prompt
	asked   []*pending.Asking
}

// pendingIn is the question that a prompt begins with, as @FILE, if it waits for
// an answer.
func pendingIn(store *pending.Store, prompt string) *pending.File {
	name, words, _ := strings.Cut(strings.TrimPrefix(prompt, "@"), " ")
	if !strings.HasPrefix(prompt, "@") || strings.TrimSpace(words) == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(store.Dir, name)
	}
	f, err := store.Open(name)
	if err != nil || f.Err != nil || f.Foreign != nil || f.Session == "" || f.Settled() {
		return nil
	}
	return f
}

func (t *printedTurn) opened(session string, again bool) { t.session, t.again = session, again }

// sessions are the names by which the questions are claimed: the agent's session,
// and the command, for agents that cannot resume one.
func (t *printedTurn) sessions(convert.Call) []string {
	return []string{"session " + t.session, string(t.run)}
}

// resumed are those that are taken up again. Without it, a session's name is that
// of another: some agents count theirs.
func (t *printedTurn) resumed(c convert.Call) []string {
	if t.last || t.resumes != "" && t.resumes == t.session {
		return t.sessions(c)
	}
	return t.sessions(c)[1:]
}

// Ask implements [adapter.Resolver]. What it got is handed over when the turn is
// over: until then the agent may have to be told again.
func (t *printedTurn) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	t.session = cmp.Or(t.session, c.Session) // asked before the session was said to be open
	c.Session, c.ID = t.session, ""
	a := t.chain.Begin(ctx, c)
	t.asked = append(t.asked, a)
	if f := a.File(); f != nil && f.ID == t.answers && t.again {
		t.again = false
		<-ctx.Done() // the prompt takes its place
	}
	o, err := a.Wait()
	switch why := a.Err(); {
	case errors.Is(why, pending.ErrNobody):
		return left(errors.New("the agent asks for a secret, which is put into no file and to no hub; run this where somebody can type it, in a terminal and without --headless"))
	case why != nil:
		return left(uncorrected(why))
	}
	if err != nil && ctx.Err() != nil {
		return left(err)
	}
	return finished(o, err)
}

// end ends the program as the turn has ended.
func (t *printedTurn) end(err error, s streams) error {
	switch {
	case errors.Is(err, pending.ErrPending):
		if err := t.run.keep(t.session); err != nil {
			fmt.Fprintf(s.Err, "acp-bridge chat: the session could not be recorded; the same command will start a new one: %s\n", oneLine(err))
		}
		f := t.asked[len(t.asked)-1].File()
		fmt.Fprint(s.Err, instructions(f, inWords(f)))
		return cli.Exit{Code: exitPending}
	case err == nil || errors.Is(err, client.ErrCancelled):
		t.run.forget()
		var problem error
		for _, a := range t.asked {
			problem = errors.Join(problem, a.Deliver(func() error { return nil }))
		}
		if problem := errors.Join(problem, t.chain.Forget(t.resumed(convert.Call{})...)); problem != nil {
			fmt.Fprintf(s.Err, "acp-bridge chat: the turn is over, but %s\n", oneLine(problem))
		}
	}
	return chatResult(err)
}

// approver answers permission requests.
type approver struct{ adapter.Poster }

// Post implements [adapter.Poster].
func (a approver) Post(ctx context.Context, c convert.Call) adapter.Asking {
	return approving{a.Poster.Post(ctx, c), clean.Truncate(clean.Line(c.Questions[0].Text), 100)}
}

// approving is a permission that somebody is asked for.
type approving struct {
	adapter.Asking
	what string
}

// Wait implements [adapter.Asking].
func (a approving) Wait() (convert.Outcome, error) {
	o, err := a.Asking.Wait()
	if errors.Is(err, pending.ErrNobody) {
		return left(fmt.Errorf("the agent needs permission, and nobody can be asked for it: %s (use --hub or a terminal, or allow it in the agent's settings)", a.what))
	}
	return finished(o, err)
}

// finished is an outcome that people gave, or the end of the connection to them.
func finished(o convert.Outcome, err error) (convert.Outcome, error) {
	if o.Status == convert.Disconnected {
		return left(err)
	}
	return o, err
}

// left leaves a question without a reply.
func left(err error) (convert.Outcome, error) {
	return convert.Outcome{Status: convert.Disconnected, Reason: err.Error()}, err
}

// printRun stands for a command, and remembers, in the user's state folder, which session
// it is to go on with.
type printRun string

func newPrintRun(agent []string, prompt, dir string) printRun {
	sum := sha256.Sum256([]byte(strings.Join(append(append([]string{dir}, agent...), prompt), "\x00")))
	return printRun("chat-" + hex.EncodeToString(sum[:8]))
}

func (r printRun) state() string { return filepath.Join("chat", string(r)) }

func (r printRun) session() (id string) {
	_ = hublink.ReadState(r.state(), &id) // without it the command begins anew
	return id
}

func (r printRun) keep(session string) error {
	if session == "" {
		return errors.New("the agent has named none")
	}
	return hublink.WriteState(r.state(), session)
}

func (r printRun) forget() { _ = hublink.RemoveState(r.state()) }
