package transcript

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// window is how much of a file's beginning and end is read for a list.
	window = 64 << 10
	// maxTitle is the longest title, in characters as a person counts them.
	maxTitle = 120
	// maxSideTitle bounds the file that holds a session's title.
	maxSideTitle = 64 << 10
)

// peeker learns what a list shows from the ends of session files. It keeps
// its buffer from file to file.
type peeker struct{ buf []byte }

func newPeeker() *peeker { return &peeker{make([]byte, window)} }

// clues are what the lines at one end of a file tell.
type clues struct {
	custom, ai, summary string // titles
	first               string // first prompt
	media               string // what the first prompt was if it had no words
	last                string // the CLI's note of the last prompt
	prompted            bool
	cwd, relocated      string
	sidechain           bool // of a sub-agent
	started             bool // a line of the conversation was seen
	caveat              bool // the line before announced a command of the CLI
}

// peek reports false for a file that is no session to show.
func (p *peeker) peek(path string) (Info, bool) {
	f, err := openRegular(path)
	if err != nil {
		return Info{}, false
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Info{}, false
	}
	size, at := stat.Size(), archivedAt(path)
	archived := !at.IsZero()
	var head, tail clues
	begin, err := p.read(f, 0)
	if err != nil {
		return Info{}, false
	}
	head.lines(begin, size > window)
	archived = archived && !promptedSince(begin, at)
	if size > window {
		end, err := p.read(f, size-window)
		if err != nil {
			return Info{}, false
		}
		_, end, _ = bytes.Cut(end, []byte("\n"))
		tail.first, tail.cwd = head.first, head.cwd // which it need not tell again
		tail.lines(end, false)
		archived = archived && !promptedSince(end, at)
	}
	if head.sidechain || !head.prompted && !tail.prompted && head.last == "" && tail.last == "" {
		return Info{}, false
	}
	return Info{
		Cwd:      cmp.Or(tail.relocated, head.relocated, head.cwd, tail.cwd),
		Title:    title(path, head, tail),
		Archived: archived,
		Size:     size,
	}, true
}

// read reads a window of a file. It stands until the next one is read.
func (p *peeker) read(f *os.File, at int64) ([]byte, error) {
	n, err := f.ReadAt(p.buf, at)
	if err == io.EOF {
		err = nil
	}
	return p.buf[:n], err
}

// Untitled is the title of a session that has none.
const Untitled = "Untitled"

// title picks the best title there is and makes it fit to show.
func title(path string, head, tail clues) string {
	custom := tail.custom
	if custom == "" {
		custom = cmp.Or(sideTitle(path), head.custom)
	}
	for _, t := range []string{custom, tail.ai, head.ai, tail.summary, head.summary, head.first, tail.last, head.last, tail.first, head.media, tail.media} {
		if t = shown(t); t != "" {
			return t
		}
	}
	return Untitled
}

// shown cuts a long text before it is cleaned: only its beginning counts.
func shown(s string) string {
	if limit := maxTitle * 64; len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return clean.Truncate(clean.Line(s), maxTitle)
}

// sideTitle is the title in the file that the CLI keeps for it.
func sideTitle(path string) string {
	name := filepath.Join(strings.TrimSuffix(path, extension), "custom-title.json")
	return gjson.GetBytes(readSmall(name, maxSideTitle), "customTitle").String()
}

// lines reads the lines of one end. If the last one is cut off, what it tells
// up to there still counts.
func (c *clues) lines(data []byte, cut bool) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if data = rest; cut && !ended { // within a text, which is read as if it ended here
			line = append(bytes.TrimRight(line, `\`), '"')
		}
		text := func(name string) string { return gjson.GetBytes(line, name).String() }
		switch typ := gjson.GetBytes(line, "type").Str; typ {
		case "user", "assistant", "system", "attachment":
			if c.first != "" && c.cwd != "" {
				continue // it tells nothing new
			}
			r := parseRow(gjson.ParseBytes(line))
			if typ == "user" {
				c.user(r)
			} else {
				c.conversation(r)
			}
		case "custom-title":
			c.custom = text("customTitle")
		case "ai-title":
			c.ai = text("aiTitle")
		case "summary":
			c.summary = text("summary")
		case "last-prompt":
			c.last = cmp.Or(text("lastPrompt"), c.last)
		case "relocated":
			c.relocated = text("relocatedCwd")
		}
	}
}

func (c *clues) conversation(r row) {
	if !c.started {
		c.started = true
		c.sidechain = r.sidechain
	}
	c.cwd = cmp.Or(c.cwd, r.cwd)
	c.blocks(r.queued())
}

func (c *clues) user(r row) {
	c.conversation(r)
	caveat := c.caveat
	c.caveat = false
	if r.notPrompt() {
		c.caveat = strings.Contains(r.content.Raw, "local-command-caveat") || strings.Contains(r.content.Raw, "Caveat: ")
		return
	}
	if caveat { // a command that the CLI ran itself
		return
	}
	c.blocks(r.content)
}

// blocks looks for a prompt in a message.
func (c *clues) blocks(content gjson.Result) {
	if c.first != "" {
		return
	}
	list := blocks(content)
	for i, b := range list {
		switch b.Get("type").Str {
		case "text":
			said := b.Get("text").String()
			if i+1 < len(list) && isLink(said) { // the open file, which some editors send along
				continue
			}
			text, what := words(message(said))
			if what == saidPrompt || what == saidCommand {
				c.first, c.prompted = text, true
				return
			}
		case "image":
			c.prompted, c.media = true, "Image"
		case "document":
			c.prompted, c.media = true, "Document"
		}
	}
}

// spaces are those of JSON and the form feed.
const spaces = " \t\n\r\f"

// isLink reports whether a text is the name of a file and nothing else: @name.
func isLink(text string) bool {
	name, ok := strings.CutPrefix(strings.Trim(text, spaces), "@")
	return ok && name != "" && !strings.ContainsAny(name, spaces)
}

// message is what was typed of a text that avante has put into tags.
func message(text string) string {
	inner, opens := strings.CutPrefix(strings.Trim(text, spaces), "<previous_user_message>")
	inner, ends := strings.CutSuffix(inner, "</previous_user_message>")
	if opens && ends {
		return inner
	}
	return text
}
