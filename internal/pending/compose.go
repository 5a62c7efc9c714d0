package pending

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// help is for the person who opens the file.
const help = "Replace each null with an answer: in quotes a label, your own words, or cancel; " +
	"without quotes the number of an option; a list where multiSelect is true. " +
	"Save, then run the same command again."

// compose writes the file of a call. Options are plain labels, one line for
// all; what else is known of them stands beside them, by label.
func compose(c convert.Call, id string, now time.Time, ticket string) []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	session := "null"
	if c.Session != "" {
		session = encode(c.Session)
	}
	field(&b, "  ", "sessionId", session)
	field(&b, "  ", "timestamp", encode(now.UTC().Format(time.RFC3339)))
	field(&b, "  ", "id", encode(id))
	field(&b, "  ", "ticket", encode(ticket))
	field(&b, "  ", "help", encode(help))
	b.WriteString("  \"questions\": [\n")
	for i, q := range c.Questions {
		b.WriteString("    {\n")
		composeQuestion(&b, q)
		b.WriteString("    }")
		if i < len(c.Questions)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  ]\n}\n")
	return b.Bytes()
}

func composeQuestion(b *bytes.Buffer, q convert.Question) {
	const indent = "      "
	if q.Header != "" {
		field(b, indent, "header", encode(q.Header))
	}
	field(b, indent, "question", encode(q.Text))
	if len(q.Options) > 0 {
		labels := make([]string, len(q.Options))
		for i, o := range q.Options {
			labels[i] = encode(o.Label)
		}
		field(b, indent, "options", "["+strings.Join(labels, ", ")+"]")
		byLabel(b, indent, "descriptions", q, func(o convert.Option) string { return o.Description })
		byLabel(b, indent, "previews", q, func(o convert.Option) string { return o.Preview })
	}
	if len(q.Options) > 0 || q.MultiSelect {
		field(b, indent, "multiSelect", encode(q.MultiSelect))
	}
	b.WriteString(indent + "\"answer\": null\n")
}

// byLabel writes an object from labels to texts, in the order of the options.
func byLabel(b *bytes.Buffer, indent, name string, q convert.Question, text func(convert.Option) string) {
	var lines []string
	for _, o := range q.Options {
		if s := text(o); s != "" {
			lines = append(lines, fmt.Sprintf("%s  %s: %s", indent, encode(o.Label), encode(s)))
		}
	}
	if len(lines) > 0 {
		field(b, indent, name, "{\n"+strings.Join(lines, ",\n")+"\n"+indent+"}")
	}
}

func field(b *bytes.Buffer, indent, name, value string) {
	b.WriteString(indent + encode(name) + ": " + value + ",\n")
}

// encode writes a string or a boolean as JSON, without escapes for HTML.
func encode(v any) string {
	return string(clean.JSON(v))
}

// syntax says where JSON is broken, by line, for the person who broke it.
func syntax(data []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	if err == nil {
		return nil
	}
	if s, ok := err.(*json.SyntaxError); ok {
		at := min(int(s.Offset), len(data))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:max(at-1, 0)], []byte("\n")), err)
	}
	return err
}
