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
// levels deep is not; see [Depth] for what shall be encoded again.
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

// Depth is how deep the arrays and objects of a JSON text nest; 0 for a value
// that is neither. Go's encoder refuses more than 10,000 levels.
func Depth[T []byte | string](text T) int {
	depth, most := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
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
