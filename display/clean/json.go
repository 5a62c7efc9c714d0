package clean

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// long and deep bound a check that recurses: a text of nothing but brackets takes a
// stack of some hundred times its length, and Go ends a program whose stack grows
// too far. A text that is not long may be deeper.
const (
	long = 64 << 10
	deep = 10_000
)

// ValidJSON reports whether data is JSON. A long text that nests more than ten
// thousand levels deep is not; see [Depth] for what shall be encoded again.
func ValidJSON(data []byte) bool {
	return (len(data) <= long || Depth(data) <= deep) && gjson.ValidBytes(data)
}

// ValidJSONText is ValidJSON for a string.
func ValidJSONText(text string) bool {
	return (len(text) <= long || Depth(text) <= deep) && gjson.Valid(text)
}

// Depth is how deep the arrays and objects of a JSON text nest; 0 for a value
// that is neither. Go's encoder refuses more than 10,000 levels.
func Depth[T ~[]byte | ~string](text T) int {
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

// Indented lays JSON out for reading. Its tokens stay as they are. What nests deeper than
// people read is left as it is: each line of it would be as long as it is deep.
func Indented[T ~[]byte | ~string](text T) string {
	var b bytes.Buffer
	if Depth(text) > 20 || json.Indent(&b, []byte(text), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// JSON encodes a value that always encodes, without escapes for HTML: a string,
// or a type of our own. It panics for one that does not.
func JSON(v any) []byte {
	b, err := EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return b
}

// EncodeJSON encodes a value on one line, without escapes for HTML. The result is
// UTF-8.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if !utf8.Valid(b) { // of raw JSON in v
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return b, nil
}

// AppendJSON appends s as a JSON string, as [JSON] encodes it.
func AppendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what is before it is appended
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		b = appendEscape(append(b, s[from:i]...), r)
		i += n
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscape(b []byte, r rune) []byte {
	const short, meant, hex = "\"\\\b\f\n\r\t", `"\bfnrt`, "0123456789abcdef"
	if i := strings.IndexRune(short, r); i >= 0 && r < utf8.RuneSelf {
		return append(b, '\\', meant[i])
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
