package acptest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// One message of each shape is kept, with what it answers or relays.
func TestRecorder(t *testing.T) {
	var kept []string
	r := &Recorder{Write: func(b []byte) { kept = append(kept, string(b)) }}
	line := func(c *tap, wire string, dir ndjson.Direction, text string) { c.line(wire, dir, []byte(text)) }
	open := func() *tap {
		return &tap{r: r, asked: map[string]string{}, came: map[string]string{}, relayed: map[string]bool{}}
	}
	c := open()
	line(c, "", ndjson.In, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{"plan":{}}}}`)
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"_meta":{"a":1}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan"}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","title":"a"}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"title":"b","sessionUpdate":"tool_call"}}}`,
		`no JSON`,
	} {
		line(c, "", ndjson.Out, text)
	}
	require.Len(t, kept, 3)
	require.Equal(t, "initialize", gjson.Get(kept[0], "method").Str)
	require.True(t, gjson.Get(kept[0], "drafts").Bool())

	kept = nil
	p := open()
	line(p, "editor", ndjson.In, `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/"}}`)
	line(p, "agent", ndjson.Out, `{"jsonrpc":"2.0","id":8,"method":"session/new","params":{"cwd":"/x"}}`) // as it came
	line(p, "agent", ndjson.Out, `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/","more":1}}`)
	require.Len(t, kept, 1)
	require.Equal(t, "/", gjson.Get(kept[0], "from.params.cwd").Str)
	require.False(t, gjson.Get(kept[0], "drafts").Bool())
}
