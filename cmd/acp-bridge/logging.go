package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/cmd/internal/redact"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// logOptions say what is logged and where.
type logOptions struct {
	level       slog.Level
	file, trace string
}

func (l *logOptions) flags(fs *flagSet) {
	l.level = slog.LevelWarn
	levelFlag(fs, &l.level)
	fs.StringVar(&l.file, "log-file", "", "`file` to log to (default: stderr)")
	fs.StringVar(&l.trace, "trace", "", "`file` to record all messages from and to the editor and the agent")
}

func levelFlag(fs *flagSet, p *slog.Level) {
	fs.TextVar(p, "log-level", *p, "minimum log `level`: debug, info, warn, error")
	fs.Values("log-level", "debug", "info", "warn", "error")
}

// traceFunc sees a line of a wire.
type traceFunc = func(wire string, dir ndjson.Direction, text []byte)

// open makes the logger and the trace, which also sees what is secret.
func (l *logOptions) open(s streams) (log *slog.Logger, trace traceFunc, closeAll func(), err error) {
	var files []io.Closer
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	out := s.Err
	if l.file != "" {
		f, err := openPrivate(l.file)
		if err != nil {
			return nil, nil, nil, cli.Usage(err)
		}
		files = append(files, f)
		out = &logFile{w: f, err: s.Err}
	}
	hide := redact.Find(os.Environ())
	out = &redact.Writer{W: out, Secrets: hide}
	log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: l.level, ReplaceAttr: hide.HideAttr}))
	write := func(string, ndjson.Direction, []byte) {}
	if l.trace != "" {
		f, err := openPrivate(l.trace)
		if err != nil {
			closeAll()
			return nil, nil, nil, cli.Usage(err)
		}
		files = append(files, f)
		write = newTracer(f, log, hide).line
	}
	trace = func(wire string, dir ndjson.Direction, text []byte) {
		hide.LearnForm(text)
		toAgent := dir == ndjson.Out && wire == "agent" && bytes.Contains(text, []byte(`"mcpServers"`)) // the proxy's own tool is among them
		if toAgent || dir == ndjson.In && wire == "editor" {
			hide.Learn(text)
		}
		write(wire, dir, text)
	}
	return log, trace, closeAll, nil
}

// openPrivate opens a file that only its owner can read: what is said to an
// agent is nobody else's business. What is no file, such as /dev/null, stays as
// it is. A pipe is refused: the bridge would wait for its reader.
func openPrivate(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s is a pipe, expected a file", name)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND|proc.NoWait, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// logFile is a log that says once, elsewhere, that it cannot be written. The
// disk may have room again later.
type logFile struct {
	w, err io.Writer
	once   sync.Once
}

func (l *logFile) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	if err != nil {
		l.once.Do(func() { fmt.Fprintf(l.err, "acp-bridge: the log is incomplete: %s\n", oneLine(err)) })
	}
	return n, err
}

// tracer writes the lines of both wires, each with its time, as NDJSON.
type tracer struct {
	secrets *redact.Secrets
	log     *slog.Logger

	mu     sync.Mutex
	w      io.Writer
	failed bool
}

func newTracer(w io.Writer, log *slog.Logger, hide *redact.Secrets) *tracer {
	return &tracer{w: w, log: log, secrets: hide}
}

type traceLine struct {
	Time string `json:"time"`
	// Wire is "editor", or the session whose Claude Code it is.
	Wire string           `json:"wire"`
	Dir  ndjson.Direction `json:"dir"`
	Line json.RawMessage  `json:"line,omitempty"`
	// Dropped is how long a line was that is not here: it is no JSON, so what is
	// secret in it cannot be told.
	Dropped int `json:"dropped,omitempty"`
}

func (t *tracer) line(wire string, dir ndjson.Direction, text []byte) {
	l := traceLine{Time: time.Now().UTC().Format(time.RFC3339Nano), Wire: wire, Dir: dir}
	hidden, err := t.secrets.HideLine(text)
	if err != nil {
		hidden, l.Dropped = nil, len(text)
	}
	l.Line = hidden
	b, err := clean.EncodeJSON(l)
	if err != nil || t.secrets.Holds(b) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed {
		return
	}
	if _, err := t.w.Write(append(b, '\n')); err != nil {
		t.failed = true
		t.log.Warn("the trace ends here: the file cannot be written", "err", err)
	}
}
