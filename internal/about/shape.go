package about

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Shapes are what an agent has shown of its open tool calls in a session: a request for
// permission may leave out what its user has seen before. The zero value keeps nothing.
type Shapes struct {
	of   map[string]*shape // by their ids
	size int
}

// shape is a tool call.
type shape struct {
	look
	// lost means that it was too much to be kept.
	lost bool
	// asked are the open requests for permission for it.
	asked []*Asked
}

// look is what is seen of a tool call.
type look struct {
	members map[string]string // as they were written last
	// written is the input of an agent that shows it as the text of the tool call while
	// the model writes it, and then something shorter in its place: Kimi.
	written string
}

// lookMembers are what an editor shows of a tool call.
var lookMembers = []string{"title", "kind", "content", "locations", "rawInput"}

// MaxShapes is how much is kept of the open tool calls of a session: more than a hub
// takes of one. maxShapesOpen bounds what is kept of an agent that ends none of them.
const (
	MaxShapes     = 4 << 20
	maxShapesOpen = 10_000
)

// NewShapes knows of no tool call.
func NewShapes() *Shapes { return &Shapes{of: map[string]*shape{}} }

// find is a tool call, which is new if nothing was shown of it.
func (all *Shapes) find(id string) *shape {
	s := all.of[id]
	if s == nil {
		s = &shape{lost: all.of == nil || len(all.of) >= maxShapesOpen}
		if !s.lost && id != "" {
			all.of[id] = s
		}
	}
	return s
}

// Saw takes what the agent shows of a tool call, and returns the open requests for
// permission that are for something else now:
//
//	| the agent shows      | the tool call    | a request for it                           |
//	|----------------------|------------------|--------------------------------------------|
//	| an update            | has that, too    | has that, too, in place of its own words   |
//	| a new tool call      | is that one only | keeps its own words, as far as they are    |
//	|                      |                  | not said anew                              |
//	| that it has ended    | is forgotten     | stays as it is, and is for nobody elsewhere |
func (all *Shapes) Saw(call gjson.Result) (changed []*Asked) {
	id := call.Get("toolCallId").Str
	if id == "" {
		return nil
	}
	s := all.find(id)
	if status := call.Get("status").Str; status == "completed" || status == "failed" {
		for _, a := range s.asked {
			a.own, a.ended, a.shape = a.look(), true, &shape{lost: s.lost}
		}
		all.lose(s)
		delete(all.of, id)
		return s.asked
	}
	before, lost := make([]look, len(s.asked)), s.lost
	for i, a := range s.asked {
		before[i] = a.look()
	}
	if call.Get("sessionUpdate").Str == "tool_call" {
		all.lose(s)
		s.lost = all.of[id] != s
	}
	said := lookOf(call)
	all.size -= s.size()
	if !s.lost {
		s.take(said)
	}
	if all.size += s.size(); all.size > MaxShapes {
		all.lose(s)
	}
	for i, a := range s.asked {
		if a.says(said); s.lost {
			a.own.take(said)
		}
		if now := a.look(); s.lost != lost || now.written != before[i].written || !maps.Equal(now.members, before[i].members) {
			changed = append(changed, a)
		}
	}
	return changed
}

// lose forgets what a tool call looks like.
func (all *Shapes) lose(s *shape) {
	all.size -= s.size()
	s.look, s.lost = look{}, true
}

// lookOf is what a message says of a tool call.
func lookOf(call gjson.Result) look {
	l := look{members: map[string]string{}}
	for _, name := range lookMembers {
		if v := call.Get(name); v.Exists() && v.Type != gjson.Null {
			l.members[name] = strings.Clone(v.Raw)
		}
	}
	if text := gjson.Parse(l.members["content"]).Get("#.content.text").Array(); len(text) == 1 && text[0].Str != "" && text[0].Str[0] == '{' && gjson.Valid(text[0].Str) {
		l.written = text[0].Str
	}
	return l
}

// take puts what was said later in place of what was said before.
func (l *look) take(later look) {
	if l.members == nil {
		l.members = map[string]string{}
	}
	maps.Copy(l.members, later.members)
	l.written = cmp.Or(later.written, l.written)
}

func (l look) size() int {
	n := len(l.written)
	for _, v := range l.members {
		n += len(v)
	}
	return n
}

// input is what the tool gets, as far as the agent says so.
func (l look) input() string {
	if input := l.members["rawInput"]; input != "" && input != "{}" {
		return input
	}
	return l.written
}

// Asked is an open request for permission: what it says of its tool call itself, and
// what the agent shows of that. What another request for the same tool call says is that
// one's alone.
type Asked struct {
	params gjson.Result
	own    look // what it says, and the agent has not shown anew since
	shape  *shape
	ended  bool // its tool call has
}

// says takes what the agent shows anew.
func (a *Asked) says(said look) {
	for name := range said.members {
		delete(a.own.members, name)
	}
	if said.written != "" {
		a.own.written = ""
	}
}

// Ask takes a request for permission, until [Asked.Over].
func (all *Shapes) Ask(params gjson.Result) *Asked {
	call := params.Get("toolCall")
	s := all.find(call.Get("toolCallId").Str)
	a := &Asked{params: params, own: lookOf(call), shape: s}
	s.asked = append(s.asked, a)
	return a
}

// Over says that the request is open no more.
func (a *Asked) Over() {
	a.shape.asked = slices.DeleteFunc(a.shape.asked, func(b *Asked) bool { return a == b })
}

// Again is the request, which is open after all.
func (a *Asked) Again() *Asked {
	a.shape.asked = append(a.shape.asked, a)
	return a
}

func (a *Asked) look() look {
	var l look
	l.take(a.shape.look)
	l.take(a.own)
	return l
}

// Lost reports whether the agent has shown more of the tool call than is known here.
func (a *Asked) Lost() bool { return a.shape.lost }

// Request is the request with all that the agent has shown of its tool call. ok is false
// if a person elsewhere would not see all of it, or if an answer could not be told apart.
func (a *Asked) Request() (r acp.RequestPermissionRequest, ok bool) {
	id, options, l := a.params.Get("toolCall.toolCallId"), a.params.Get("options"), a.look()
	r.ToolCall.ToolCallId = acp.ToolCallId(id.Str)
	ok = id.Str != "" && !a.ended && !a.Lost() && l.size() <= MaxShapes && l.whole() && distinct(options)
	for _, raw := range gjson.Parse(l.members["content"]).Array() {
		var c acp.ToolCallContent
		if json.Unmarshal([]byte(raw.Raw), &c) != nil {
			c, ok = acp.ToolContent(acp.TextBlock("["+raw.Get("type").Str+"]")), false
		}
		r.ToolCall.Content = append(r.ToolCall.Content, c)
	}
	for name, v := range map[string]any{"locations": &r.ToolCall.Locations, "title": &r.ToolCall.Title, "kind": &r.ToolCall.Kind} {
		ok = (l.members[name] == "" || json.Unmarshal([]byte(l.members[name]), v) == nil) && ok
	}
	if input := l.input(); input != "" {
		r.ToolCall.RawInput = json.RawMessage(input)
	}
	return r, json.Unmarshal([]byte(options.Raw), &r.Options) == nil && ok
}

// whole reports whether there is something to show, and nothing that is cut off, or
// that only an editor can show: pictures, terminals, and what nobody here knows.
func (l look) whole() bool {
	content := gjson.Parse(l.members["content"])
	for _, c := range content.Array() {
		switch block := c.Get("content"); {
		case c.Get("type").Str == "diff" && c.Get("path").Type == gjson.String && c.Get("newText").Type == gjson.String:
		case c.Get("type").Str != "content":
			return false
		case block.Get("type").Str == "text" && block.Get("text").Type == gjson.String:
			if l.input() == "" && isCut(block.Get("text").Str) {
				return false
			}
		case block.Get("type").Str == "resource_link":
		case block.Get("type").Str == "resource" && block.Get("resource.text").Type == gjson.String:
		default:
			return false
		}
	}
	title := gjson.Parse(l.members["title"]).Str
	return l.input() != "" || !isCut(title) && (strings.TrimSpace(title) != "" || len(content.Array()) > 0)
}

// isCut reports whether a text looks like the beginning of a longer one.
func isCut(text string) bool {
	text = strings.TrimRight(text, " \t\r\n`\"')]")
	return strings.HasSuffix(text, "…") || strings.HasSuffix(text, "...")
}

// distinct reports whether each of the options has an id of its own.
func distinct(options gjson.Result) bool {
	var ids []string
	for _, o := range options.Array() {
		id := o.Get("optionId")
		if id.Type != gjson.String || slices.Contains(ids, id.Str) {
			return false
		}
		ids = append(ids, id.Str)
	}
	return len(ids) > 0
}

// ToolTold is [ToolOf] for the request of any agent, with what it says in words beside its
// input: texts, resources, and files that are named nowhere else. What an editor alone can
// show is named.
func ToolTold(r acp.RequestPermissionRequest) Tool {
	t := ToolOf(r)
	var parts []string
	input := inputOf(r)
	named := []string{string(input)}
	if r.ToolCall.Title != nil {
		named = append(named, *r.ToolCall.Title)
	}
	for _, c := range r.ToolCall.Content {
		switch {
		case c.Diff != nil:
			named = append(named, c.Diff.Path)
		case c.Terminal != nil:
			parts = append(parts, "[terminal]")
		case c.Content == nil:
		case c.Content.Content.Text != nil:
			if text := c.Content.Content.Text.Text; !bytes.Contains(input, quoted(clean.Unfence(text))) {
				parts = append(parts, text)
			}
		case c.Content.Content.ResourceLink != nil:
			l := c.Content.Content.ResourceLink
			parts = append(parts, strings.TrimSpace(l.Name+" "+l.Uri))
		case c.Content.Content.Resource != nil && c.Content.Content.Resource.Resource.TextResourceContents != nil:
			t := c.Content.Content.Resource.Resource.TextResourceContents
			parts = append(parts, t.Uri+"\n"+t.Text)
		case c.Content.Content.Image != nil:
			parts = append(parts, "[image]")
		default:
			parts = append(parts, "[content that only an editor can show]")
		}
	}
	all := strings.Join(append(named, parts...), "\n")
	for _, l := range r.ToolCall.Locations {
		if !namesPath(all, l.Path) && !namesPath(all, string(quoted(l.Path))) {
			parts = append(parts, l.Path)
		}
	}
	t.Text = strings.Join(parts, "\n\n")
	return t
}

// namesPath reports whether a path stands in a text, and not only as the beginning of
// another one.
func namesPath(text, path string) bool {
	_, rest, found := strings.Cut(text, path)
	for found && path != "" {
		next, _ := utf8.DecodeRuneInString(rest)
		if dot, ok := strings.CutPrefix(rest, "."); ok {
			next, _ = utf8.DecodeRuneInString(dot) // the end of a sentence, or of another name
		}
		if !unicode.IsLetter(next) && !unicode.IsDigit(next) && !strings.ContainsRune("_-/", next) {
			return true
		}
		_, rest, found = strings.Cut(rest, path)
	}
	return path == ""
}
