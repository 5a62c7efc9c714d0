package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
	"github.com/acp-bridge/acp-bridge/internal/watch"
)

// errUnwell makes the command exit with 1 after everything was printed.
var errUnwell = errors.New("something is wrong: see above")

// doctorOptions say what is to be looked at, or printed.
type doctorOptions struct {
	claude, editor, agent   string
	clients, agents, asJSON bool
}

func doctorCommand(fs *flagSet) runner {
	o := new(doctorOptions)
	fs.StringVar(&o.claude, "claude", "", "`path` of the Claude Code executable (default: found)")
	fs.StringVar(&o.editor, "editor", "", "print the settings for an `editor`: "+strings.Join(editorNames(), ", "))
	fs.Values("editor", editorNames()...)
	fs.BoolVar(&o.clients, "clients", false, "print how each known editor is asked")
	fs.BoolVar(&o.agents, "agents", false, "print what is known about agents for acp-bridge proxy")
	fs.StringVar(&o.agent, "agent", "", "with --editor: print the settings for this `agent` behind acp-bridge proxy")
	fs.Values("agent", agentNames()...)
	fs.BoolVar(&o.asJSON, "json", false, "print JSON")
	return fs.Alone(o.run)
}

func (o *doctorOptions) run(ctx context.Context, s streams) error {
	switch {
	case o.clients:
		return printClients(s, o.asJSON)
	case o.agents:
		return printAgents(s, o.asJSON)
	case o.agent != "" && o.editor == "":
		return misused("--agent needs --editor, as in --editor zed --agent %s", o.agent)
	case o.editor != "":
		flags, err := checkedFlags(ctx, o.claude)
		if err != nil {
			return err
		}
		return printEditor(s, o.editor, o.agent, ownPath(), flags, o.asJSON)
	}
	mendEnvironment()
	findings := examine(ctx, o.claude)
	if err := printFindings(s, findings, o.asJSON); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f watch.Finding) bool { return !f.OK }) {
		return errUnwell
	}
	return nil
}

// checkedFlags are the flags that settings need so that an editor gets the Claude
// Code that was named, if it is one.
func checkedFlags(ctx context.Context, explicit string) ([]string, error) {
	if explicit == "" {
		return nil, nil
	}
	path, err := claude.Find(explicit, os.Getenv)
	if err != nil {
		return nil, err
	}
	if f := examineVersion(ctx, path); !f.OK {
		return nil, errors.New(f.Found)
	}
	return []string{"--claude", path}, nil
}

// ownPath is how an editor starts this program: as it is found, or itself where npm's
// launcher is found, which would stay beside it with a node.
func ownPath() string {
	found, err := exec.LookPath("acp-bridge")
	if err == nil && !isScript(found) {
		return found
	}
	if self, err := os.Executable(); err == nil {
		return self
	}
	return cmp.Or(found, "acp-bridge")
}

func isScript(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var start [2]byte
	_, _ = io.ReadFull(f, start[:])
	return string(start[:]) == "#!" || strings.EqualFold(filepath.Ext(name), ".cmd")
}

func examine(ctx context.Context, explicit string) []watch.Finding {
	ctx, cancel := context.WithTimeout(ctx, claude.CommandTime)
	defer cancel()
	findings := []watch.Finding{watch.Fine("acp-bridge", version()+" at "+ownPath())}
	path, err := claude.Find(explicit, os.Getenv)
	found := ""
	if err != nil {
		findings = append(findings, watch.Wrong("Claude Code", notFound(err), "install it with `npm install -g @anthropic-ai/claude-code`, or name it with --claude"))
	} else {
		its := examineVersion(ctx, path)
		found = its.Found
		if findings = append(findings, its); its.OK {
			findings = append(findings, examineLogin(ctx, path))
		}
	}
	findings = append(append(findings, watch.ExamineClaude(ctx, found)...), watch.ExamineAgents(ctx, ownPath(), refuses)...)
	if address := os.Getenv(hubEnv); address != "" {
		findings = append(findings, examineHub(ctx, address))
	} else {
		findings = append(findings, examineOwnHub(ctx))
	}
	return append(findings,
		examineFolder("sessions of Claude Code", transcript.ConfigDir(os.Getenv)),
		examineFolder("temporary files", os.TempDir()))
}

// examineOwnHub says whether a hub of this user runs here. None has to.
func examineOwnHub(ctx context.Context) watch.Finding {
	f := watch.Fine("hub", "none runs on this machine; acp-bridge up starts one")
	if h, err := hublink.Running(ctx); err == nil {
		f.Found = "runs at " + h.Address
		if h.LAN {
			f.Found += "; phones on this network reach it"
		}
	}
	return f
}

// examineHub looks whether questions can be put to the hub that is configured.
func examineHub(ctx context.Context, address string) watch.Finding {
	h := hubFlags{hublink.Named{Address: address}}
	err := h.check(0)
	if err == nil {
		err = hublink.Probe(ctx, h.Call)
	}
	var said hublink.ReplyError
	switch ok := errors.As(err, &said); {
	case err == nil:
		return watch.Fine("hub", clean.Line(address)+" takes the token")
	case ok && (said.Status == http.StatusUnauthorized || said.Status == http.StatusForbidden):
		return watch.Wrong("hub", clean.Line(address)+" refuses the token: "+said.Error(), "make one with `acp-bridge-hub device add NAME --can ask`, and put it into "+tokenEnv)
	}
	return watch.Wrong("hub", clean.Line(oneLine(err)), "start it with `acp-bridge hub`, or correct "+hubEnv+" ("+clean.Line(address)+")")
}

// notFound is where Claude Code was looked for, a place a line. What to do about it
// is said below.
func notFound(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\nInstall it")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean.Line(l)
	}
	return strings.Join(lines, "\n")
}

func examineVersion(ctx context.Context, path string) watch.Finding {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = proc.Environ(nil)
	out, err := cmd.Output()
	text := clean.Line(string(out))
	switch {
	case err == nil && text == "":
		err = errors.New("it printed nothing")
	case err == nil && !strings.Contains(text, "Claude Code"):
		return watch.Wrong("Claude Code", fmt.Sprintf("%s is not Claude Code: it says %q", path, clean.Truncate(text, 80)), "name Claude Code with --claude")
	}
	if err != nil {
		return watch.Wrong("Claude Code", fmt.Sprintf("%s does not report its version: %v", path, err), "run it in a terminal, and reinstall it if it does not start")
	}
	return watch.Fine("Claude Code", text+" at "+path)
}

func examineLogin(ctx context.Context, path string) watch.Finding {
	const login = "run `acp-bridge login` or `claude /login` in a terminal, log in from an editor that can, or set ANTHROPIC_API_KEY for the editor"
	ok, method, err := claude.LoggedIn(ctx, path, nil)
	switch {
	case errors.Is(err, claude.ErrNoAuthCommand):
		return watch.Fine("credentials", "unknown: this version of Claude Code does not say")
	case err != nil:
		return watch.Wrong("credentials", oneLine(err), login)
	case !ok:
		return watch.Wrong("credentials", "nobody is logged in", login)
	}
	return watch.Fine("credentials", "there ("+clean.Line(method)+")")
}

// examineFolder checks that files can be made in a folder, or that it can be
// made itself.
func examineFolder(what, dir string) watch.Finding {
	existing := dir
	for {
		if _, err := os.Stat(existing); err == nil || existing == filepath.Dir(existing) {
			break
		}
		existing = filepath.Dir(existing)
	}
	f, err := os.CreateTemp(existing, ".acp-bridge-doctor-*")
	if err != nil {
		return watch.Wrong(what, oneLine(err), "make "+existing+" a folder that you can write to")
	}
	f.Close()
	os.Remove(f.Name())
	return watch.Fine(what, "can be written in "+dir)
}

func printFindings(s streams, findings []watch.Finding, asJSON bool) error {
	if asJSON {
		return printJSON(s, map[string]any{"findings": findings})
	}
	widest := 0
	for _, f := range findings {
		widest = max(widest, len(f.What))
	}
	for _, f := range findings {
		mark := "ok"
		if !f.OK {
			mark = "WRONG"
		}
		lead := strings.Repeat(" ", len("WRONG  ")+widest+2)
		text := ""
		for line := range strings.SplitSeq(f.Found, "\n") {
			text += cli.Indent(wrapPath(line, cli.Width-len(lead)), lead)
		}
		if f.Do != "" {
			text += cli.Indent(cli.Wrap("fix: "+f.Do, cli.Width-len(lead)), lead)
		}
		fmt.Fprintf(s.Out, "%-5s  %-*s  %s", mark, widest, f.What, text[len(lead):])
	}
	_, err := fmt.Fprintf(s.Out, "\nSettings for your editor: acp-bridge doctor --editor NAME\n%s",
		cli.Indent(cli.Wrap("NAME is one of "+strings.Join(editorNames(), ", "), cli.Width-2), "  "))
	return err
}

// wrapPath wraps a text, and breaks long paths behind a separator.
func wrapPath(text string, width int) string {
	words := strings.Fields(text)
	for i, w := range words {
		for rest := w; len(rest) > width; {
			at := strings.LastIndexAny(rest[:width], `/:\`) + 1
			if at == 0 {
				break
			}
			w = w[:len(w)-len(rest)+at] + " " + rest[at:]
			rest = rest[at:]
		}
		words[i] = w
	}
	return cli.Wrap(strings.Join(words, " "), width)
}

// clientRow is one known editor and how it is asked.
type clientRow struct {
	Name   string `json:"name"`
	Editor string `json:"editor"`
	First  string `json:"first"`
	Title  string `json:"title"`
	Guard  bool   `json:"guard"`
	Note   string `json:"note"`
	From   string `json:"from"`
}

func printClients(s streams, asJSON bool) error {
	var rows []clientRow
	for _, c := range editor.Clients() {
		row := clientRow{Name: c.Name, Editor: c.Editor, First: c.First().String(), Title: "header", Guard: c.Guard && c.Name+c.Prompts != "", Note: c.Note, From: c.From}
		if c.Title == ask.TitleHeaderAndQuestion {
			row.Title = "header and question"
		}
		rows = append(rows, row)
	}
	if asJSON {
		return printJSON(s, map[string]any{"clients": rows, "editors": scripted.Editors()})
	}
	printSeen(s)
	fmt.Fprintln(s.Out, "\nWhat acp-bridge knows about editors, by name:")
	columns := []column{20, 18, 7, 8, 11}
	fmt.Fprint(s.Out, row(columns, "EDITOR", "clientInfo.name", "FIRST", "TITLE", "GUARD"))
	for _, r := range rows {
		name, guard := cmp.Or(r.Name, "-"), "-"
		switch {
		case r.Guard:
			guard = "on"
		case r.Name == "":
			guard = "by the flag"
		}
		fmt.Fprint(s.Out, row(columns, r.Editor, name, r.First, r.Title, guard), cli.Indent(cli.Wrap(r.Note+" ("+r.From+")", cli.Width-4), "    "))
	}
	_, err := fmt.Fprintf(s.Out, "\n%s", cli.Wrap(fmt.Sprintf("FIRST is the way that is tried first; auto means %s if the editor has forms, otherwise %s. "+
		"Editors that are not listed are asked that way, too, and trusted. Of those that report no name, only avante and goose are recognised, by their prompts. "+
		"If another one answers by itself, start acp-bridge with --guard-auto-answers; if it shows no options, with --ask %s.",
		adapter.Form, adapter.Permission, adapter.Conversation), cli.Width))
	return err
}

// printSeen prints how questions look in each editor.
func printSeen(s streams) {
	columns := []column{20, 17, 10, 12, 13}
	fmt.Fprint(s.Out, row(columns, "EDITOR", "QUESTIONS COME AS", "SEVERAL", "OWN WORDS", "DISMISS"))
	var notes []string
	for _, e := range scripted.Editors() {
		name := e.Editor
		if e.Note != "" {
			notes = append(notes, e.Editor+": "+e.Note+".")
			name += " (" + strconv.Itoa(len(notes)) + ")"
		}
		fmt.Fprint(s.Out, row(columns, name, e.Asked, e.Several, e.Own, e.Dismiss))
	}
	for i, n := range notes {
		fmt.Fprint(s.Out, cli.Wrap("("+strconv.Itoa(i+1)+") "+n, cli.Width))
	}
}
