package convert

import (
	"encoding/json"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const separator = ", "

// Join makes one string of the items of a multi-select answer: joined by a
// comma and a space, an item that holds these or a double quote written as a
// JSON string.
func Join(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		if strings.Contains(item, separator) || strings.Contains(item, `"`) {
			item = string(clean.JSON(item))
		}
		quoted[i] = item
	}
	return strings.Join(quoted, separator)
}

// Split is the inverse of [Join]. A quote that begins an item but does not
// form a JSON string up to the next separator stands for itself.
func Split(s string) []string {
	var items []string
	for s != "" {
		item, rest := splitOne(s)
		items = append(items, item)
		s = rest
	}
	return items
}

func splitOne(s string) (item, rest string) {
	if s[0] == '"' {
		if dec := json.NewDecoder(strings.NewReader(s)); dec.Decode(&item) == nil {
			rest = s[dec.InputOffset():]
			if rest == "" {
				return item, ""
			}
			if after, ok := strings.CutPrefix(rest, separator); ok {
				return item, after
			}
		}
	}
	item, rest, _ = strings.Cut(s, separator)
	return item, rest
}
