package apitest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(t *testing.T, api *apitest.Server, body string) (int, string) {
	t.Helper()
	resp, err := client.Post(api.URL+"/v1/messages?beta=true", "application/json", bytes.NewBufferString(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

const call = `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[
 {"role":"user","content":"earlier"},
 {"role":"user","content":[{"type":"text","text":"<system-reminder>x"},{"type":"text","text":"hi"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"out"}],"is_error":true}]},
 {"role":"system","content":"late"}]}`

func TestStream(t *testing.T) {
	api := apitest.New(t)
	api.Script(apitest.Use(apitest.Thinking("hm"), apitest.ToolUse("t1", "Bash", map[string]any{"command": "ls"})))
	status, body := post(t, api, call)
	require.Equal(t, 200, status)
	var events []string
	for line := range strings.Lines(body) {
		if e, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok {
			events = append(events, e)
		}
	}
	require.Equal(t, []string{
		"message_start",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop",
	}, events)
	require.Contains(t, body, `"stop_reason":"tool_use"`)
	_, body = post(t, api, call)
	require.Contains(t, body, "the script has no more replies")
}

func TestRequestIsRead(t *testing.T) {
	api := apitest.New(t)
	post(t, api, call)
	post(t, api, `{"model":"m","messages":[{"role":"user","content":"a title, please"}]}`)
	require.Len(t, api.Requests(), 2)
	main, err := api.Await(context.Background(), 1)
	require.NoError(t, err)
	require.Len(t, main, 1, "a call without tools is none of the conversation")
	require.Equal(t, []string{"hi"}, main[0].Texts())
	require.Equal(t, []apitest.ToolResult{{ID: "t1", Text: "out", IsError: true}}, main[0].ToolResults())
	require.Equal(t, []string{"Bash"}, main[0].Tools())
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = api.Await(ctx, 2)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestErrorsAndRules(t *testing.T) {
	api := apitest.New(t)
	api.When(func(r apitest.Request) bool { return r.Contains("sub") }, apitest.Say("one"), apitest.Say("two"))
	api.Script(apitest.Reply{Status: 529, ErrorType: "overloaded_error", ErrorMessage: "Overloaded", Times: 2}, apitest.Say("fine"))
	sub := strings.Replace(call, "hi", "sub", 1)
	for _, want := range []string{"one", "two", "two"} {
		_, body := post(t, api, sub)
		require.Contains(t, body, `"text":"`+want+`"`)
	}
	for _, want := range []int{529, 529, 200} {
		status, _ := post(t, api, call)
		require.Equal(t, want, status)
	}
	resp, err := client.Get(api.URL + "/elsewhere")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, 404, resp.StatusCode)
}

func TestHangIsReleased(t *testing.T) {
	api := apitest.New(t)
	release := make(chan struct{})
	api.Script(apitest.Hang(release))
	done := make(chan string)
	go func() {
		_, body := post(t, api, call)
		done <- body
	}()
	_, err := api.Await(context.Background(), 1)
	require.NoError(t, err)
	close(release)
	require.Contains(t, <-done, "message_stop")
}

func TestEnvHoldsNothingOfOurs(t *testing.T) {
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "secret")
	env := strings.Join(apitest.Env(apitest.New(t), "/home"), "\n")
	require.NotContains(t, env, "secret")
	require.Contains(t, env, "ANTHROPIC_API_KEY=test")
}
