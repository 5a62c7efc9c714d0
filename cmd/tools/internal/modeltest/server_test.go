package modeltest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := client.Post(url, "application/json", bytes.NewBufferString(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

// protocols are calls in which the user said hi and the tool call c1 gave out.
// STREAM stands for true or false.
var protocols = map[string]struct{ path, streamPath, body string }{
	"messages": {path: "/v1/messages", body: `{"stream":STREAM,"tools":[{"name":"srv__ask"}],"messages":[
		{"role":"user","content":"hi"},{"role":"assistant","content":"x"},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"out"}]}]}]}`},
	"chat": {path: "/v1/chat/completions", body: `{"stream":STREAM,"tools":[{"type":"function","function":{"name":"srv__ask"}}],"messages":[
		{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"tool","tool_call_id":"c1","content":"out"}]}`},
	"responses": {path: "/v1/responses", body: `{"stream":STREAM,"tools":[{"type":"function","name":"srv__ask"},{"type":"web_search"}],"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call_output","call_id":"c1","output":"out"}]}`},
	"gemini": {path: "/v1beta/models/m:generateContent", streamPath: "/v1beta/models/m:streamGenerateContent?alt=sse",
		body: `{"tools":[{"functionDeclarations":[{"name":"srv__ask"}]}],"contents":[
		{"role":"user","parts":[{"text":"hi"}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"x","response":"out"}}]}]}`},
}

func TestProtocols(t *testing.T) {
	for name, p := range protocols {
		for _, streams := range []string{"true", "false"} {
			t.Run(name+" stream "+streams, func(t *testing.T) {
				model := modeltest.New(t)
				reply := modeltest.Use("c2", "ask", map[string]any{"question": "Which?"})
				reply.Text = "Hello you"
				model.Script(reply)
				path := p.path
				if streams == "true" && p.streamPath != "" {
					path = p.streamPath
				}
				status, body := post(t, model.URL+path, strings.ReplaceAll(p.body, "STREAM", streams))
				require.Equal(t, 200, status, body)
				require.Contains(t, body, "c2")
				require.Contains(t, body, "srv__ask", "the tool's full name")
				require.Contains(t, body, "Hello")
				require.Contains(t, body, "estion")

				requests := model.Requests()
				require.Len(t, requests, 1)
				require.Equal(t, name, requests[0].Protocol)
				require.Equal(t, []string{"srv__ask"}, requests[0].Tools)
				require.Contains(t, requests[0].Users, "hi")
				result, ok := requests[0].Result("c1")
				require.True(t, ok)
				require.Equal(t, "out", strings.Trim(result, `"`))
			})
		}
	}
}

// Calls without tools are about titles and the like: they use up no script.
func TestCallsBesideTheConversation(t *testing.T) {
	model := modeltest.New(t)
	model.Script(modeltest.Say("first"))
	status, body := post(t, model.URL+"/v1/chat/completions", `{"messages":[{"role":"user","content":"a title, please"}]}`)
	require.Equal(t, 200, status)
	require.NotContains(t, body, "first")
	_, body = post(t, model.URL+"/v1/responses", `{"tools":[{"name":"title"}],"tool_choice":{"type":"function","name":"title"},"input":"a title, please"}`)
	require.NotContains(t, body, "first")
	require.Empty(t, model.Requests())
	_, body = post(t, model.URL+protocols["chat"].path, strings.ReplaceAll(protocols["chat"].body, "STREAM", "false"))
	require.Contains(t, body, "first")
	_, body = post(t, model.URL+protocols["chat"].path, strings.ReplaceAll(protocols["chat"].body, "STREAM", "false"))
	require.Contains(t, body, "no more replies")

	status, _ = post(t, model.URL+"/telemetry", `{}`)
	require.Equal(t, 404, status)
	require.Equal(t, []string{"POST /telemetry"}, model.Other())
}

func TestAwait(t *testing.T) {
	model := modeltest.New(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := model.Await(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	post(t, model.URL+protocols["chat"].path, strings.ReplaceAll(protocols["chat"].body, "STREAM", "true"))
	requests, err := model.Await(context.Background(), 1)
	require.NoError(t, err)
	require.Len(t, requests, 1)
}

func TestHold(t *testing.T) {
	model := modeltest.New(t)
	release := make(chan struct{})
	model.Script(modeltest.Reply{Text: "held", Hold: release})
	done := make(chan string, 1)
	go func() {
		_, body := post(t, model.URL+protocols["chat"].path, strings.ReplaceAll(protocols["chat"].body, "STREAM", "true"))
		done <- body
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := model.Await(ctx, 1)
	require.NoError(t, err)
	require.Empty(t, done)
	close(release)
	require.Contains(t, <-done, "he")
}
