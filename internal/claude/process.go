package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// settleGrace is how long Close waits for a callback when the CLI is gone.
const settleGrace = 10 * time.Second

// Process is a running CLI. Its methods may be called from several goroutines.
// Close must be called, also when the CLI ended by itself.
type Process struct {
	opts    Options
	child   *proc.Child
	conn    *conn
	private *privateFiles

	ended  chan struct{} // closed behind the last message, when endErr is set
	endErr error
	done   chan struct{} // closed when nothing of it is left

	dropping atomic.Bool // messages are not delivered any more

	mu     sync.Mutex
	closed bool  // by Close, not by itself
	broken error // why it was ended if a callback panicked
}

// Start runs the CLI. ctx bounds the start only; the process lives until
// Close or Kill, or until this process ends.
func Start(ctx context.Context, opts Options) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	if err := checkDir(opts.Dir); err != nil {
		return nil, err
	}
	p := &Process{opts: opts, ended: make(chan struct{}), done: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, err
	}
	p.conn = newConn(newOutbox(p.child.Stdin, outboxBytes, p.tracer(ndjson.Out), p.write), p.deliver, opts.Logger, opts.Surface)
	p.conn.drained = opts.OnDrained

	readDone := make(chan struct{})
	go p.read(readDone)
	go func() {
		p.wait(readDone)
		<-p.ended
		p.conn.out.wait()
		_ = p.child.End(context.Background())
		close(p.done)
	}()
	return p, nil
}

func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("claude: the working directory %s does not exist: %w", dir, err)
	case err != nil:
		return fmt.Errorf("claude: the working directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("claude: the working directory %s is not a directory", dir)
	}
	return nil
}

func (p *Process) start() (err error) {
	p.private = newPrivateFiles(p.opts.Private)
	defer func() {
		if err != nil {
			p.private.forget()
		}
	}()
	if err = p.private.err; err != nil {
		return fmt.Errorf("claude: make a private file: %w", err)
	}
	p.child, err = proc.Start(proc.Options{
		Args: append([]string{p.opts.Path}, p.opts.commandLine(p.private.paths)...),
		Dir:  p.opts.Dir, Env: p.opts.Env, Files: p.private.passed,
		Said:   func(line string) { p.opts.Logger.Debug("claude stderr", "line", line) },
		Logger: p.opts.Logger,
		HangUp: p.hangUp, EOFGrace: p.opts.EOFGrace, TermGrace: p.opts.TermGrace,
	})
	if err != nil {
		return startError(p.opts.Path, err)
	}
	return nil
}

func startError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("claude: start %s: no such program, or its interpreter is missing: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("claude: start %s: not executable: %w", path, err)
	}
	return fmt.Errorf("claude: start %s: %w", path, err)
}

func (p *Process) tracer(dir ndjson.Direction) func([]byte) {
	if p.opts.Trace == nil {
		return nil
	}
	return func(text []byte) { p.opts.Trace(dir, text) }
}

func (p *Process) deliver(m Message) {
	if p.opts.OnMessage != nil && !p.dropping.Load() {
		p.opts.OnMessage(m)
	}
}

func (p *Process) write(write func() error) {
	if err := p.guard(write); err != nil {
		p.opts.Logger.Debug("the input of Claude Code broke", "error", err)
		p.child.Finish() // without its input it is of no use
	}
}

// read hands on messages until the output ends, then the exit.
func (p *Process) read(readDone chan<- struct{}) {
	err := p.guard(func() error {
		return p.conn.read(ndjson.NewReader(p.child.Stdout, p.opts.MaxLine, skimmed...), p.tracer(ndjson.In))
	})
	p.opts.Logger.Debug("the output of Claude Code ended", "reason", err)
	close(readDone)
	p.child.Stdout.Close()
	select {
	case <-p.child.Exited():
	default:
		p.child.Finish() // without its output it is of no use
		<-p.child.Exited()
	}
	p.endErr = p.exitErr()
	close(p.ended)
}

// guard runs f. A panic in it, which is one of the caller's callbacks, ends this
// process of the CLI and no other.
func (p *Process) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.opts.Logger.Error("a callback panicked, Claude Code is ended", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanic, v)
			p.mu.Lock()
			p.broken = err
			p.mu.Unlock()
			p.Kill()
		}
	}()
	return f()
}

// readGrace is how long what a CLI that is gone has written may take to be read. A busy
// machine needs some of it.
const readGrace = 5 * time.Second

// wait fails what is pending when the CLI is gone.
func (p *Process) wait(readDone <-chan struct{}) {
	<-p.child.Exited()
	p.private.forget()
	// A reply, or why it has ended, may still be in the pipe; a consumer that does not
	// read must not hold up the failure of what is pending.
	proc.Within(readDone, readGrace)
	p.conn.fail(p.exitErr())
	p.conn.out.close()
}

func (p *Process) exitErr() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.broken != nil {
		return p.broken
	}
	return &ExitError{
		Code: p.child.State().ExitCode(), Signal: p.child.Signal(),
		Stderr: p.child.LastWords(stderrLines), Errors: *p.conn.errors.Load(),
	}
}

// interruptRequest ends the turn and what waits behind it.
var interruptRequest = map[string]any{
	"type": TypeControlRequest, "request_id": "acp-bridge-interrupt",
	"request": map[string]any{"subtype": "interrupt", "cancel_queued": true},
}

// hangUp interrupts what runs and ends the input. The end of input alone would let
// a running turn go on to its end, with nobody there to see it.
func (p *Process) hangUp() {
	if text, err := encodeLine(interruptRequest); err == nil {
		_ = p.conn.out.send(text)
	}
	p.conn.out.close()
}

// Kill ends the process and its group at once, without waiting; on Linux also
// the commands that it runs, which are in sessions of their own. What the CLI
// wrote before is still delivered.
func (p *Process) Kill() { p.child.Kill() }

// Close ends the process: it interrupts what runs and ends the input, after a
// grace it sends SIGTERM to the group, after another SIGKILL. When ctx ends it
// kills at once. It returns when nothing is left of it. What the CLI still
// writes is dropped, and Wait returns ErrClosed, or the *ExitError if the CLI
// had ended before. Close may be called more than once.
func (p *Process) Close(ctx context.Context) error {
	p.mu.Lock()
	select {
	case <-p.child.Exited():
	default:
		p.closed = true
	}
	closed := p.closed
	p.mu.Unlock()
	p.dropping.Store(true)
	if closed {
		p.conn.fail(ErrClosed)
	}
	if err := p.child.End(ctx); err != nil {
		return fmt.Errorf("claude: %w", err)
	}
	if !proc.Within(p.done, settleGrace) {
		return errors.New("claude: a callback does not return")
	}
	return nil
}

// Done is closed when the CLI's process is gone.
func (p *Process) Done() <-chan struct{} { return p.child.Exited() }

// Pid is the CLI's process id, and that of its group.
func (p *Process) Pid() int { return p.child.Pid() }

// Wait returns when the CLI has ended and OnMessage has had its last message. The
// error is ErrExited and says how it ended; if ctx ends before, it is ctx.Err().
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.endErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Prompt sends a user message. content is a string or a list of content
// blocks of the Messages API. Like all that sends, it queues and never waits
// for the CLI.
func (p *Process) Prompt(content any) error { return p.PromptAs("", content) }

// PromptAs is Prompt with an id, a UUID, by which the CLI names the message in
// the results that answer it.
func (p *Process) PromptAs(id string, content any) error {
	p.conn.forgetErrors()
	if text, ok := content.(string); ok {
		content = []map[string]string{{"type": "text", "text": text}}
	}
	message := map[string]any{
		"type":               TypeUser,
		"message":            map[string]any{"role": "user", "content": content},
		"parent_tool_use_id": nil,
		"session_id":         "",
	}
	if id != "" {
		message["uuid"] = id
	}
	return p.conn.send(message)
}

// Reply answers an inbound control request.
func (p *Process) Reply(requestID string, result any) error { return p.conn.reply(requestID, result) }

// ReplyError refuses an inbound control request. For can_use_tool the model
// reads "Tool permission request failed" and the message.
func (p *Process) ReplyError(requestID, message string) error {
	return p.conn.replyError(requestID, message)
}

// Control sends a control request and waits for the CLI's reply. A refusal is
// a *ControlError; the end of the process is ErrExited.
//
// The reply is read behind the messages before it: while OnMessage blocks, it
// does not come.
func (p *Process) Control(ctx context.Context, subtype string, fields map[string]any) (json.RawMessage, error) {
	return p.conn.control(ctx, subtype, fields)
}

// Initialize opens the conversation. It is the first request to send, and
// sent once.
func (p *Process) Initialize(ctx context.Context) (*InitInfo, error) {
	hooks := p.opts.Hooks
	if hooks == nil {
		hooks = map[string]any{}
	}
	fields := map[string]any{"hooks": hooks}
	maps.Copy(fields, p.opts.Opening)
	raw, err := p.Control(ctx, "initialize", fields)
	p.private.forget() // the CLI has read them before it answers
	if err != nil {
		return nil, err
	}
	return parseInit(raw), nil
}

// Interrupt ends the running turn. Its result still arrives as a message.
func (p *Process) Interrupt(ctx context.Context) error {
	_, err := p.Control(ctx, "interrupt", nil)
	return err
}

// InterruptAll ends the running turn and takes the messages back that wait
// behind it. A command_lifecycle message names each of them.
func (p *Process) InterruptAll(ctx context.Context) error {
	_, err := p.Control(ctx, "interrupt", map[string]any{"cancel_queued": true})
	return err
}
