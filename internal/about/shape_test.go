package about

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// What a person is shown of a request for permission is what it says itself, and what the
// agent has shown of its tool call before it and since. Each step is a message of the
// agent; a request has options.
func TestWhatIsAskedFor(t *testing.T) {
	const (
		ls     = `{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","rawInput":{"command":"ls"}}`
		deploy = `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Deploy"}`
		done   = `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`
		titled = `{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"List"}`
		rm     = `{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":{"command":"rm"}}`
		runs   = `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress"}`
		other  = `{"sessionUpdate":"tool_call_update","toolCallId":"u","title":"Other","rawInput":{"command":"rm"}}`
		huge   = `{"sessionUpdate":"tool_call_update","toolCallId":"t","content":"HUGE"}`

		bare    = `{"options":[{"optionId":"y","name":"Yes"}],"toolCall":{"toolCallId":"t"}}`
		asks    = `{"options":[{"optionId":"y","name":"Yes"}],"toolCall":{"toolCallId":"t","title":"Show files"}}`
		asksRm  = `{"options":[{"optionId":"y","name":"Yes"}],"toolCall":{"toolCallId":"t","title":"rm","rawInput":{"command":"rm"}}}`
		nothing = `{"options":[{"optionId":"y","name":"Yes"}],"toolCall":{"title":"ls"}}`
	)
	for name, c := range map[string]struct {
		steps        []string
		title, input string // of the first request
		changed      int    // how often it was another one
		elsewhere    bool
		lost         bool
	}{
		"all is said before":                    {[]string{ls, bare}, "ls", `{"command":"ls"}`, 0, true, false},
		"its own words count":                   {[]string{ls, asks}, "Show files", `{"command":"ls"}`, 0, true, false},
		"and do so alone":                       {[]string{asksRm}, "rm", `{"command":"rm"}`, 0, true, false},
		"nothing new is no change":              {[]string{ls, bare, runs, other}, "ls", `{"command":"ls"}`, 0, true, false},
		"what comes later counts more":          {[]string{ls, asks, titled}, "List", `{"command":"ls"}`, 1, true, false},
		"each time":                             {[]string{ls, asks, titled, rm, rm}, "List", `{"command":"rm"}`, 2, true, false},
		"another request has its own words":     {[]string{ls, asks, asksRm}, "Show files", `{"command":"ls"}`, 0, true, false},
		"which are not the tool call's":         {[]string{asksRm, bare}, "rm", `{"command":"rm"}`, 0, true, false},
		"a new tool call is another one":        {[]string{ls, deploy, bare}, "Deploy", "", 0, true, false},
		"also under an open request":            {[]string{ls, bare, deploy}, "Deploy", "", 1, true, false},
		"which keeps its own words":             {[]string{ls, asksRm, deploy}, "Deploy", `{"command":"rm"}`, 1, true, false},
		"and not those of what was there":       {[]string{ls, bare, rm, deploy}, "Deploy", "", 2, true, false},
		"what has ended is for nobody":          {[]string{ls, bare, done}, "ls", `{"command":"ls"}`, 1, false, false},
		"nor is it another one later":           {[]string{ls, bare, done, titled, deploy}, "ls", `{"command":"ls"}`, 1, false, false},
		"an id is used again":                   {[]string{ls, done, deploy, bare}, "Deploy", "", 0, true, false},
		"too much to be kept":                   {[]string{ls, huge, asks}, "Show files", "", 0, false, true},
		"too much later":                        {[]string{ls, asks, huge}, "Show files", "", 1, false, true},
		"what comes then is shown all the same": {[]string{huge, asks, titled}, "List", "", 1, false, true},
		"a new one after that":                  {[]string{huge, ls, bare}, "ls", `{"command":"ls"}`, 0, true, false},
		"no id":                                 {[]string{nothing}, "ls", "", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := NewShapes()
			var first *Asked
			changed := 0
			for _, s := range c.steps {
				if s == huge {
					s = strings.Replace(s, `"HUGE"`, `[{"type":"content","content":{"type":"text","text":"`+strings.Repeat("x", MaxShapes)+`"}}]`, 1)
				}
				m := gjson.Parse(s)
				if !m.Get("options").Exists() {
					for _, a := range all.Saw(m) {
						if a == first {
							changed++
						}
					}
				} else if a := all.Ask(m); first == nil {
					first = a
				}
			}
			r, ok := first.Request()
			require.Equal(t, c.title, *r.ToolCall.Title)
			require.Equal(t, c.input, string(CallOf(r).Input))
			require.Equal(t, c.changed, changed)
			require.Equal(t, c.elsewhere, ok)
			require.Equal(t, c.lost, first.Lost())
		})
	}
}

// What nobody keeps is not said to be all.
func TestNothingIsKept(t *testing.T) {
	all := new(Shapes)
	require.Empty(t, all.Saw(gjson.Parse(`{"toolCallId":"t","rawInput":{"command":"rm"}}`)))
	a := all.Ask(gjson.Parse(`{"toolCall":{"toolCallId":"t","title":"ls"},"options":[{"optionId":"y","name":"Yes"}]}`))
	require.True(t, a.Lost())
	_, ok := a.Request()
	require.False(t, ok)
	_, ok = NewShapes().Ask(gjson.Parse(`{"toolCall":{"toolCallId":"t","title":"ls","content":[{"type":"content","content":{"type":"text","text":"rm","_meta":1}}]},"options":[{"optionId":"y","name":"Yes"}]}`)).Request()
	require.False(t, ok, "nor is what cannot be read")
	require.Zero(t, all.size)
}

// Nothing is left of what has ended.
func TestShapesAreForgotten(t *testing.T) {
	all := NewShapes()
	for range 3 {
		all.Saw(gjson.Parse(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"a","content":[{"type":"content","content":{"type":"text","text":"{\"a\":1}"}}]}`))
		all.Saw(gjson.Parse(`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"b"}`))
		all.Saw(gjson.Parse(`{"sessionUpdate":"tool_call_update","title":"b"}`))
	}
	all.Ask(gjson.Parse(`{"toolCall":{"toolCallId":"t"}}`)).Over()
	require.Positive(t, all.size)
	all.Saw(gjson.Parse(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}`))
	require.Zero(t, all.size)
	require.Empty(t, all.of)
}

// What a request says in words stands beside its input. A file that it names is told
// unless it is named there, or in the title, already.
func TestToolTold(t *testing.T) {
	const said = `"content":[{"type":"content","content":{"type":"text","text":"See /c.go"}},{"type":"diff","path":"/d.go","newText":"x"}]`
	for name, c := range map[string]struct{ call, text string }{
		"nothing":                {`"title":"ls"`, ""},
		"words":                  {`"title":"ls",` + said, "See /c.go"},
		"words of the input":     {`"rawInput":{"command":"ls\nrm"},"content":[{"type":"content","content":{"type":"text","text":"` + "```sh\\nls\\nrm\\n```" + `"}}]`, ""},
		"a file":                 {`"title":"Edit","locations":[{"path":"/a.go"}]`, "/a.go"},
		"one of the title":       {`"title":"Edit /a.go","locations":[{"path":"/a.go"}]`, ""},
		"one of the input":       {`"rawInput":{"path":"/a.go"},"locations":[{"path":"/a.go"}]`, ""},
		"one that is quoted":     {`"rawInput":{"path":"C:\\a.go"},"locations":[{"path":"C:\\a.go"}]`, ""},
		"one of the words":       {`"locations":[{"path":"/c.go"},{"path":"/b.go"}],` + said, "See /c.go\n\n/b.go"},
		"one of a change":        {`"locations":[{"path":"/d.go"}],` + said, "See /c.go"},
		"one that a link names":  {`"locations":[{"path":"/l.go"}],"content":[{"type":"content","content":{"type":"resource_link","name":"l","uri":"/l.go"}}]`, "l /l.go"},
		"one beside a resource":  {`"locations":[{"path":"/r"}],"content":[{"type":"content","content":{"type":"resource","resource":{"uri":"u","text":"all"}}}]`, "u\nall\n\n/r"},
		"part of another":        {`"title":"Copy /a.go.bak to /a.go_/b, /a.go-2 and /a.golang","locations":[{"path":"/a.go"}]`, "/a.go"},
		"at the end":             {`"title":"See /a.go.bak and /a.go.","locations":[{"path":"/a.go"}]`, ""},
		"title and change":       {`"title":"Edit /a.go","locations":[{"path":"/a.go"}],` + said, "See /c.go"},
		"no path":                {`"title":"Edit","locations":[{"path":""}]`, ""},
		"two that nothing names": {`"title":"Edit","locations":[{"path":"/a.go"},{"path":"/b.go"}]`, "/a.go\n\n/b.go"},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := NewShapes().Ask(gjson.Parse(`{"options":[{"optionId":"y","name":"Yes"}],"toolCall":{"toolCallId":"t",` + c.call + `}}`)).Request()
			require.True(t, ok)
			require.Equal(t, c.text, ToolTold(r).Text)
		})
	}
}
