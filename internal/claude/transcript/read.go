package transcript

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Transcript is an open session file. It shows the conversation as it was when
// the file was opened; what the CLI writes later is not seen.
type Transcript struct {
	path    string
	file    *os.File
	marks   []mark
	skipped Skipped
	// parent is the call of the sub-agent whose file this is.
	parent string
	depth  int
}

// Open reads through a session file, as Find returns it, and finds the branch
// that the conversation is on. The caller must close it.
func Open(ctx context.Context, path string) (*Transcript, error) {
	return open(ctx, path, "", 0)
}

func open(ctx context.Context, path, parent string, depth int) (*Transcript, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	x, err := buildIndex(ctx, f, maxLine, parent != "")
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("transcript: read %s: %w", path, err)
	}
	return &Transcript{path: path, file: f, marks: x.active(), skipped: x.skipped, parent: parent, depth: depth}, nil
}

// Close closes the file.
func (t *Transcript) Close() error { return t.file.Close() }

// Skipped counts the lines that were passed over.
func (t *Transcript) Skipped() Skipped { return t.skipped }

// Entries yields the conversation step by step, in the order in which it
// happened; a sub-agent's steps follow the call that started it. It ends early
// with an error if ctx ends or the file can no longer be read. It may be
// ranged over more than once.
func (t *Transcript) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := &replay{ctx: ctx, yield: yield, agents: findAgents(t.path), running: map[string]bool{}}
		if err := r.run(t); err != nil {
			yield(Entry{}, err)
		}
	}
}

// replay is one run over a transcript and those of its sub-agents.
type replay struct {
	ctx     context.Context
	yield   func(Entry, error) bool
	stopped bool
	agents  map[string]Agent // by the call that started each
	running map[string]bool  // the calls of the sub-agents that are being replayed
}

// run returns an error only if nothing was yielded after it.
func (r *replay) run(t *Transcript) error {
	for _, m := range t.marks {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		line, err := t.line(m)
		if err != nil {
			return err
		}
		for _, e := range entries(line, m.flags, t.parent) {
			if e.Kind == ToolUse && r.running[e.ToolUseID] {
				continue // a sub-agent that was forked off begins with its own call
			}
			if agent, ok := r.agents[e.ToolUseID]; ok && e.Kind == ToolUse && t.depth < maxDepth {
				e.Agent = &agent
			}
			if !r.yield(e, nil) {
				r.stopped = true
				return nil
			}
			if e.Kind == ToolUse {
				r.agent(t, e.ToolUseID)
			}
			if r.stopped {
				return nil
			}
		}
	}
	return r.ctx.Err() // a sub-agent's replay may have ended early
}

// line reads a line again. One that is no longer there, or is another one now,
// comes back empty.
func (t *Transcript) line(m mark) (row, error) {
	buf := make([]byte, m.size)
	if _, err := t.file.ReadAt(buf, m.off); err == io.EOF {
		return row{}, nil
	} else if err != nil {
		return row{}, fmt.Errorf("transcript: read %s: %w", t.path, err)
	}
	if !clean.ValidJSON(buf) {
		return row{}, nil
	}
	return parseRow(gjson.ParseBytes(buf)), nil
}
