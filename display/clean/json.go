package clean

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// deep is how long a text may be for a check that recurses: one of nothing but
// brackets takes a stack of some hundred times its length, and Go ends a program
// whose stack grows too far.
const deep = 64 << 10

// ValidJSON reports whether data is JSON. A long text that nests thousands of
// levels deep is not.
func ValidJSON(data []byte) bool {
	if len(data) <= deep {
		return gjson.ValidBytes(data)
	}
	return json.Valid(data) // three times as slow
}

// ValidJSONText is ValidJSON for a string.
func ValidJSONText(text string) bool {
	if len(text) <= deep {
		return gjson.Valid(text)
	}
	return json.Valid([]byte(text))
}

// JSON encodes a value that always encodes, without escapes for HTML: a string,
// or a type of our own. It panics for one that does not.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
