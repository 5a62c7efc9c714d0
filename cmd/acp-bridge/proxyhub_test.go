package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// permitAgent asks for a permission with each line that it reads, and repeats the
// answer.
const permitAgent = `
read -r init
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1"}}}'
n=10
while read -r line; do
	case $line in
	*result*) printf '{"jsonrpc":"2.0","method":"got","params":%s}\n' "$line" ;;
	*ask*)
		n=$((n+1))
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t%s","title":"Run make","kind":"execute","rawInput":{"command":"make %s && ./run <all>"},"content":[{"type":"diff","path":"/etc/hosts","newText":"evil"}]}}}\n' $n $n
		printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t%s"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}\n' $n $n
		;;
	esac
done`

// Permissions of a proxied agent are at the hub, with what they are for; whoever
// answers first has answered, and without a hub there is the editor.
func TestProxyPermissionAtHub(t *testing.T) {
	h := startTestHub(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var stderr output
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"proxy", "--hub", h.url, "--", "sh", "-c", permitAgent}, inR, outW, &stderr)
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		_, _ = io.Copy(io.Discard, outR)
		<-code
	})
	lines := bufio.NewScanner(outR)
	next := func(methods ...string) gjson.Result {
		t.Helper()
		for lines.Scan() {
			if m := gjson.Parse(lines.Text()); slices.Contains(methods, m.Get("method").Str) {
				return m
			}
		}
		require.Fail(t, "the proxy has ended")
		return gjson.Result{}
	}
	send := func(line string) {
		acptest.Must(io.WriteString(inW, line+"\n"))
	}
	asks := func() gjson.Result {
		send(`{"jsonrpc":"2.0","method":"x/ask"}`)
		return next("session/request_permission")
	}
	allow := func(request gjson.Result) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`, request.Get("id").Raw))
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)

	first := asks()
	r := h.open()
	require.Equal(t, "permission", r.Kind)
	require.Equal(t, "scripted", r.Agent)
	require.Contains(t, r.Detail, "make 11")
	cards := h.get("/cards")
	require.Contains(t, cards, "make 11 &amp;&amp; ./run &lt;all&gt;")
	require.Contains(t, cards, "wants to run a command")
	var shown, problems output
	require.Equal(t, 0, run(t.Context(), []string{"questions", "show", "--hub", h.url}, strings.NewReader(""), &shown, &problems), problems.String())
	require.Contains(t, shown.String(), "\n   $ make 11 && ./run <all>\n   /etc/hosts 1 line\n   + evil\n", "all of it, also in a terminal")
	h.answer(r, convert.Answer{Selected: []string{"Reject"}})
	said := map[string]string{}
	for len(said) < 2 { // in any order
		m := next("$/cancel_request", "got")
		said[m.Get("method").Str] = m.Get("params").Raw
	}
	require.JSONEq(t, `{"requestId":11,"_meta":{"acp-bridge":{"settled":{"outcome":"answered","by":"phone"}}}}`, said["$/cancel_request"])
	require.JSONEq(t, `{"jsonrpc":"2.0","id":11,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}`, said["got"])
	allow(first) // too late

	second := asks()
	h.await(func(o *hub.Record) bool { return o.ID == r.ID && isConsumed(o) })
	r = h.open()
	allow(second)
	require.Equal(t, "12", next("got").Get("params.id").Raw)
	settled := h.await(func(o *hub.Record) bool { return o.ID == r.ID && !o.Open() })
	require.Equal(t, "editor", settled.End.By)

	h.stop()
	allow(asks())
	require.Equal(t, "13", next("got").Get("params.id").Raw)
}

// get is a page of the hub.
func (h *testHub) get(path string) string {
	h.t.Helper()
	req := acptest.Must(http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+path, nil))
	req.Header.Set("Authorization", "Bearer "+hubToken)
	reply := acptest.Must(http.DefaultClient.Do(req))
	defer reply.Body.Close()
	var b strings.Builder
	acptest.Must(io.Copy(&b, reply.Body))
	require.Equal(h.t, http.StatusOK, reply.StatusCode, b.String())
	return b.String()
}
