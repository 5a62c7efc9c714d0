package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestProxyUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"grok"}, {"x", "--", "grok"}, {"--"}, {"--tool", "--no-tool", "--", "grok"}, {"--agent", "nobody", "--", "grok"}, {"--ask", "louder", "--", "grok"}, {"--chain", "--", "grok"}, {"--chain", "grok"},
	} {
		code, _, stderr := execute(t, nil, append([]string{"proxy"}, args...)...)
		require.Equal(t, exitUsage, code, "%v: %s", args, stderr)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// An agent that asks a Grok question and says what it got, as a shell script.
const proxiedAgent = `
read -r init
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
echo '{"jsonrpc":"2.0","id":"q","method":"_x.ai/ask_user_question","params":{"sessionId":"s","toolCallId":"c","questions":[{"question":"Which?","options":["A","B"]}]}}'
read -r answer
printf '{"jsonrpc":"2.0","method":"got","params":%s}\n' "$answer"
read -r more
exit 7`

func TestProxy(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer inR.Close()
	defer outR.Close()
	var stderr output
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"proxy", "--", "sh", "-c", proxiedAgent}, inR, outW, &stderr)
		outW.Close()
	}()
	lines := bufio.NewScanner(outR)
	next := func() gjson.Result {
		require.True(t, lines.Scan())
		return gjson.Parse(lines.Text())
	}
	send := func(line string) {
		acptest.Must(io.WriteString(inW, line+"\n"))
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	require.Equal(t, int64(1), next().Get("result.protocolVersion").Int())
	m := next()
	for m.Get("method").Str != "session/request_permission" {
		m = next()
	}
	send(`{"jsonrpc":"2.0","id":` + m.Get("id").Raw + `,"result":{"outcome":{"outcome":"selected","optionId":"B"}}}`)
	for m.Get("method").Str != "got" {
		m = next()
	}
	require.Equal(t, "B", m.Get(`params.result.answers.Which\?.0`).Str)

	// The agent ends: the editor's request gets an error that says how.
	send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}`)
	for m.Get("id").Raw != "2" {
		m = next()
	}
	require.Contains(t, m.Get("error.message").Str, "exit status 7")
	go io.Copy(io.Discard, outR)
	require.Equal(t, exitFailed, <-code)
	require.Contains(t, stderr.String(), "exit status 7")
}

// The settings of every editor name the agent's own command.
func TestEditorWithAgent(t *testing.T) {
	for _, e := range editors {
		for _, p := range proxy.Profiles() {
			code, out, stderr := execute(t, nil, "doctor", "--editor", e.name, "--agent", p.Name, "--json")
			require.Equal(t, exitOK, code, stderr)
			settings := gjson.Get(out, "settings").Str
			require.NotContains(t, settings, "Claude Code (acp-bridge)")
			at := -1
			for _, word := range append([]string{"proxy", "--"}, p.Start...) {
				i := strings.Index(settings[at+1:], word)
				require.GreaterOrEqual(t, i, 0, "%s in %s", word, settings)
				at += 1 + i
			}
			if strings.HasSuffix(gjson.Get(out, "where").Str, ".json") {
				require.True(t, json.Valid([]byte(settings)) || json.Valid([]byte("{"+settings+"}")), settings)
			}
		}
	}
	code, _, _ := execute(t, nil, "doctor", "--agent", "grok")
	require.Equal(t, exitUsage, code)
	code, _, _ = execute(t, nil, "doctor", "--editor", "zed", "--agent", "nobody")
	require.Equal(t, exitUsage, code)
}

func TestDoctorAgents(t *testing.T) {
	code, out, _ := execute(t, nil, "doctor", "--agents")
	require.Equal(t, exitOK, code)
	for _, p := range proxy.Profiles() {
		require.Contains(t, out, p.Title)
	}
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len([]rune(line)), cli.Width+1, line)
	}
	code, out, _ = execute(t, nil, "doctor", "--agents", "--json")
	require.Equal(t, exitOK, code)
	require.Equal(t, int64(len(proxy.Profiles())), gjson.Get(out, "agents.#").Int())
}

// Under a conductor there is one wire, and no agent to start.
func TestProxyChain(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"proxy/initialize","params":{"protocolVersion":1}}` + "\n")
	var out, stderr output
	require.Equal(t, exitOK, run(context.Background(), []string{"proxy", "--chain"}, in, &out, &stderr), stderr.String())
	first, _, _ := strings.Cut(out.String(), "\n")
	require.Equal(t, "proxy/successor", gjson.Get(first, "method").Str)
	require.Equal(t, "initialize", gjson.Get(first, "params.method").Str)
}
