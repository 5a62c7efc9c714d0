package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

// secretName matches names of variables and headers that hold secrets.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|password|passwd|authorization|cookie|credential)`)

// redact takes environment values, headers and the values of our own secret
// variables out of a line before it is traced. The rest stays as it was.
func redact(line []byte) json.RawMessage {
	for _, value := range secretValues() {
		line = bytes.ReplaceAll(line, []byte(value), []byte("[redacted]"))
	}
	if !bytes.Contains(line, []byte(`"env"`)) && !bytes.Contains(line, []byte(`"headers"`)) {
		return line
	}
	var v any
	if json.Unmarshal(line, &v) != nil {
		return line
	}
	hide(v)
	b, err := json.Marshal(v)
	if err != nil {
		return line
	}
	return b
}

// hide replaces what stands below env and headers.
func hide(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "env" || key == "headers" {
				v[key] = hidden(value)
			} else {
				hide(value)
			}
		}
	case []any:
		for _, e := range v {
			hide(e)
		}
	}
}

// hidden keeps the names and drops the values.
func hidden(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if key != "name" {
				v[key] = "[redacted]"
			}
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = hidden(e)
		}
		return v
	}
	return "[redacted]"
}

// secretValues are those of this process's own environment.
func secretValues() []string {
	var values []string
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if secretName.MatchString(name) && len(value) >= 8 {
			values = append(values, value)
		}
	}
	return values
}
