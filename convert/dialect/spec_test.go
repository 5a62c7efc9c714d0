package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// noTool are dialects that are requests of a protocol.
var noTool = []string{"choice", "grok-plan", "mcp"}

// unsaid is what an agent expects of a call beyond its schema.
var unsaid = map[string]error{"copilot": convert.ErrOptionCount, "gemini": convert.ErrOptionCount, "opencode": convert.ErrNoQuestions}

// A model that keeps to the schema is understood.
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
				n := 0
				input := drawn(t, gjson.ParseBytes(spec.Schema), &n)
				call := acptest.Must(json.Marshal(map[string]any{"id": "call_1", "name": spec.Name, "input": input}))
				if _, err = dialect.Decode(call, id); unsaid[id] == nil || !errors.Is(err, unsaid[id]) {
					require.NoError(t, err, "%s", call)
				}
			})
		})
	}
	require.ErrorIs(t, acptest.Err(dialect.Spec("none")), dialect.ErrUnknown)
}

// The limits are Claude's where the agent took the tool from there.
func TestSpecLimits(t *testing.T) {
	for _, id := range []string{"claude", "go", "phoenix", "qwen", "kimi", "gemini"} {
		list := gjson.GetBytes(acptest.Must(dialect.Spec(id)).Schema, "properties.questions")
		options := list.Get("items.properties.options")
		require.Equal(t, []int64{1, convert.MaxQuestions, convert.MinOptions, convert.MaxOptions},
			[]int64{list.Get("minItems").Int(), list.Get("maxItems").Int(), options.Get("minItems").Int(), options.Get("maxItems").Int()}, id)
	}
	phoenix, _ := dialect.Spec("phoenix")
	require.EqualValues(t, 12, gjson.GetBytes(phoenix.Schema, "properties.questions.items.properties.header.maxLength").Int())
}

// drawn draws a value by the part of JSON Schema that the specs use. No two of its
// texts are the same.
func drawn(t *rapid.T, schema gjson.Result, n *int) any {
	switch types := schema.Get("type").Array(); rapid.SampledFrom(types).Draw(t, "type").Str {
	case "object":
		object := map[string]any{}
		required := schema.Get("required").Array()
		schema.Get("properties").ForEach(func(k, v gjson.Result) bool {
			needed := slices.ContainsFunc(required, func(r gjson.Result) bool { return r.Str == k.Str })
			if needed || rapid.Bool().Draw(t, k.Str) {
				object[k.Str] = drawn(t, v, n)
			}
			return true
		})
		return object
	case "array":
		least, most := int(schema.Get("minItems").Int()), 6
		if limit := schema.Get("maxItems"); limit.Exists() {
			most = int(limit.Int())
		}
		list := make([]any, rapid.IntRange(least, most).Draw(t, "items"))
		for i := range list {
			list[i] = drawn(t, schema.Get("items"), n)
		}
		return list
	case "boolean":
		return rapid.Bool().Draw(t, "flag")
	case "string":
		if enum := schema.Get("enum").Array(); len(enum) > 0 {
			return rapid.SampledFrom(enum).Draw(t, "word").Str
		}
		*n++
		return fmt.Sprint("text ", *n)
	}
	return nil
}
