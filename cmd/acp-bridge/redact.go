package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
)

// secretName matches names of variables that hold secrets.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|password|passwd|authorization|headers|cookie|credential)`)

const redacted = "[redacted]"

// secrets are the values that must not be written anywhere, in the forms in
// which they can stand in a line.
type secrets [][]byte

// findSecrets takes them from an environment.
func findSecrets(environ []string) secrets {
	var found secrets
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !secretName.MatchString(name) || len(value) < 8 {
			continue
		}
		found = append(found, []byte(value))
		if quoted, err := json.Marshal(value); err == nil {
			if inner := quoted[1 : len(quoted)-1]; string(inner) != value {
				found = append(found, inner)
			}
		}
	}
	return found
}

// hide replaces the secrets of a line. A line without any is returned as it is.
func (s secrets) hide(line []byte) []byte {
	for _, value := range s {
		line = bytes.ReplaceAll(line, value, []byte(redacted))
	}
	return line
}

// hidingWriter writes without secrets.
type hidingWriter struct {
	w       io.Writer
	secrets secrets
}

func (h *hidingWriter) Write(b []byte) (int, error) {
	if _, err := h.w.Write(h.secrets.hide(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// hideFields takes the values of environments and headers out of a message. The
// rest stays as it was.
func hideFields(line []byte) json.RawMessage {
	if !bytes.Contains(line, []byte(`"env"`)) && !bytes.Contains(line, []byte(`"headers"`)) {
		return line
	}
	var v any
	if json.Unmarshal(line, &v) != nil {
		return line
	}
	hideIn(v)
	b, err := json.Marshal(v)
	if err != nil {
		return line
	}
	return b
}

// hideIn replaces what stands below env and headers.
func hideIn(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "env" || key == "headers" {
				v[key] = hidden(value)
			} else {
				hideIn(value)
			}
		}
	case []any:
		for _, e := range v {
			hideIn(e)
		}
	}
}

// hidden keeps the names and drops the values.
func hidden(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if key != "name" {
				v[key] = redacted
			}
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = hidden(e)
		}
		return v
	}
	return redacted
}
