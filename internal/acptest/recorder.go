package acptest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func init() {
	if folder := os.Getenv("ACP_BRIDGE_WIRE"); folder != "" && !strings.HasPrefix(filepath.Base(os.Args[0]), "proxy.test") {
		r := &Recorder{Write: toFile(filepath.Join(folder, fmt.Sprintf("%s-%d.jsonl", filepath.Base(os.Args[0]), os.Getpid())))}
		ndjson.Tap = r.Tap
	}
}

// toFile appends lines to a file, which is made with the first.
func toFile(path string) func([]byte) {
	file := sync.OnceValues(func() (*os.File, error) { return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) })
	return func(line []byte) {
		f, err := file()
		if err == nil {
			_, err = f.Write(append(line, '\n'))
		}
		if err != nil {
			panic(err)
		}
	}
}

// Recorder keeps one message of each shape.
type Recorder struct {
	// Write gets each as JSON: message, and method if it answers one; from, what it was
	// made of, if it is relayed; drafts if the client knows them.
	Write func([]byte)
	shown sync.Map // shapes
}

// Tap is for [ndjson.Tap].
func (r *Recorder) Tap() ndjson.Tapping {
	if double() {
		return nil
	}
	t := &tap{r: r, asked: map[string]string{}, came: map[string]string{}, relayed: map[string]bool{}}
	return t.line
}

// double reports whether a test makes the connection itself.
func double() bool {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "/internal/conn.") && !strings.Contains(f.Function, "/internal/conn/") {
			return strings.HasSuffix(f.File, "_test.go") || strings.Contains(f.Function, "/internal/acptest.")
		}
		if !more {
			return false
		}
	}
}

// tap is one connection, or the two of a proxy.
type tap struct {
	r *Recorder

	mu      sync.Mutex
	asked   map[string]string // methods by wire and id
	came    map[string]string // what came in, by id and method
	relayed map[string]bool   // shapes that came in, and may go out as they are
	drafts  bool
}

func (t *tap) line(wire string, dir ndjson.Direction, line []byte) {
	m := gjson.ParseBytes(line)
	if !m.IsObject() || !gjson.ValidBytes(line) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	method, id := m.Get("method").Str, wire+" "+m.Get("id").Raw
	if method == "initialize" {
		c := m.Get("params.clientCapabilities")
		t.drafts = t.drafts || c.Get("plan").IsObject() || c.Get("subagents").IsObject() || m.Get("params.protocolVersion").Int() > 1
	}
	if dir == ndjson.In {
		if method != "" {
			t.asked[id] = method
		}
		t.came[m.Get("id").Raw+method] = string(line)
		t.relayed[shape(m, "")] = true
		return
	}
	if t.relayed[shape(m, "")] {
		return
	}
	answers := ""
	if method == "" {
		answers = t.asked[id]
	}
	from := ""
	if wire != "" && m.Get("id").Exists() { // of a proxy
		from = t.came[m.Get("id").Raw+method]
	}
	t.r.record(line, m, answers, from, t.drafts)
}

func (r *Recorder) record(line []byte, m gjson.Result, answers, from string, drafts bool) {
	if _, shown := r.shown.LoadOrStore(fmt.Sprint(drafts, answers, shape(m, "")), true); shown {
		return
	}
	out, err := json.Marshal(struct {
		Message json.RawMessage `json:"message"`
		Method  string          `json:"method,omitempty"`
		From    json.RawMessage `json:"from,omitempty"`
		Drafts  bool            `json:"drafts"`
	}{line, answers, json.RawMessage(from), drafts})
	if err != nil {
		panic(err)
	}
	r.Write(out)
}

// Members that may hold anything, and those whose values make another message.
var (
	free = []string{"_meta", "rawInput", "rawOutput", "data"}
	tags = []string{"sessionUpdate", "type", "kind", "status", "priority", "stopReason", "mode", "method", "outcome", "action", "severity", "state"}
)

// shape is equal for messages that differ in their values alone.
func shape(v gjson.Result, key string) string {
	switch {
	case slices.Contains(free, key):
		return key
	case v.IsObject():
		parts := []string{}
		for name, in := range v.Map() {
			parts = append(parts, name+":"+shape(in, name))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case v.IsArray():
		parts := []string{}
		for _, in := range v.Array() {
			parts = append(parts, shape(in, ""))
		}
		slices.Sort(parts)
		return "[" + strings.Join(slices.Compact(parts), ",") + "]"
	case slices.Contains(tags, key):
		return v.Raw
	}
	return v.Type.String()
}
