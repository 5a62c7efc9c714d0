package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What is nobody's business here passes as it is written, both ways.
func TestTransparent(t *testing.T) {
	p := start(t, Options{})
	lines := []string{
		`{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/x","_meta":{"a":[1,2,{"b":null}]}}}`,
		`{"jsonrpc":"2.0","id":"0d1f1a6e-0000-4000-8000-000000000001","method":"craft/drainMidTurnQueue","params":{}}`,
		`{ "method" : "qwen/notify/x" , "jsonrpc" : "2.0" , "unknown" : true }`,
		`{"params":{"z":"{\"method\":\"initialize\"}"},"id":7.5,"method":"x"}`,
		`{"jsonrpc":"2.0","id":-3,"result":null}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"ü€😀 \u001b \\"}}`,
		`{"jsonrpc":"2.0","method":"session\/update","params":[1]}`,
		`{"jsonrpc":"2.0","method":"$/progress","params":{"elicitationId":"e"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s","options":[{"kind":"allow_once","name":"A","optionId":"a"},{"kind":"reject_once","name":"B","optionId":"b"}],"toolCall":{"toolCallId":"t"}}}`,
		`{"jsonrpc":"2.0","method":"big","params":"` + strings.Repeat("x", 3<<20) + `"}`,
		`{}`,
	}
	for _, id := range []string{"-3", "null"} { // what is answered below was asked for
		p.agent.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"x"}`)
		require.Equal(t, id, p.editor.next().Get("id").Raw)
	}
	for name, dir := range map[string][2]*end{"to the agent": {p.editor, p.agent}, "to the editor": {p.agent, p.editor}} {
		go dir[0].send(lines...)
		for i, line := range lines {
			require.Equal(t, line, dir[1].next().Raw, "%s: line %d", name, i)
		}
	}
}

// The last line of a peer counts also without its end, if it is whole.
func TestLastLine(t *testing.T) {
	p := start(t, Options{})
	acptest.Must(io.WriteString(p.agent.w, `{"jsonrpc":"2.0","method":"a"}`+"\n"+`{"jsonrpc":"2.0","method":"b"}`))
	require.NoError(t, p.agent.w.Close())
	require.Equal(t, "a", p.editor.next().Get("method").Str)
	require.Equal(t, "b", p.editor.next().Get("method").Str)
	require.ErrorIs(t, <-p.ended, errAgentGone)
}

// Random traffic comes out as it went in, as JSON, in its order.
func TestTransparentProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := start(t, Options{})
		lines := rapid.SliceOfN(rapid.Custom(randomLine), 1, 30).Draw(rt, "lines")
		from, to := p.editor, p.agent
		if rapid.Bool().Draw(rt, "from the agent") {
			from, to = to, from
		} else {
			p.asksFor(lines)
		}
		text := strings.Join(lines, "\n") + "\n"
		go func() { // in pieces that know nothing of lines
			for rest := text; rest != ""; {
				n := min(len(rest), 1+len(rest)/3)
				_, _ = io.WriteString(from.w, rest[:n])
				rest = rest[n:]
			}
		}()
		for i, line := range lines {
			if got := to.next().Raw; got != line {
				rt.Fatalf("line %d: sent %s, got %s", i, line, got)
			}
		}
	})
}

// asksFor lets the agent ask what the lines answer: the editor's answer to
// anything else is left out.
func (p *proxied) asksFor(lines []string) {
	for _, line := range lines {
		if m, _ := scan([]byte(line)); m.isResponse() {
			p.agent.send(`{"jsonrpc":"2.0","id":` + string(m.id) + `,"method":"x"}`)
			require.Equal(p, "x", p.editor.next().Get("method").Str)
		}
	}
}

// randomLine is a JSON-RPC message of any kind. None of them is a question.
func randomLine(t *rapid.T) string {
	members := []string{`"jsonrpc":"2.0"`}
	name := func(key string, values ...string) {
		if rapid.Bool().Draw(t, key) {
			members = append(members, fmt.Sprintf("%q:%s", key, rapid.SampledFrom(values).Draw(t, key+" value")))
		}
	}
	name("id", `0`, `1`, `"1"`, `"c0ffee"`, `null`, `1e3`)
	name("method", `"session/update"`, `"session/prompt"`, `"session/cancel"`, `"_ext/x"`, `"x"`, `"session/request_permission"`)
	value, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "value"))
	if err != nil {
		t.Fatal(err)
	}
	name("params", string(value), `[]`, `null`, `{"update":{"sessionUpdate":"tool_call_update"}}`)
	if rapid.Bool().Draw(t, "failed") { // with both a message would have two meanings
		name("error", `{"code":1,"message":"}{"}`)
	} else {
		name("result", string(value), `true`)
	}
	name("_meta", `{"deep":[[[{"a":"\\\""}]]]}`)
	return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"id":1,"method":"x","params":{}}`, `{"a":"\\\"","b":[{}]}`, `{`, `{"id"}`, `{"x":tru}`, `{"a":1,}`, `{"jsonrpc":"2.0","method":"session/update","params":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if strings.Contains(string(line), "\n") {
			return
		}
		m, ok := scan(line)
		if isText(append(bytes.Clone(line), '\n')) {
			require.True(t, ok && m.name() == updateName && !m.isRequest(), "%s", line)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			return // whatever scan says: it is not for it to judge
		}
		if m.twice {
			return // refused, see TestRule2TwoMeanings
		}
		require.True(t, ok, "%s", line)
		if m.name() == "session/update" {
			return // not read to its end
		}
		for key, got := range map[string][]byte{"id": m.id, "method": m.method, "params": m.params, "result": m.result, "error": m.err} {
			if !strings.Contains(string(line), `\`) { // keys may be escaped
				require.Equal(t, string(want[key]), string(got), "%s of %s", key, line)
			}
		}
	})
}

func TestEdit(t *testing.T) {
	one := func([]byte) []byte { return []byte("1") }
	for in, want := range map[string]string{
		`{}`:                          `{"a":{"b":1}}`,
		` { } `:                       ` {"a":{"b":1}} `,
		`{"x":"}"}`:                   `{"x":"}","a":{"b":1}}`,
		`{"a":null,"z":2}`:            `{"a":{"b":1},"z":2}`,
		`{"a":{"c":"\"b\""}}`:         `{"a":{"c":"\"b\"","b":1}}`,
		`{"a": {"b" : [1,2] },"q":0}`: `{"a": {"b" : 1 },"q":0}`,
		`{"a":5}`:                     `{"a":5}`,
		`{"a":1,"a":{"b":2}}`:         `{"a":1,"a":{"b":1}}`,
		`[]`:                          `[]`,
	} {
		require.Equal(t, want, string(edit([]byte(in), one, "a", "b")), in)
	}
}
