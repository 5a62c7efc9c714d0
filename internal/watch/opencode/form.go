package opencode

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// form asks what a form of the second version asks: the question tool's, a plugin's or an
// MCP server's. One with fields that are not known, or with a secret, is for the terminal
// alone. Dir is where it belongs, if no session says so.
func (s *service) form(ctx context.Context, f gjson.Result, dir string) {
	id, in := f.Get("id").Str, f.Get("sessionID").Str
	schema, ok := schemaOf(f.Get("fields"))
	if !ok || !isName(id) || !isName(in) {
		return
	}
	call, err := ask.AgentForm{Params: clean.JSON(map[string]any{"mode": "form", "message": f.Get("title").Str, "requestedSchema": schema})}.Call()
	if err != nil || call.Secret() {
		return
	}
	it := desk.Item{Kind: desk.Form, Call: call.Call, Dir: dir, Check: call.Fits}
	if f.Get("metadata.kind").Str == "question" {
		it.Kind = desk.Question
	}
	read := func(p gjson.Result) (convert.Outcome, error) {
		o, _, err := call.Read(clean.JSON(map[string]any{"action": "accept", "content": contentOf(f.Get("fields"), p.Get("answer"))}))
		return o, err
	}
	path, where := "/session/"+in+"/form/"+id, ""
	if in == noSession {
		where = located(dir)
	}
	s.ask(ctx, f, it, read, func(ctx context.Context, o convert.Outcome) error {
		reply, err := call.Reply(o)
		switch {
		case err != nil:
			return err
		case gjson.GetBytes(reply, "action").Str != "accept": // one of its options may say so
			return s.tell(ctx, path+"/cancel"+where, map[string]any{})
		}
		return s.tell(ctx, path+"/reply"+where, map[string]any{"answer": answerOf(f.Get("fields"), gjson.GetBytes(reply, "content"))})
	})
}

// noSession has the forms that belong to a folder alone.
const noSession = "global"

func located(dir string) string {
	return "?" + url.Values{"location[directory]": {dir}}.Encode()
}

// custom is the field of ACP's form for own words beside the options of another.
func custom(key string) string { return key + "_custom" }

// schemaOf is the form as ACP has it, unless two of its fields go by one key there.
func schemaOf(fields gjson.Result) (schema json.RawMessage, ok bool) {
	var properties []string
	required, keys := []string{}, map[string]bool{}
	add := func(key string, field map[string]any) {
		keys[key] = true
		properties = append(properties, string(clean.JSON(key))+":"+string(clean.JSON(field)))
	}
	for _, f := range fields.Array() {
		key, kind := f.Get("key").Str, f.Get("type").Str
		field := map[string]any{"type": kind}
		for _, same := range []string{"title", "description", "default", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"} {
			if v := f.Get(same); v.Exists() {
				field[same] = v.Value()
			}
		}
		options := []map[string]any{}
		for _, o := range f.Get("options").Array() {
			options = append(options, map[string]any{"const": o.Get("value").Str, "title": o.Get("label").Str, "description": o.Get("description").Str})
		}
		switch {
		case len(f.Get("when").Array()) > 0:
			return nil, false
		case kind == "multiselect":
			field["type"], field["items"] = "array", map[string]any{"anyOf": options}
		case kind == "string" && len(options) > 0:
			field["oneOf"] = options
		case kind != "string" && kind != "number" && kind != "integer" && kind != "boolean":
			return nil, false
		}
		add(key, field)
		if f.Get("custom").Bool() {
			add(custom(key), map[string]any{"type": "string", "title": f.Get("title").Str, "description": "Type your own answer"})
		}
		if f.Get("required").Bool() {
			required = append(required, key)
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":` + string(clean.JSON(required)) + `}`), len(keys) == len(properties)
}

// answerOf is the content of ACP's form as the second version has it.
func answerOf(fields, content gjson.Result) map[string]any {
	said, answer := content.Map(), map[string]any{}
	for _, f := range fields.Array() {
		key := f.Get("key").Str
		v, own := said[key], said[custom(key)]
		switch {
		case f.Get("type").Str == "multiselect":
			if list := append(v.Array(), own.Array()...); len(list) > 0 {
				answer[key] = values(list)
			}
		case own.Exists():
			answer[key] = own.Value()
		case v.Exists():
			answer[key] = v.Value()
		}
	}
	return answer
}

// contentOf is an answer of the second version as ACP's form has it.
func contentOf(fields, answer gjson.Result) map[string]any {
	said, content := answer.Map(), map[string]any{}
	for _, f := range fields.Array() {
		key := f.Get("key").Str
		offered := func(v gjson.Result) bool {
			return slices.ContainsFunc(f.Get("options").Array(), func(o gjson.Result) bool { return o.Get("value").Str == v.Str })
		}
		var list []gjson.Result
		var own []string
		for _, v := range said[key].Array() {
			if !f.Get("custom").Bool() || offered(v) {
				list = append(list, v)
			} else {
				own = append(own, v.String())
			}
		}
		if len(own) > 0 {
			content[custom(key)] = strings.Join(own, ", ")
		}
		switch {
		case f.Get("type").Str == "multiselect":
			content[key] = values(list)
		case len(list) == 1:
			content[key] = list[0].Value()
		}
	}
	return content
}

func values(list []gjson.Result) []any {
	all := []any{}
	for _, v := range list {
		all = append(all, v.Value())
	}
	return all
}
