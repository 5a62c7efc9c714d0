package ask

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// AgentForm is a form that any ACP agent sends to its client, for a client that
// may have none: the agent's own questions, or what an MCP server behind it
// wants to know.
type AgentForm struct {
	// Params are the parameters of elicitation/create. A client with forms gets
	// them as they are.
	Params json.RawMessage
	// Input is that of the tool call that asks, if it is known. Kimi's forms do
	// not say which text belongs to which field; its input does.
	Input json.RawMessage
}

// Call makes a question call of the form. Session and ID are those of the
// parameters. Errors are [convert.InputError]s.
func (a AgentForm) Call() (FormCall, error) {
	f, err := ParseForm(a.Params)
	if err != nil {
		return FormCall{}, err
	}
	f.request.raw, f.request.Message = a.Params, gjson.GetBytes(a.Params, "message").String()
	if f.IsURL() {
		return f, checkAddress(gjson.GetBytes(a.Params, "url").String())
	}
	a.texts(&f)
	if gjson.GetBytes(a.Params, "_meta.codex.delivery").Str == "async" { // it says that the answer cannot wait
		f.Questions[0].Text = f.request.Message + "\n\n" + f.Questions[0].Text
	}
	return f, nil
}

// checkAddress refuses what is nothing to send a user to: not of the web
// (javascript:, file:), or not what it looks like.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || clean.Line(address) != address {
		return &convert.InputError{Err: convert.ErrWrongType, Detail: "url must be an address such as https://example.com/, got " + shorten(clean.Visible(address))}
	}
	return nil
}

// texts gives the questions of Kimi's form their texts: its fields have but
// headers, and all texts stand in the message, one a line.
func (a AgentForm) texts(f *FormCall) {
	for i := range f.fields {
		if f.fields[i].key != fmt.Sprintf("q%d", i) || f.fields[i].about != "" {
			return
		}
	}
	texts := strings.Split(f.request.Message, "\n")
	if asked := read.Field(gjson.ParseBytes(a.Input), "questions").Array(); len(asked) == len(f.fields) {
		texts = nil
		for _, q := range asked {
			texts = append(texts, read.Field(q, "question").String())
		}
	}
	if len(texts) != len(f.fields) {
		return // one of them has several lines: the message stands before the first
	}
	for i := range f.fields {
		if !clean.Blank(texts[i]) {
			f.Questions[i].Text = texts[i] + f.fields[i].hint()
		}
	}
}

// codexNote is the field in which Codex takes a note, or an answer that is none
// of its options; it returns the question that it belongs to.
func codexNote(schema gjson.Result) (question string, ok bool) {
	meta := read.Field(read.Field(schema, "_meta"), "codex")
	return meta.Get("questionId").Str, meta.Get("role").Str == "user_note"
}

// noneOfThese is the option that Codex wants beside an answer in own words.
const noneOfThese = "None of the above"

// MarshalJSON writes an agent's form as it came, but for what is said before it
// when it is shown again.
func (r FormRequest) MarshalJSON() ([]byte, error) {
	if r.raw == nil {
		type plain FormRequest
		return json.Marshal(plain(r))
	}
	message := gjson.GetBytes(r.raw, "message")
	if message.Str == r.Message || message.Index == 0 {
		return r.raw, nil
	}
	return []byte(string(r.raw[:message.Index]) + string(clean.JSON(r.Message)) + string(r.raw[message.Index+len(message.Raw):])), nil
}

// isCodex reports whether a field is of Codex's: its title is the question, and an
// option of its own stands for own words.
func (t *formField) isCodex() bool {
	return read.Field(read.Field(t.schema, "_meta"), "codex").Exists()
}
