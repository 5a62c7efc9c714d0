package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// An agent that is stopped in its terminal may leave its hook running, and take whatever
// that prints for nothing. What it writes down for itself tells:
//
//	| agent   | its user stopped it          | it took what the hook printed                    |
//	|---------|------------------------------|--------------------------------------------------|
//	| Gemini  | info "Request cancelled.", at once; the call is "cancelled" | the call's result has our words |
//	| Copilot | abort, once the hook has ended | permission.completed of this permission, or the call's result has our words |
//	| Qwen    | it kills the hook            | the call's result: our words, or what was allowed |

// fate is what became of a call.
type fate uint8

const (
	pending fate = iota
	stopped      // nobody takes an answer any more
	used         // the agent has gone on with ours
)

var errStopped = errors.New("the agent was stopped in its terminal, and took no answer")

// record is the file in which an agent writes down what happens in a session, from where
// it ended when the hook was started.
type record struct {
	name string
	from int64
	part []byte
	// read is what a line says of the call; said is what we have printed, nil until then.
	read func(line gjson.Result, said *said) fate
}

// said is what was printed for a call: that it is allowed, or words.
type said struct {
	allows bool
	words  string
	prints []byte
}

// lineTime is how often a record is looked at, and maxRead how much of it at once.
const (
	lineTime = 150 * time.Millisecond
	maxRead  = 1 << 20
)

// begin opens a record at its end. An empty name is a record that says nothing.
func begin(name string, read func(gjson.Result, *said) fate) *record {
	r := &record{name: name, read: read}
	if info, err := os.Stat(name); err == nil {
		r.from = info.Size()
	}
	return r
}

// look reads what was written since, and returns what the last line that says anything says.
func (r *record) look(s *said) (f fate) {
	if r.name == "" {
		return pending
	}
	file, err := os.Open(r.name)
	if err != nil {
		return pending
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, r.from, maxRead))
	if err != nil {
		return pending
	}
	r.from += int64(len(data))
	lines := bytes.Split(append(r.part, data...), []byte{'\n'})
	r.part = lines[len(lines)-1]
	if len(r.part) > maxRead {
		r.part = nil
	}
	for _, line := range lines[:len(lines)-1] {
		if now := r.read(gjson.ParseBytes(line), s); now != pending {
			return now
		}
	}
	return pending
}

// await waits until it is known what became of what was said.
func (r *record) await(ctx context.Context, s said) fate {
	tick := time.NewTicker(lineTime)
	defer tick.Stop()
	for r.name != "" {
		if f := r.look(&s); f != pending {
			return f
		}
		select {
		case <-ctx.Done():
			return pending
		case <-tick.C:
		}
	}
	return pending
}

var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{8,}$`) })

// kept says where an agent keeps what it writes down: in a folder of the user's home, or that
// a variable names. Its file has a name of this form, in which %s is the session's.
type kept struct{ variable, dir, form string }

// file is the one of a session. No file is read because an event names it.
func (k kept) file(session string) string {
	if !sessionName().MatchString(session) {
		return ""
	}
	form, err := HomeFile(k.variable, k.dir, filepath.FromSlash(fmt.Sprintf(k.form, session)))()
	found, _ := filepath.Glob(form)
	if err != nil || len(found) != 1 {
		return ""
	}
	return found[0]
}

// qwenFate reads a line of Qwen's record. A call is written down when it is over.
func qwenFate(tool string, input gjson.Result) func(gjson.Result, *said) fate {
	return func(line gjson.Result, s *said) fate {
		call := line.Get("systemPayload.uiEvent")
		switch {
		case s == nil, call.Get(`event\.name`).Str != "qwen-code.tool_call", call.Get("function_name").Str != tool, !sameJSON(call.Get("function_args"), input):
			return pending
		case call.Get("status").Str == "cancelled" || !s.allows && !strings.Contains(call.Get("error").Str, s.words):
			return stopped
		}
		return used
	}
}

// geminiFate reads a line of Gemini's record. A call is written down with its result.
func geminiFate(tool string, input gjson.Result) func(gjson.Result, *said) fate {
	return func(line gjson.Result, s *said) (f fate) {
		if line.Get("type").Str == "info" && strings.HasPrefix(line.Get("content").Str, "Request cancelled") {
			return stopped
		}
		for _, call := range line.Get("toolCalls").Array() {
			if call.Get("name").Str != tool || !sameJSON(call.Get("args"), input) {
				continue
			}
			text := call.Get("result.0.functionResponse.response.error").Str
			switch {
			case s != nil && !s.allows && strings.Contains(text, s.words):
				return used
			case call.Get("status").Str == "cancelled":
				f = stopped
			}
		}
		return f
	}
}

// copilotQuestion is the tool of Copilot that asks its user.
const copilotQuestion = "ask_user"

// copilotFate reads a line of Copilot's record. A permission is written down when its hook
// has ended: what it is for, and then how it ended.
func copilotFate(tool string, input gjson.Result) func(gjson.Result, *said) fate {
	ours := map[string]bool{} // requests for this permission, and their calls
	return func(line gjson.Result, s *said) fate {
		data := line.Get("data")
		switch line.Get("type").Str {
		case "abort":
			return stopped
		case "permission.requested":
			if p := data.Get("permissionRequest"); hasAll(p, input) {
				ours[data.Get("requestId").Str], ours[p.Get("toolCallId").Str] = true, true
			}
		case "permission.completed":
			result := data.Get("result")
			if s != nil && ours[data.Get("requestId").Str] && (s.allows && result.Get("kind").Str == "approved" || !s.allows && result.Get("message").Str == s.words) {
				return used
			}
		case "tool.execution_complete":
			mine := tool == copilotQuestion || ours[data.Get("toolCallId").Str]
			if s != nil && !s.allows && mine && strings.Contains(data.Get("error.message").Str, s.words) {
				return used
			}
		}
		return pending
	}
}

// hasAll reports whether a value has all that another one has, by whatever names.
func hasAll(v, all gjson.Result) bool {
	missing := false
	all.ForEach(func(_, want gjson.Result) bool {
		missing = true
		v.ForEach(func(_, has gjson.Result) bool {
			missing = !sameJSON(has, want)
			return missing
		})
		return !missing
	})
	return !missing
}

// sameJSON reports whether two values are the same, in whatever order their members are.
func sameJSON(a, b gjson.Result) bool { return reflect.DeepEqual(a.Value(), b.Value()) }
