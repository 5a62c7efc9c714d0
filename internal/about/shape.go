package about

import (
	"encoding/json"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Shapes are what an agent has shown of its open tool calls: a request for
// permission may leave out what the editor has seen before.
type Shapes struct {
	of   map[string]*shape // by their ids
	size int
}

// shape is a tool call: its members as they were written last.
type shape struct {
	members map[string]string
	// written is the input of an agent that shows it as the text of the tool call while
	// the model writes it, and then something shorter in its place: Kimi.
	written string
	// lost means that it was too much to be kept: elsewhere it cannot be shown.
	lost bool
}

// shapeMembers are what an editor shows of a tool call.
var shapeMembers = []string{"title", "kind", "content", "locations", "rawInput"}

// MaxShapes is how much is kept of the open tool calls of a session: more than a hub
// takes of one. maxShapesOpen bounds what is kept of an agent that ends none of them.
const (
	MaxShapes     = 4 << 20
	maxShapesOpen = 10_000
)

// NewShapes knows of no tool call.
func NewShapes() *Shapes { return &Shapes{of: map[string]*shape{}} }

// Saw takes what the agent shows of a tool call, and reports whether that looks
// another way now. One that has ended is forgotten.
func (all *Shapes) Saw(call gjson.Result) (changed bool) {
	id, status := call.Get("toolCallId").Str, call.Get("status").Str
	s := all.of[id]
	if s == nil {
		s = &shape{members: map[string]string{}}
		if len(all.of) < maxShapesOpen {
			all.of[id] = s
		} else {
			s.lost = true
		}
	}
	if status == "completed" || status == "failed" {
		all.lose(s)
		delete(all.of, id)
		return true
	}
	for _, name := range shapeMembers {
		if v := call.Get(name); !s.lost && v.Exists() && v.Type != gjson.Null && v.Raw != s.members[name] {
			changed = true
			all.size += len(v.Raw) - len(s.members[name])
			s.members[name] = strings.Clone(v.Raw)
		}
	}
	if text := gjson.Parse(s.members["content"]).Get("#.content.text").Array(); changed && len(text) == 1 && isObject(text[0].Str) {
		all.size += len(text[0].Str) - len(s.written)
		s.written = text[0].Str
	}
	if all.size > MaxShapes {
		all.lose(s)
	}
	return changed
}

// lose forgets what a tool call looks like.
func (all *Shapes) lose(s *shape) {
	for _, v := range s.members {
		all.size -= len(v)
	}
	all.size -= len(s.written)
	s.members, s.written, s.lost = nil, "", true
}

// isObject reports whether a text is a JSON object and nothing else.
func isObject(text string) bool {
	return strings.HasPrefix(text, "{") && gjson.Valid(text)
}

// input is what the tool gets, as far as the agent says so.
func (s *shape) input() string {
	if input := s.members["rawInput"]; input != "" && input != "{}" {
		return input
	}
	return s.written
}

// Request is a request for permission with all that the agent has shown of its tool
// call. ok is false if a person elsewhere would not see all of it, or if an answer
// could not be told apart.
func (all *Shapes) Request(params gjson.Result) (r acp.RequestPermissionRequest, ok bool) {
	id := params.Get("toolCall.toolCallId")
	if id.Type != gjson.String || id.Str == "" {
		return r, false
	}
	s := all.of[id.Str]
	if s == nil || s.lost || !s.whole() || !distinct(params.Get("options")) {
		return r, false
	}
	r.ToolCall.ToolCallId = acp.ToolCallId(id.Str)
	if json.Unmarshal([]byte(params.Get("options").Raw), &r.Options) != nil ||
		s.read("content", &r.ToolCall.Content) != nil || s.read("locations", &r.ToolCall.Locations) != nil ||
		s.read("title", &r.ToolCall.Title) != nil || s.read("kind", &r.ToolCall.Kind) != nil {
		return r, false
	}
	if input := s.input(); input != "" {
		r.ToolCall.RawInput = json.RawMessage(input)
	}
	return r, true
}

func (s *shape) read(name string, v any) error {
	if s.members[name] == "" {
		return nil
	}
	return json.Unmarshal([]byte(s.members[name]), v)
}

// whole reports whether there is something to show, and nothing that is cut off, or
// that only an editor can show: pictures, terminals, and what nobody here knows.
func (s *shape) whole() bool {
	content := gjson.Parse(s.members["content"])
	for _, c := range content.Array() {
		switch block := c.Get("content"); {
		case c.Get("type").Str == "diff" && c.Get("path").Type == gjson.String && c.Get("newText").Type == gjson.String:
		case c.Get("type").Str != "content":
			return false
		case block.Get("type").Str == "text" && block.Get("text").Type == gjson.String:
			if s.input() == "" && isCut(block.Get("text").Str) {
				return false
			}
		case block.Get("type").Str == "resource_link":
		case block.Get("type").Str == "resource" && block.Get("resource.text").Type == gjson.String:
		default:
			return false
		}
	}
	title := gjson.Parse(s.members["title"]).Str
	if s.input() != "" {
		return true
	}
	return !isCut(title) && (strings.TrimSpace(title) != "" || len(content.Array()) > 0)
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

// TextOf is what a request says in words beside its input: texts, resources, and
// files that are named nowhere else.
func TextOf(r acp.RequestPermissionRequest) string {
	var parts []string
	input, _ := r.ToolCall.RawInput.(json.RawMessage)
	named := string(input)
	if r.ToolCall.Title != nil {
		named += *r.ToolCall.Title
	}
	for _, c := range r.ToolCall.Content {
		switch {
		case c.Diff != nil:
			named += c.Diff.Path
		case c.Content == nil:
		case c.Content.Content.Text != nil:
			parts = append(parts, c.Content.Content.Text.Text)
		case c.Content.Content.ResourceLink != nil:
			l := c.Content.Content.ResourceLink
			parts = append(parts, strings.TrimSpace(l.Name+" "+l.Uri))
		case c.Content.Content.Resource != nil && c.Content.Content.Resource.Resource.TextResourceContents != nil:
			t := c.Content.Content.Resource.Resource.TextResourceContents
			parts = append(parts, t.Uri+"\n"+t.Text)
		}
	}
	named += strings.Join(parts, "\n")
	for _, l := range r.ToolCall.Locations {
		if quoted := clean.JSON(l.Path); !strings.Contains(named, l.Path) && !strings.Contains(named, string(quoted[1:len(quoted)-1])) {
			parts = append(parts, l.Path)
		}
	}
	return strings.Join(parts, "\n\n")
}
