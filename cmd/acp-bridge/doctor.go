package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/claude/transcript"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// finding is one thing that the doctor looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Found says what is there; it never holds a secret.
	Found string `json:"found"`
	// Do says what to do about it when it is not OK.
	Do string `json:"do,omitempty"`
}

// errUnwell makes the command exit with 1 after everything was printed.
var errUnwell = errors.New("something is wrong: see above")

func runDoctor(ctx context.Context, args []string, s streams) error {
	fs := newFlags("doctor", "[FLAGS]", s)
	path := fs.String("claude", "", "`path` of the Claude Code executable (default: found)")
	editor := fs.String("editor", "", "print the settings for an `editor`: zed, jetbrains, codecompanion, avante, agentic, emacs, vscode, acpx")
	clients := fs.Bool("clients", false, "print how each known editor is asked")
	agents := fs.Bool("agents", false, "print what is known of agents for acp-bridge proxy")
	agent := fs.String("agent", "", "with --editor: print the settings for this `agent` behind acp-bridge proxy")
	asJSON := fs.Bool("json", false, "print JSON")
	if file, err := fs.parse(args); err != nil || file != "" {
		if err == nil {
			err = usagef("unexpected argument %q", file)
		}
		return err
	}
	switch {
	case *clients:
		return printClients(s, *asJSON)
	case *agents:
		return printAgents(s, *asJSON)
	case *agent != "" && *editor == "":
		return usagef("--agent is for the settings of an editor: --editor zed --agent %s", *agent)
	case *editor != "":
		flags, err := checkedFlags(ctx, *path)
		if err != nil {
			return err
		}
		return printEditor(s, *editor, *agent, ownPath(), flags, *asJSON)
	}
	findings := examine(ctx, *path)
	if err := printFindings(s, findings, *asJSON); err != nil {
		return err
	}
	for _, f := range findings {
		if !f.OK {
			return errUnwell
		}
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

// ownPath is how an editor starts this program.
func ownPath() string {
	if found, err := exec.LookPath("acp-bridge"); err == nil {
		return found
	}
	if self, err := os.Executable(); err == nil {
		return self
	}
	return "acp-bridge"
}

func examine(ctx context.Context, explicit string) []finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	findings := []finding{{What: "acp-bridge", OK: true, Found: version() + " at " + ownPath()}}
	path, err := claude.Find(explicit, os.Getenv)
	if err != nil {
		findings = append(findings, finding{"Claude Code", false, oneLine(err), "install it with `npm install -g @anthropic-ai/claude-code`, or name it with --claude"})
	} else {
		findings = append(findings, examineVersion(ctx, path), examineLogin(ctx, path))
	}
	return append(findings,
		examineFolder("sessions of Claude Code", transcript.ConfigDir(os.Getenv)),
		examineFolder("temporary files", os.TempDir()))
}

func examineVersion(ctx context.Context, path string) finding {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	text := clean.Line(string(out))
	switch {
	case err == nil && text == "":
		err = errors.New("it printed nothing")
	case err == nil && !strings.Contains(text, "Claude Code"):
		return finding{"Claude Code", false, fmt.Sprintf("%s is not Claude Code: it says %q", path, clean.Truncate(text, 80)), "name Claude Code with --claude"}
	}
	if err != nil {
		return finding{"Claude Code", false, fmt.Sprintf("%s does not tell its version: %v", path, err), "run it in a terminal, and install it again if it does not start"}
	}
	return finding{What: "Claude Code", OK: true, Found: text + " at " + path}
}

func examineLogin(ctx context.Context, path string) finding {
	const login = "run `acp-bridge login` or `claude /login` in a terminal, log in from an editor that can, or set ANTHROPIC_API_KEY for the editor"
	ok, method, err := claude.LoggedIn(ctx, path, nil)
	switch {
	case errors.Is(err, claude.ErrNoAuthCommand):
		return finding{What: "credentials", OK: true, Found: "this version of Claude Code does not tell"}
	case err != nil:
		return finding{"credentials", false, oneLine(err), login}
	case !ok:
		return finding{"credentials", false, "nobody is logged in", login}
	}
	return finding{What: "credentials", OK: true, Found: "there (" + clean.Line(method) + ")"}
}

// examineFolder checks that files can be made in a folder, or that it can be
// made itself.
func examineFolder(what, dir string) finding {
	existing := dir
	for {
		if _, err := os.Stat(existing); err == nil || existing == filepath.Dir(existing) {
			break
		}
		existing = filepath.Dir(existing)
	}
	f, err := os.CreateTemp(existing, ".acp-bridge-doctor-*")
	if err != nil {
		return finding{what, false, oneLine(err), "make " + existing + " a folder that you can write to"}
	}
	f.Close()
	os.Remove(f.Name())
	return finding{What: what, OK: true, Found: "can be written in " + dir}
}

func printFindings(s streams, findings []finding, asJSON bool) error {
	if asJSON {
		return printJSON(s, map[string]any{"findings": findings})
	}
	for _, f := range findings {
		mark := "ok   "
		if !f.OK {
			mark = "WRONG"
		}
		fmt.Fprintf(s.out, "%s  %s: %s\n", mark, f.What, f.Found)
		if f.Do != "" {
			fmt.Fprintf(s.out, "       %s\n", f.Do)
		}
	}
	var names []string
	for _, e := range editors {
		names = append(names, e.name)
	}
	_, err := fmt.Fprintf(s.out, "\nSettings for your editor: acp-bridge doctor --editor %s\n", strings.Join(names, "|"))
	return err
}

// clientRow is one known editor and how it is asked.
type clientRow struct {
	Name   string `json:"name"`
	Editor string `json:"editor"`
	First  string `json:"first"`
	Title  string `json:"title"`
	Guard  bool   `json:"guard"`
	Note   string `json:"note"`
}

func printClients(s streams, asJSON bool) error {
	var rows []clientRow
	for _, c := range editor.Clients() {
		row := clientRow{Name: c.Name, Editor: c.Editor, First: c.First().String(), Title: "header", Guard: c.Guard && c.Name != "", Note: c.Note}
		if c.Title == ask.TitleHeaderAndQuestion {
			row.Title = "header and question"
		}
		rows = append(rows, row)
	}
	if asJSON {
		return printJSON(s, map[string]any{"clients": rows})
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EDITOR\tclientInfo.name\tASKED FIRST BY\tTITLE\tGUARD\tWHY")
	for _, r := range rows {
		name, guard := r.Name, "-"
		switch {
		case name == "":
			name, guard = "-", "by the flag"
		case r.Guard:
			guard = "on"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Editor, name, r.First, r.Title, guard, r.Note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, `
auto: by %s if the editor has forms, else by %s. Editors that are not listed are
asked that way, too, and trusted. Editors without a name cannot be recognised: if
one answers by itself, start acp-bridge with --guard-auto-answers; if it shows no
options, with --ask %s.
`, adapter.Form, adapter.Permission, adapter.Conversation)
	return err
}
