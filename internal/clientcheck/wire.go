package clientcheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// tooFast is how soon nobody can have answered.
const tooFast = 150 * time.Millisecond

// wire looks at what goes over the connection while a step runs.
type wire struct {
	now func() time.Time

	mu       sync.Mutex
	client   acp.InitializeRequest
	prompt   []acp.ContentBlock // the last that could be read
	open     map[string]request // by id
	rungs    []string
	problems []string
}

// request is one that the client has not answered.
type request struct {
	method  string
	sent    time.Time
	options []string
	schema  gjson.Result
}

func newWire(now func() time.Time) *wire { return &wire{now: now, open: map[string]request{}} }

// met notes what the client says of itself.
func (w *wire) met(r acp.InitializeRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = r
}

// begin forgets what the last step saw.
func (w *wire) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rungs, w.problems = nil, nil
}

func (w *wire) end() (rungs, problems []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rungs, w.problems
}

// asked notes the rung of a question. It watches the desk.
func (w *wire) asked(e desk.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.State == desk.Asking && e.Rung != "" && !slices.Contains(w.rungs, e.Rung) {
		w.rungs = append(w.rungs, e.Rung)
	}
}

// line sees a line from or to the client.
func (w *wire) line(dir ndjson.Direction, line []byte) {
	m := gjson.ParseBytes(line)
	id := m.Get("id").Raw
	w.mu.Lock()
	defer w.mu.Unlock()
	switch method := m.Get("method").Str; {
	case dir == ndjson.Out && (method == acp.ClientMethodSessionRequestPermission || method == acp.ClientMethodElicitationCreate):
		r := request{method: method, sent: w.now(), schema: m.Get("params.requestedSchema")}
		for _, o := range m.Get("params.options").Array() {
			r.options = append(r.options, o.Get("optionId").Str)
		}
		w.open[id] = r
	case dir == ndjson.In && method == acp.AgentMethodSessionPrompt:
		_ = json.Unmarshal([]byte(m.Get("params.prompt").Raw), &w.prompt)
	case dir == ndjson.In && method == "" && id != "":
		if r, ok := w.open[id]; ok {
			delete(w.open, id)
			w.reply(r, m)
		}
	}
}

// reply notes what is wrong with a reply. mu is held.
func (w *wire) reply(r request, m gjson.Result) {
	wrong := func(format string, args ...any) {
		w.problems = append(w.problems, r.method+": "+clean.Line(fmt.Sprintf(format, args...)))
	}
	if took := w.now().Sub(r.sent); took < tooFast && m.Get("result").Exists() {
		wrong("the answer came after %d ms: nobody reads that fast", took.Milliseconds())
	}
	if e := m.Get("error"); e.Exists() {
		wrong("the reply is an error: %s", e.Raw)
		return
	}
	if r.method == acp.ClientMethodElicitationCreate {
		w.formReply(r, m.Get("result"), wrong)
		return
	}
	outcome := m.Get("result.outcome")
	option := outcome.Get("optionId")
	switch outcome.Get("outcome").Str {
	case "cancelled":
	case "selected":
		if option.Type != gjson.String {
			wrong(`"selected" without an optionId`)
		} else if !slices.Contains(r.options, option.Str) {
			wrong("optionId %q was not offered (%q were)", option.Str, r.options)
		}
	default:
		wrong(`expected {"outcome":{"outcome":"selected","optionId":…}} or "cancelled", got %s`, clean.Truncate(m.Get("result").Raw, 200))
	}
}

func (w *wire) formReply(r request, result gjson.Result, wrong func(string, ...any)) {
	switch result.Get("action").Str {
	case "decline", "cancel":
		return
	case "accept":
	default:
		wrong(`expected the action "accept", "decline" or "cancel", got %s`, clean.Truncate(result.Raw, 200))
		return
	}
	result.Get("content").ForEach(func(key, value gjson.Result) bool {
		property := r.schema.Get("properties." + gjson.Escape(key.Str))
		want := property.Get("type").Str
		switch {
		case !property.Exists():
			wrong("content has %q, which the schema has not", key.Str)
		case want == "string" && value.Type != gjson.String, want == "integer" && value.Type != gjson.Number,
			want == "array" && !value.IsArray(), want == "boolean" && !value.IsBool():
			wrong("content.%s must be of type %s, got %s", key.Str, want, value.Raw)
		}
		return true
	})
	for _, key := range r.schema.Get("required").Array() {
		if !result.Get("content." + gjson.Escape(key.Str)).Exists() {
			wrong("content lacks %q, which is required", key.Str)
		}
	}
}
