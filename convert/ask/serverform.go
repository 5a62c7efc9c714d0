package ask

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ServerForm is what an MCP server wants to know from the user.
type ServerForm struct {
	// Server is the server's name.
	Server  string
	Message string
	// Mode is url for an address to which the server sends the user, and
	// otherwise form.
	Mode string
	// Schema is that of a form.
	Schema json.RawMessage
	// URL is the address, and ElicitationID the server's name for the request.
	URL, ElicitationID string
}

// Call makes a question call of the form that says who asks. Optional fields
// can be skipped, defaults taken, and the whole form declined. Session and ID
// are the caller's to set. Errors are [convert.InputError]s.
func (s ServerForm) Call() (FormCall, error) {
	f := FormCall{Call: convert.Call{Server: clean.Line(s.Server)}}
	if s.Mode == modeURL {
		return s.address(f)
	}
	schema := s.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !clean.ValidJSON(schema) {
		return FormCall{}, &convert.InputError{Err: convert.ErrInvalidJSON, Detail: "expected the schema of a form"}
	}
	if read.TooDeep(schema) {
		return FormCall{}, &convert.InputError{Err: convert.ErrTooDeep, Detail: read.DepthLimit}
	}
	root := gjson.ParseBytes(schema)
	if err := f.read(root, nil); err != nil {
		return FormCall{}, err
	}
	for _, key := range read.Field(root, "required").Array() {
		if !read.Field(read.Field(root, "properties"), key.Str).Exists() { // no accept could fit
			return FormCall{}, &convert.InputError{Err: convert.ErrWrongType, Detail: fmt.Sprintf("required names %q, which is no field", shorten(key.Str))}
		}
	}
	f.request = FormRequest{Mode: "form", Message: s.asks(s.Message), RequestedSchema: json.RawMessage(cleanSchema(root, 0))}
	if len(f.fields) == 0 {
		f.confirm(s.asks(s.Message), acceptLabel)
		f.Questions[0].Header = s.title("")
		return f, nil
	}
	heed(s.Message, f.fields)
	for i := range f.fields {
		f.step(s, i)
	}
	return f, nil
}

// address is the question for a server that sends the user to an address.
func (s ServerForm) address(f FormCall) (FormCall, error) {
	if err := checkAddress(s.URL); err != nil {
		return FormCall{}, err
	}
	u, _ := url.Parse(s.URL)
	text := s.asks(s.Message) + "\n\nIt wants you to open this address in a browser:\n" + s.URL
	text += "\n(on the host " + u.Hostname() + ")"
	f.request = FormRequest{Mode: modeURL, Message: s.asks(s.Message), URL: s.URL, ElicitationID: s.ElicitationID}
	f.confirm(text, openedLabel)
	f.Questions[0].Header = s.title("")
	return f, nil
}

// asks puts the server's name before what it says: nobody may take it for the
// agent's words.
func (s ServerForm) asks(text string) string {
	return fmt.Sprintf("The MCP server %q asks: %s", clean.Line(s.Server), clean.Block(text))
}

func (s ServerForm) title(field string) string {
	title := "MCP server " + clean.Line(s.Server)
	if field != "" {
		title += ": " + field
	}
	return title
}

// step makes question i one that can be asked by itself.
func (f *FormCall) step(s ServerForm, i int) {
	q, to := &f.Questions[i], &f.fields[i]
	q.Header = s.title(f.name(i))
	text := s.asks(s.Message)
	if i > 0 {
		text = fmt.Sprintf("The MCP server %q asks (%d of %d).", f.Server, i+1, len(f.fields))
	}
	text += "\n\n" + f.name(i)
	if !clean.Blank(to.about) {
		text += ": " + clean.Block(to.about)
	}
	q.Text = text + to.hint()
	reserve(q, "cancel")
	to.offerMore(q)
	offer(q, convert.Option{Label: declineLabel, Description: "do not answer the server", Effect: convert.EffectDecline})
}

// offer adds an option of our own.
func offer(q *convert.Question, ours convert.Option) {
	reserve(q, ours.Label)
	q.Options = append(q.Options, ours)
}

// reserve keeps a word for us. An option of the server's that looks like it says
// what it is: whoever picks Decline, or writes cancel, must not accept.
func reserve(q *convert.Question, word string) {
	for i := range q.Options {
		if label := clean.Line(q.Options[i].Label); strings.EqualFold(label, word) {
			q.Options[i].Label = unused(q, label+" (an answer)")
		}
	}
}

// offerMore offers to leave out a field that is not required.
func (t *formField) offerMore(q *convert.Question) {
	if t.kind == "array" {
		t.offerWhole(q)
	}
	if !t.required {
		offer(q, convert.Option{Label: "Skip", Description: "leave this field empty", Effect: convert.EffectSkip})
	}
}

// offerWhole offers the default of a field that takes several values, and no
// value where that is an answer.
func (t *formField) offerWhole(q *convert.Question) {
	if v := t.preset; v.IsArray() && len(v.Array()) > 0 && t.check(v) == nil {
		var labels []string
		for _, item := range v.Array() {
			labels = append(labels, q.Options[t.indexOf(item)].Label)
		}
		t.values = append(t.values, v)
		q.Options = append(q.Options, convert.Option{Label: unused(q, strings.Join(labels, ", ")), Description: "default", Effect: convert.EffectAlone})
	}
	if none := gjson.Parse("[]"); t.required && t.check(none) == nil {
		t.values = append(t.values, none)
		offer(q, convert.Option{Label: "None", Description: "none of the options", Effect: convert.EffectAlone})
	}
}

// Request is the request for a client that has what the form needs.
func (f FormCall) Request() FormRequest {
	r := f.request
	r.SessionID, r.ToolCallID = f.Session, f.ID
	if f.IsURL() && r.ElicitationID == "" {
		r.ElicitationID = f.ID
	}
	return r
}

// Announce is the tool_call update that shows the form before it is asked in
// one piece.
func (f FormCall) Announce() acp.SessionUpdate {
	name := clean.Truncate("MCP server "+f.Server, maxTitle)
	if f.Server == "" {
		name = title(f.Call, 0, TitleHeader, "")
	}
	return announce(convert.Call{}, f.ID, name, struct {
		Message         string `json:"message"`
		RequestedSchema any    `json:"requestedSchema,omitempty"`
		URL             string `json:"url,omitempty"`
	}{f.request.Message, f.request.RequestedSchema, f.request.URL}, f.request.Message)
}

// IsURL reports whether the form sends the user to an address.
func (f FormCall) IsURL() bool { return f.request.Mode == modeURL }

// schemaDepth is how deep the titles of options stand, with room to spare.
const schemaDepth = 8

// cleanSchema is the schema with nothing in its titles and descriptions that
// could harm whoever shows them. All else stays token for token.
func cleanSchema(v gjson.Result, depth int) string {
	if depth > schemaDepth || !v.IsObject() && !v.IsArray() {
		return v.Raw
	}
	object := v.IsObject()
	var parts []string
	v.ForEach(func(k, v gjson.Result) bool {
		part := cleanSchema(v, depth+1)
		switch {
		case object && v.Type == gjson.String && k.Str == "title":
			part = string(clean.JSON(clean.Line(v.Str)))
		case object && v.Type == gjson.String && k.Str == "description":
			part = string(clean.JSON(clean.Block(v.Str)))
		}
		if object {
			part = k.Raw + ":" + part
		}
		parts = append(parts, part)
		return true
	})
	if object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}
