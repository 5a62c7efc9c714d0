package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// toldEditor is an editor that knows nothing but what the comment of adapter/editor says. Its replies
// are those of the examples there.
type toldEditor struct {
	name, capabilities string
	// replies are by step of check-client, in the order of the requests.
	replies map[int][]string
	// prompts are what the user types where a question waits in the conversation.
	prompts map[int][]string
	// shown are the steps whose replies are examples.
	shown map[int]shown
}

// shown is an example: what it shows, and which of its requests is there, from 1.
type shown struct {
	title   string
	request int
}

func picked(id string) string { return `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}` }

func wrote(id, meta string) string {
	return `{"outcome":{"outcome":"selected","optionId":"` + id + `"},"_meta":` + meta + `}`
}

const rejects, dismisses = `{"outcome":{"outcome":"selected","optionId":"reject"}}`, `{"outcome":{"outcome":"cancelled"}}`

var toldEditors = []toldEditor{{
	name: "Buttons, with _meta", capabilities: `{"_meta":{"askUserQuestion":true}}`,
	replies: map[int][]string{
		1: {picked("SQLite")},
		2: {wrote("Auth", `{"selectedOptionIds":["Auth","Logs"]}`)},
		3: {wrote("__other__", `{"customText":"bridge"}`)},
		4: {picked("PostgreSQL"), wrote("Auth", `{"selectedOptionIds":["Auth"]}`), picked("MIT")},
		5: {wrote("__other__", `{"customText":"orders"}`), wrote("__other__", `{"customText":"8080"}`)},
		6: {rejects}, 7: {dismisses},
	},
	shown: map[int]shown{1: {"One pick", 1}, 2: {"Several picks, where _meta.claudeCode.multiSelect is true", 0}, 3: {"Own words", 0},
		5: {"A form of an MCP server, field by field", 1}, 6: {"A permission, which is no question", 1}, 7: {"Dismissed", 0}},
}, {
	name: "Forms", capabilities: `{"elicitation":{"form":{}}}`,
	replies: map[int][]string{
		1: {`{"action":"accept","content":{"question_0":"SQLite"}}`},
		2: {`{"action":"accept","content":{"question_0":["Auth","Logs"]}}`},
		3: {`{"action":"accept","content":{"question_0_custom":"bridge"}}`},
		4: {`{"action":"accept","content":{"question_0":"PostgreSQL","question_1":["Auth"],"question_2":"MIT"}}`},
		5: {`{"action":"accept","content":{"name":"orders","port":8080}}`},
		6: {rejects}, 7: {`{"action":"cancel"}`},
	},
	shown: map[int]shown{1: {"One pick", 1}, 2: {"Several picks, where the type is array", 0}, 3: {"Own words", 0}, 4: {"Three questions in one form", 0},
		5: {"A form of an MCP server, as it is", 1}, 7: {"Dismissed", 0}},
}, {
	name: "Buttons alone", capabilities: `{}`,
	replies: map[int][]string{
		1: {picked("SQLite")},
		2: {picked("Auth"), picked("Logs"), picked("__done__")},
		3: {picked("__other__")},
		4: {picked("PostgreSQL"), picked("Auth"), picked("__done__"), picked("MIT")},
		5: {picked("__other__"), picked("__other__")},
		6: {rejects}, 7: {dismisses},
	},
	prompts: map[int][]string{3: {"bridge"}, 5: {"orders", "8080"}},
	shown:   map[int]shown{2: {"Several picks, in rounds; this is the second", 2}, 3: {"Own words: the next prompt is the answer", 0}},
}}

// What testdata/golden/messages.txt shows is what goes over the wire, and is enough to pass
// check-client. With -update the examples are written anew.
func TestWireExamples(t *testing.T) {
	var b strings.Builder
	for _, c := range toldEditors {
		fmt.Fprintf(&b, "\n%s\n  initialize: clientCapabilities\n%s", strings.ToUpper(c.name), block(c.capabilities))
		b.WriteString(c.play(t))
	}
	const name = "../../testdata/golden/messages.txt"
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	data := acptest.Must(os.ReadFile(name))
	require.Equal(t, string(data), b.String(), "go test ./cmd/acp-bridge -run TestWireExamples -update writes it anew")
}

// play passes check-client, and returns what went over the wire.
func (c toldEditor) play(t *testing.T) string {
	c.replies, c.prompts = maps.Clone(c.replies), maps.Clone(c.prompts) // they are used up
	ctx, stop := context.WithCancel(t.Context())
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	ended := make(chan error, 1)
	var seconds atomic.Int64
	slow := func() time.Time { return time.Unix(seconds.Add(1), 0) } // a person's
	go func() {
		ended <- scripted.ServeCheck(ctx, fromClient, toClient, scripted.CheckOptions{Version: "1", Now: slow})
	}()
	defer func() { stop(); toAgent.Close(); fromAgent.Close(); <-ended }()

	send := func(format string, args ...any) {
		acptest.Must(fmt.Fprintf(toAgent, `{"jsonrpc":"2.0",`+format+"}\n", args...))
	}
	var said, examples strings.Builder
	requests := map[int]int{}
	session, step, prompts := "", 0, 10
	prompt := func(text string) {
		prompts++
		send(`"id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, prompts, session, text)
	}
	example := func(what, data string) {
		e, ok := c.shown[step]
		if strings.HasPrefix(what, "agent: session/") || strings.HasPrefix(what, "agent: elicitation/") {
			requests[step]++
			ok = ok && requests[step] == e.request
		} else if ok && e.request > 0 {
			ok = requests[step] == e.request
		}
		if !ok {
			return
		}
		if title := "\n" + e.title + ":\n"; !strings.Contains(examples.String(), title) {
			examples.WriteString(title)
		}
		fmt.Fprintf(&examples, "  %s\n%s", what, block(strings.ReplaceAll(data, session, "S")))
	}
	send(`"id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"example","version":"1"},"clientCapabilities":%s}`, c.capabilities)
	lines := bufio.NewReader(fromAgent)
	for {
		line, err := lines.ReadBytes('\n')
		require.NoError(t, err, "%s: %s", c.name, said.String())
		var m struct {
			ID             json.RawMessage
			Method         string
			Params, Result json.RawMessage
		}
		require.NoError(t, json.Unmarshal(line, &m))
		switch {
		case m.Method == "session/update":
			var u struct {
				Update struct{ Content json.RawMessage }
			}
			var text struct{ Text string }
			require.NoError(t, json.Unmarshal(m.Params, &u))
			if json.Unmarshal(u.Update.Content, &text) == nil {
				said.WriteString(text.Text)
			}
			if found := regexp.MustCompile(`Step (\d) of 7`).FindAllStringSubmatch(said.String(), -1); found != nil {
				_, _ = fmt.Sscan(found[len(found)-1][1], &step)
			}
		case m.Method == "session/request_permission" || m.Method == "elicitation/create":
			require.NotEmpty(t, c.replies[step], "%s, step %d: %s", c.name, step, line)
			example("agent: "+m.Method, string(m.Params))
			reply := c.replies[step][0]
			c.replies[step] = c.replies[step][1:]
			example("editor: the result", reply)
			send(`"id":%s,"result":%s`, m.ID, reply)
		case m.Method != "" && m.ID != nil:
			send(`"id":%s,"error":{"code":-32601,"message":"Method not found"}`, m.ID)
		case m.Method != "":
		case string(m.ID) == "1":
			send(`"id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}`)
		case string(m.ID) == "2":
			var r struct{ SessionID string }
			require.NoError(t, json.Unmarshal(m.Result, &r))
			session = r.SessionID
			prompt("go")
		case bytes.Contains(m.Result, []byte("waitingFor")):
			require.NotEmpty(t, c.prompts[step], "%s, step %d: %s", c.name, step, line)
			example("agent: the end of the prompt", string(m.Result))
			text := c.prompts[step][0]
			c.prompts[step] = c.prompts[step][1:]
			example("editor: session/prompt", fmt.Sprintf(`{"sessionId":"%s","prompt":[{"type":"text","text":%q}]}`, session, text))
			prompt(text)
		default:
			require.Equal(t, 7, strings.Count(said.String(), "\n✓ "), "%s: %s", c.name, said.String())
			return examples.String()
		}
	}
}

// block is JSON that fits a terminal, indented.
func block(data string) string {
	const indent = 4
	return strings.Repeat(" ", indent) + folded(json.RawMessage(data), indent, 0) + "\n"
}

// folded writes a value in one line where that fits, and a member a line where not;
// lead is what is before it in its line. Long texts are cut: the page is about where they are.
func folded(data json.RawMessage, indent, lead int) string {
	const width, longest = 78, 48
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		panic(err)
	}
	one, text := b.String(), ""
	switch {
	case json.Unmarshal(data, &text) == nil && len([]rune(text)) > longest:
		return string(append([]rune(one)[:longest], []rune(`…"`)...))
	case indent+lead+len([]rune(one)) <= width || one[0] != '{' && one[0] != '[':
		return one
	}
	pad := strings.Repeat(" ", indent+2)
	d := json.NewDecoder(&b)
	_, _ = d.Token()
	var parts []string
	for d.More() {
		name := ""
		if one[0] == '{' {
			token, _ := d.Token()
			name = fmt.Sprintf("%q:", token)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			panic(err)
		}
		parts = append(parts, pad+name+folded(v, indent+2, len(name)))
	}
	return one[:1] + "\n" + strings.Join(parts, ",\n") + "\n" + strings.Repeat(" ", indent) + one[len(one)-1:]
}
