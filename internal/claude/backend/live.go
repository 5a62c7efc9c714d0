package backend

import (
	"io"
	"os"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

const (
	// lookEvery is how often the output of a running command is looked at, and
	// so the most often that it is shown.
	lookEvery = 250 * time.Millisecond
	// maxChunk bounds what a look takes in of a file, whatever its size.
	maxChunk = 64 << 10
	// maxFollowed bounds how many commands are followed at a time.
	maxFollowed = 64
)

// follower shows what a command writes while it runs. Like the painter, whose it
// is, it is used by one at a time.
type follower struct {
	p          *painter
	id         string // of the tool call
	c          *toolCall
	task       string
	background bool // the tool call has its result
	file       *os.File
	stop       func()

	size int64  // up to where the file was read
	sent string // the content that was last sent
	rest string // in a terminal: what waits for its other half
}

// follow begins to show the output of a command that the CLI says is running.
func (p *painter) follow(m claude.Message) {
	task := m.Get("task_id").Str
	id := m.Get("tool_use_id").Str
	c := p.calls[id]
	if p.output == nil || c == nil || !c.drawn || !c.tool.Shell() || p.followed[task] != nil || len(p.followed) >= maxFollowed {
		return
	}
	file, err := p.output(task, m.Get("session_id").Str)
	if err != nil { // the result shows it
		p.log.Debug("a command is not shown while it runs", "err", err)
		return
	}
	f := &follower{p: p, id: id, c: c, task: task, file: file}
	p.followed[task] = f
	f.stop = p.every(f.look, func() { file.Close() })
}

// look shows what is new, unless no prompt is there to show it in.
func (f *follower) look() {
	if f.p.followed[f.task] == f && !f.p.quiet && !f.p.out.Holds() {
		f.show()
	}
}

// show sends what is new.
func (f *follower) show() {
	if f.c.terminal != "" {
		f.print(f.chunk(false))
		return
	}
	content, ok := f.content()
	if !ok {
		return
	}
	if f.background {
		content = append(content, f.c.tool.InBackground(f.task, "")...)
	}
	f.update(content)
}

// content is the end of the output, if there is more than was sent.
func (f *follower) content() ([]acp.ToolCallContent, bool) {
	info, err := f.file.Stat()
	if err != nil || info.Size() == f.size {
		return nil, false
	}
	f.size = info.Size()
	content := f.c.tool.Running(f.size, f.read)
	if len(content) == 0 || content[0].Content.Content.Text.Text == f.sent {
		return nil, false
	}
	f.sent = content[0].Content.Content.Text.Text
	return content, true
}

// update sends content of a call that runs or ran in the background.
func (f *follower) update(content []acp.ToolCallContent) {
	f.p.change(f.id, f.c, acp.SessionToolCallUpdate{Content: content, Status: f.status()})
}

// chunk is what was written since the last one, for a terminal. Before the last
// one, an unfinished character or sequence waits for its other half.
func (f *follower) chunk(last bool) string {
	info, err := f.file.Stat()
	if err != nil || info.Size() <= f.size && !last {
		return ""
	}
	from, note := f.size, ""
	f.size = max(f.size, info.Size())
	gone := f.size - maxChunk - from
	if gone > 0 {
		from, f.rest = from+gone, ""
	}
	text := f.rest + f.read(from, f.size)
	if gone > 0 {
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			gone, text = gone+int64(i)+1, text[i+1:]
		}
		note = "\x1b[0m\n" + display.LeftOut(gone)
	}
	whole := len(text)
	if !last {
		whole = clean.Whole(text)
	}
	f.rest = text[whole:]
	return note + clean.Terminal(text[:whole])
}

// print appends to the terminal of the tool call.
func (f *follower) print(data string) {
	if data != "" {
		f.p.print(f.id, f.c, data, f.status())
	}
}

// status is that of the tool call, if it has no result yet.
func (f *follower) status() *acp.ToolCallStatus {
	if f.background {
		return nil
	}
	return acp.Ptr(acp.ToolCallStatusInProgress)
}

// read returns bytes of the file, as far as they are there.
func (f *follower) read(from, to int64) string {
	b := make([]byte, max(0, to-from))
	n, err := f.file.ReadAt(b, from)
	if err != nil && err != io.EOF {
		f.p.log.Debug("the output of a command cannot be read", "err", err)
	}
	return string(b[:n])
}

// matched bounds how much of the end of an output is looked for in a result.
const matched = 200

// stopped ends the call of a command that was stopped while it ran. What it has
// written stays.
func (f *follower) stopped(result display.Result) {
	update := acp.SessionToolCallUpdate{Status: acp.Ptr(acp.ToolCallStatusFailed), RawOutput: rawJSON(result.Content)}
	if f.c.terminal != "" {
		f.print(f.chunk(true))
		update.Content = []acp.ToolCallContent{acp.ToolTerminalRef(f.id)}
		update.Meta = f.c.with(terminalExit, exitStatus(f.id, nil))
	} else {
		f.again()
		update.Content, _ = f.content()
	}
	update.Content = append(update.Content, f.c.tool.Interrupted()...)
	f.p.change(f.id, f.c, update)
	f.end()
}

// after is what a result says behind the output: a note of the CLI's.
func (f *follower) after(result string) string {
	tail := strings.TrimSpace(f.read(max(0, f.size-1000), f.size))
	tail = strings.ToValidUTF8(tail[max(0, len(tail)-matched):], "")
	i := strings.LastIndex(result, tail)
	if i < 0 {
		return ""
	}
	if rest := strings.TrimSpace(result[i+len(tail):]); rest != "" {
		return "\n" + clean.Terminal(rest) + "\n"
	}
	return ""
}

// again makes the next look show everything.
func (f *follower) again() { f.size, f.sent = -1, "" }

// end stops following.
func (f *follower) end() {
	delete(f.p.followed, f.task)
	f.stop()
}

// follower returns who follows a tool call, or nil.
func (p *painter) follower(id string) *follower {
	for _, f := range p.followed {
		if f.id == id {
			return f
		}
	}
	return nil
}

// taskEnded shows the last of a command in the background. That of any other is
// in its result.
func (p *painter) taskEnded(task, status string) {
	if f := p.followed[task]; f != nil && f.background {
		f.close(status)
	}
}

// close ends a command in the background.
func (f *follower) close(status string) {
	if f.c.terminal != "" {
		f.print(f.chunk(true))
		f.p.change(f.id, f.c, acp.SessionToolCallUpdate{Meta: f.c.with(terminalExit, exitStatus(f.id, nil))})
	} else {
		f.again()
		content, _ := f.content()
		f.update(append(content, f.c.tool.InBackground(f.task, status)...))
	}
	f.end()
}

// closeFollowed ends commands in the background with the CLI.
func (p *painter) closeFollowed() {
	for _, f := range p.followed {
		if f.background {
			f.close("ended with Claude Code")
		}
	}
}

// unfollow ends what is followed for calls that are left open.
func (p *painter) unfollow() {
	for _, f := range p.followed {
		f.end()
	}
}
