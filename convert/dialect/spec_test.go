package dialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// noTool are dialects that are requests of a protocol.
var noTool = []string{"a2a", "ag-ui", "choice", "grok-plan", "langgraph", "mcp"}

// A model that keeps to the schema is understood: every call that is written
// keeps to it.
func TestSpec(t *testing.T) {
	for _, id := range dialect.IDs() {
		spec, err := dialect.Spec(id)
		if slices.Contains(noTool, id) {
			require.ErrorIs(t, err, dialect.ErrUnknown, id)
			continue
		}
		t.Run(id, func(t *testing.T) {
			require.NoError(t, err)
			require.NotEmpty(t, spec.Name)
			require.NotEmpty(t, spec.Label)
			require.NotEmpty(t, spec.Description)
			require.True(t, json.Valid(spec.Schema))
			rapid.Check(t, func(t *rapid.T) {
				c := held(t, id, id)
				document, _, err := dialect.WriteCall(id, c)
				require.NoError(t, err)
				root := gjson.ParseBytes(document)
				input := root.Get("input")
				if !input.Exists() {
					input = root.Get("params")
				}
				if id != "grok" { // whose request is not the tool's input
					require.Equal(t, spec.Name, root.Get("name").String()+root.Get("method").String())
					require.NoError(t, keepsTo(gjson.ParseBytes(spec.Schema), input, "input"))
				}
			})
		})
	}
	_, err := dialect.Spec("none")
	require.ErrorIs(t, err, dialect.ErrUnknown)
}

// The limits are Claude's where the agent took the tool from there.
func TestSpecLimits(t *testing.T) {
	for _, id := range []string{"claude", "go", "phoenix", "qwen", "kimi", "gemini"} {
		spec, err := dialect.Spec(id)
		require.NoError(t, err)
		list := gjson.GetBytes(spec.Schema, "properties.questions")
		options := list.Get("items.properties.options")
		require.Equal(t, []int64{1, convert.MaxQuestions, convert.MinOptions, convert.MaxOptions},
			[]int64{list.Get("minItems").Int(), list.Get("maxItems").Int(), options.Get("minItems").Int(), options.Get("maxItems").Int()}, id)
	}
	phoenix, _ := dialect.Spec("phoenix")
	require.EqualValues(t, 12, gjson.GetBytes(phoenix.Schema, "properties.questions.items.properties.header.maxLength").Int())
}

// keepsTo holds a value against the part of JSON Schema that the specs use.
func keepsTo(schema, v gjson.Result, path string) error {
	bad := func(format string, args ...any) error { return fmt.Errorf(path+": "+format, args...) }
	types := schema.Get("type").Array()
	if !slices.ContainsFunc(types, func(t gjson.Result) bool { return hasType(v, t.Str) }) {
		return bad("%s is not %s", v.Raw, schema.Get("type").Raw)
	}
	if n := schema.Get("maxLength"); n.Exists() && utf8.RuneCountInString(v.Str) > int(n.Int()) {
		return bad("longer than %d", n.Int())
	}
	if enum := schema.Get("enum"); enum.Exists() && !slices.ContainsFunc(enum.Array(), func(e gjson.Result) bool { return e.Str == v.Str }) {
		return bad("%s is none of %s", v.Raw, enum.Raw)
	}
	if v.IsArray() {
		n := int64(len(v.Array()))
		if least, most := schema.Get("minItems"), schema.Get("maxItems"); n < least.Int() || most.Exists() && n > most.Int() {
			return bad("%d items", n)
		}
		for i, item := range v.Array() {
			if err := keepsTo(schema.Get("items"), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	for _, key := range schema.Get("required").Array() {
		if v.IsObject() && !v.Get(key.Str).Exists() {
			return bad("%s is missing", key.Str)
		}
	}
	var err error
	if v.IsObject() {
		v.ForEach(func(k, field gjson.Result) bool {
			part := schema.Get("properties").Get(k.Str)
			switch {
			case !part.Exists() && k.Str != "sessionId":
				err = bad("%s is no field", k.Str)
			case part.Exists():
				err = keepsTo(part, field, path+"."+k.Str)
			}
			return err == nil
		})
	}
	return err
}

func hasType(v gjson.Result, name string) bool {
	switch name {
	case "object":
		return v.IsObject()
	case "array":
		return v.IsArray()
	case "string":
		return v.Type == gjson.String
	case "boolean":
		return v.IsBool()
	case "null":
		return v.Type == gjson.Null && v.Exists()
	}
	return false
}
