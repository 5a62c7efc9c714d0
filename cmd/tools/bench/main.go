package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// limit bounds the whole run, stepLimit one measurement of one agent.
const (
	limit     = time.Hour
	stepLimit = 5 * time.Minute
)

func main() {
	claudetest.Main()
	sdkMain()
	floorMain()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == "fleet" {
		return runFleet(ctx, args[1:], out, errOut)
	}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(errOut)
	quick := fs.Bool("quick", false, "fewer repetitions: some seconds")
	asJSON := fs.Bool("json", false, "print JSON in place of the table")
	only := fs.String("only", "", "measure one `STEP` alone: "+strings.Join(stepNames(), ", "))
	rounds := fs.Int("rounds", 0, "how often each step is repeated (default 5, or 1 with --quick)")
	var others agentList
	fs.Var(&others, "agent", "another ACP agent to compare with, as `NAME=COMMAND`; may be repeated")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	sizes := full
	if *quick {
		sizes = short
	}
	if *only != "" && !slices.Contains(stepNames(), *only) {
		fmt.Fprintf(errOut, "bench: --only must be one of %s, got %q\n", strings.Join(stepNames(), ", "), *only)
		return 2
	}
	if *rounds > 0 {
		sizes.rounds = *rounds
	}
	t, err := measure(ctx, sizes, *only, others, errOut)
	if err == nil {
		if *asJSON {
			err = t.json(out)
		} else {
			err = t.print(out)
		}
	}
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	return 0
}

// agentList is the value of --agent.
type agentList []subject

func (l *agentList) String() string { return "" }

func (l *agentList) Set(s string) error {
	name, command, ok := strings.Cut(s, "=")
	fields := strings.Fields(command)
	if !ok || name == "" || len(fields) == 0 {
		return fmt.Errorf("expected NAME=COMMAND, got %q", s)
	}
	*l = append(*l, subject{name: name, command: fields, foreign: true})
	return nil
}

// subject is an agent that is measured.
type subject struct {
	name    string
	command []string
	foreign bool // it may fail: then the table says so
	forms   bool // its editor has forms
}

// The columns that are always there.
const (
	direct  = "direct"
	sdk     = "SDK"
	minimal = "minimal"
	product = "acp-bridge"
)

// sizes say how much is measured.
type sizes struct {
	starts    int // processes started, and sessions opened
	rounds    int // of what follows; floor and product take turns
	questions int // a round
	deltas    int // of a burst
	large     int // deltas of 1 kB of a burst
	steady    time.Duration
	rate      int // steady deltas a second
	waiting   []int
	open      int // questions, over each of spread sessions
	spread    []int
	real      int // sessions with the real CLI
}

var (
	full = sizes{
		starts: 30, rounds: 5, questions: 500, deltas: 20_000, large: 5000, steady: 2 * time.Second, rate: 5000,
		waiting: []int{10, 50, 100}, open: 1000, spread: []int{1, 10, 100}, real: 10,
	}
	short = sizes{
		starts: 5, rounds: 1, questions: 500, deltas: 20_000, large: 5000, steady: time.Second, rate: 5000,
		waiting: []int{10, 50, 100}, open: 1000, spread: []int{1, 10, 100}, real: 1,
	}
)

// long is the rounds of what takes seconds.
func (s sizes) long() int { return (s.rounds + 1) / 2 }

// bench is one run.
type bench struct {
	ctx      context.Context
	sizes    sizes
	dir      string
	subjects []subject
	table    *table
	progress io.Writer
}

// steps are what is measured, in order.
var steps = []struct {
	name string
	run  func(*bench) error
}{
	{"start", (*bench).start},
	{"real", (*bench).real},
	{"questions", (*bench).questions},
	{"forms", (*bench).forms},
	{"burst", (*bench).burst},
	{"large", (*bench).large},
	{"steady", (*bench).steady},
	{"memory", (*bench).memory},
	{"many", (*bench).many},
	{"proxy", (*bench).proxy},
}

func stepNames() (names []string) {
	for _, step := range steps {
		names = append(names, step.name)
	}
	return names
}

// measure takes all steps, or the only one.
func measure(ctx context.Context, s sizes, only string, others []subject, progress io.Writer) (*table, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("CPU time and memory are read from /proc: this needs Linux")
	}
	dir, err := os.MkdirTemp("", "acp-bridge-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, sizes: s, dir: dir, progress: progress}
	if err := b.build(); err != nil {
		return nil, err
	}
	b.subjects = append(b.subjects, others...)
	b.table = newTable(b.subjects)
	for _, step := range steps {
		if only != "" && step.name != only {
			continue
		}
		fmt.Fprintf(progress, "bench: %s\n", step.name)
		if err := step.run(b); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.table, nil
}

// build makes the programs that are compared.
func (b *bench) build() error {
	if err := repository.Build(b.dir, "acp-bridge"); err != nil {
		return err
	}
	const here = "github.com/acp-bridge/acp-bridge/cmd/tools/bench/"
	cmd := exec.CommandContext(b.ctx, "go", "build", "-o", b.dir+string(os.PathSeparator), here+"minimal", here+"copy")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	for _, name := range []string{minimal, product} {
		b.subjects = append(b.subjects, subject{name: name, command: []string{filepath.Join(b.dir, name)}})
	}
	return nil
}

// each runs f once for every agent. A foreign one may fail, and is then left
// out of this step.
func (b *bench) each(f func(ctx context.Context, s subject) error) error {
	for _, s := range b.subjects {
		if b.table.failed(s.name) {
			continue
		}
		ctx, cancel := context.WithTimeout(b.ctx, stepLimit)
		err := f(ctx, s)
		cancel()
		switch {
		case err == nil:
		case s.foreign && b.ctx.Err() == nil:
			b.table.fail(s.name, err)
			fmt.Fprintf(b.progress, "bench: %s is left out of this step: %v\n", s.name, err)
		default:
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// script installs a stand-in and returns its path.
func (b *bench) script(s claudetest.Script) (string, error) {
	dir, err := os.MkdirTemp(b.dir, "cli-")
	if err != nil {
		return "", err
	}
	return claudetest.Install(dir, s)
}

// env is the environment of an agent whose Claude Code is at path.
func (b *bench) env(path string) []string {
	return environment(b.dir, "ACP_BRIDGE_CLAUDE="+path, "CLAUDE_CODE_EXECUTABLE="+path, "ANTHROPIC_API_KEY=bench")
}
