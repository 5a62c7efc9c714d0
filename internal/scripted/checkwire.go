package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// tooFast is how soon nobody can have answered.
const tooFast = 150 * time.Millisecond

// wire looks at what goes over the connection while a step runs.
type wire struct {
	now func() time.Time
	proc.Guarded[notes]
}

// notes are what a wire has seen.
type notes struct {
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

// met notes what the client says of itself.
func (w *wire) met(r acp.InitializeRequest) { w.Step(func(n *notes) { n.client = r }) }

// begin forgets what the last step saw.
func (w *wire) begin() { w.Step(func(n *notes) { n.rungs, n.problems = nil, nil }) }

// seen is what there is to see.
func (w *wire) seen() (seen notes) {
	w.Step(func(n *notes) { seen = *n })
	return seen
}

// asked notes the rung of a question. It watches the desk.
func (w *wire) asked(e desk.Entry) {
	w.Step(func(n *notes) {
		if e.State == desk.Asking && e.Rung != "" && !slices.Contains(n.rungs, e.Rung) {
			n.rungs = append(n.rungs, e.Rung)
		}
	})
}

// line sees a line from or to the client.
func (w *wire) line(dir ndjson.Direction, line []byte) {
	m, now := gjson.ParseBytes(line), w.now()
	w.Step(func(n *notes) { n.line(dir, m, now) })
}

func (n *notes) line(dir ndjson.Direction, m gjson.Result, now time.Time) {
	id := m.Get("id").Raw
	switch method := m.Get("method").Str; {
	case dir == ndjson.Out && (method == acp.ClientMethodSessionRequestPermission || method == acp.ClientMethodElicitationCreate):
		r := request{method: method, sent: now, schema: m.Get("params.requestedSchema")}
		for _, o := range m.Get("params.options").Array() {
			r.options = append(r.options, o.Get("optionId").Str)
		}
		n.open[id] = r
	case dir == ndjson.In && method == acp.AgentMethodSessionPrompt:
		_ = json.Unmarshal([]byte(m.Get("params.prompt").Raw), &n.prompt)
	case dir == ndjson.In && method == "" && id != "":
		if r, ok := n.open[id]; ok {
			delete(n.open, id)
			n.problems = append(n.problems, r.wrong(m, now.Sub(r.sent))...)
		}
	}
}

// wrong is what is wrong with a reply.
func (r request) wrong(m gjson.Result, took time.Duration) (problems []string) {
	wrong := func(format string, args ...any) {
		problems = append(problems, r.method+": "+clean.Line(fmt.Sprintf(format, args...)))
	}
	if took < tooFast && m.Get("result").Exists() {
		wrong("the answer came after %d ms: nobody reads that fast", took.Milliseconds())
	}
	if e := m.Get("error"); e.Exists() {
		wrong("the reply is an error: %s", e.Raw)
		return problems
	}
	if r.method == acp.ClientMethodElicitationCreate {
		r.formReply(m.Get("result"), wrong)
		return problems
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
	return problems
}

func (r request) formReply(result gjson.Result, wrong func(string, ...any)) {
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
