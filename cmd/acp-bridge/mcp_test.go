package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

// mcpClient speaks MCP with the command.
type mcpClient struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	code chan int
	stop func() // as a signal does
	id   int
}

func startMCP(t *testing.T, args ...string) *mcpClient { return startMCPWith(t, `{}`, args...) }

// startMCPWith is startMCP of a client with those capabilities.
func startMCPWith(t *testing.T, capabilities string, args ...string) *mcpClient {
	return startMCPOf(t, `{"name":"t","version":"1"}`, capabilities, args...)
}

func startMCPOf(t *testing.T, info, capabilities string, args ...string) *mcpClient {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &mcpClient{t: t, in: inW, out: bufio.NewReader(outR), code: make(chan int, 1), stop: stop}
	go func() {
		c.code <- run(ctx, append([]string{"mcp"}, args...), inR, outW, io.Discard)
		outW.Close()
	}()
	t.Cleanup(func() {
		stop()
		inW.Close()
		outR.Close()
		inR.Close()
	})
	c.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"clientInfo":`+info+`}`)
	acptest.Must(io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))
	return c
}

func (c *mcpClient) send(method, params string) {
	c.t.Helper()
	c.id++
	acptest.Must(fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params))
}

func (c *mcpClient) call(method, params string) gjson.Result {
	c.t.Helper()
	c.send(method, params)
	return c.reply()
}

// reply is that to the last call.
func (c *mcpClient) reply() gjson.Result {
	c.t.Helper()
	return c.next(func(m gjson.Result) bool { return m.Get("id").Int() == int64(c.id) && !m.Get("method").Exists() })
}

// next is the next message that is meant.
func (c *mcpClient) next(meant func(gjson.Result) bool) gjson.Result {
	c.t.Helper()
	for {
		if m := gjson.Parse(acptest.Must(c.out.ReadString('\n'))); meant(m) {
			return m
		}
	}
}

// waitingIn is the question that waits in the store, once one does.
func waitingIn(t *testing.T, store pending.Store) *pending.File {
	t.Helper()
	var list []*pending.File
	require.Eventually(t, func() bool {
		list = acptest.Must(store.List())
		return len(list) == 1 && !list[0].Settled()
	}, patience, time.Millisecond)
	return list[0]
}

const askDatabase = `{"name":"ask_the_user","arguments":{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"a"},{"label":"SQLite","description":"b"}]}]}}`

// Without a way to show them, questions wait in files; the model is told where,
// and gets the answer when it comes back with its ticket.
func TestMCPInFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startMCP(t, "--cwd", dir, "--limit", "10ms")
	text := c.call("tools/call", askDatabase).Get("result.content.0.text").Str
	require.Contains(t, text, "not answered yet")
	store := pending.Store{Dir: dir}
	f := waitingIn(t, store)
	require.Contains(t, text, "acp-bridge questions answer "+f.ID)
	require.Equal(t, "t", f.Agent)
	require.NoError(t, store.Answer(f, []convert.Answer{{Selected: []string{"SQLite"}}}, "me"))
	require.Eventually(t, func() bool { return strings.Contains(c.again(text), "SQLite") }, patience, time.Millisecond)
	noFiles(t, store)
	require.NoError(t, c.in.Close())
	require.Equal(t, exitOK, <-c.code)
}

// Who asks is the client, by the name that it has for people.
func TestMCPClientHasAName(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		`{"name":"claude-code","title":"Claude Code","version":"1"}`:   "Claude Code",
		`{"name":"assistant","version":"1"}`:                           "assistant",
		`{"name":"","version":"1"}`:                                    "acp-bridge mcp",
		`{"name":"a\u001b[2Jb\n\u202ec","version":"1"}`:                "ab c",
		`{"name":"` + strings.Repeat("long", 100) + `","version":"1"}`: strings.Repeat("long", 15)[:59] + "…",
		`{"name":"x","title":"\u200b\u0007","version":"1"}`:            "x",
	} {
		dir := t.TempDir()
		c := startMCPOf(t, info, `{}`, "--cwd", dir, "--limit", "10ms")
		c.call("tools/call", askDatabase)
		require.Equal(t, want, waitingIn(t, pending.Store{Dir: dir}).Agent, info)
		require.NoError(t, c.in.Close())
		require.Equal(t, exitOK, <-c.code)
	}
}

// again calls with the ticket of an earlier result.
func (c *mcpClient) again(text string) string {
	c.t.Helper()
	_, rest, ok := strings.Cut(text, `"ticket": "`)
	require.True(c.t, ok, text)
	ticket, _, _ := strings.Cut(rest, `"`)
	return c.call("tools/call", `{"name":"ask_the_user","arguments":{"ticket":"`+ticket+`"}}`).Get("result.content.0.text").Str
}

// Rule 5: an answer that was given to one agent is never another's in the same
// folder, whatever its words: while the first is there, and when it is gone.
func TestRule5AnotherAgentInTheFolder(t *testing.T) {
	dir := t.TempDir()
	store := pending.Store{Dir: dir}
	a := startMCP(t, "--cwd", dir, "--limit", "10ms")
	told := a.call("tools/call", askDatabase).Get("result.content.0.text").Str
	require.NoError(t, store.Answer(waitingIn(t, store), []convert.Answer{{Text: "DuckDB"}}, "me"))
	asks := func() {
		b := startMCP(t, "--cwd", dir, "--limit", "10ms")
		text := b.call("tools/call", askDatabase).Get("result.content.0.text").Str
		require.Contains(t, text, "not answered yet")
		require.NotContains(t, b.again(text), "DuckDB")
		require.NoError(t, b.in.Close())
		require.Equal(t, exitOK, <-b.code)
	}
	asks()
	require.Eventually(t, func() bool { return strings.Contains(a.again(told), "DuckDB") }, patience, time.Millisecond)

	a.call("tools/call", askDatabase)
	require.NoError(t, store.Answer(waitingIn(t, store), []convert.Answer{{Text: "DuckDB"}}, "me"))
	require.NoError(t, a.in.Close())
	require.Equal(t, exitOK, <-a.code)
	asks()
	files := acptest.Must(store.List())
	require.Len(t, files, 1, "what somebody has answered is not thrown away")
	require.True(t, store.Lost(files[0]))
	stdout, _ := questions(t, dir, exitOK, "list")
	require.Contains(t, stdout, "1 of 1 answered, and its asker is gone")
}

// questions runs the command in a folder.
func questions(t *testing.T, dir string, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	t.Chdir(dir)
	code, stdout, stderr := execute(t, nil, append([]string{"questions"}, args...)...)
	require.Equal(t, want, code, stderr)
	return stdout, stderr
}

// What is open when the client goes goes with it: nobody could fetch the answer.
func TestMCPClientGone(t *testing.T) {
	dir := t.TempDir()
	c := startMCP(t, "--cwd", dir, "--limit", "10ms")
	c.call("tools/call", askDatabase)
	f := waitingIn(t, pending.Store{Dir: dir})
	require.NoError(t, c.in.Close())
	require.Equal(t, exitOK, <-c.code)
	require.NoFileExists(t, f.Path)
}

// A person does not answer what nobody is left to get.
func TestAnswerForNobody(t *testing.T) {
	dir := t.TempDir()
	store := &pending.Store{Dir: dir}
	a := store.Asker("an agent")
	f := acptest.Must(a.Post(convert.Call{Questions: []convert.Question{{Text: "Go on?"}}}))
	a.Close()
	_, stderr := questions(t, dir, exitFailed, "answer", "--answers", `{"Go on?":"yes"}`)
	require.Contains(t, stderr, "its asker is gone: nobody would receive the answer; acp-bridge questions clear "+f.ID+" removes it")
	stdout, _ := questions(t, dir, exitOK, "--json")
	require.Contains(t, stdout, "its asker is gone")
}

// A call that the client takes back leaves no file.
func TestMCPCancelled(t *testing.T) {
	dir := t.TempDir()
	c := startMCP(t, "--cwd", dir, "--limit", patience.String())
	c.send("tools/call", askDatabase)
	waiting := func() []string {
		return acptest.Must(filepath.Glob(filepath.Join(dir, pending.Folder, "*.json")))
	}
	require.Eventually(t, func() bool { return len(waiting()) == 1 }, patience, time.Millisecond)
	acptest.Must(fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", c.id))
	require.Eventually(t, func() bool { return len(waiting()) == 0 }, patience, time.Millisecond)
}

// A question that was dismissed is asked again when it is asked again.
func TestMCPDismissedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := pending.Store{Dir: dir}
	c := startMCP(t, "--cwd", dir, "--limit", patience.String())
	for _, end := range []func(*pending.File) error{
		func(f *pending.File) error { return store.Dismiss(f, "me") },
		func(f *pending.File) error { return store.Remove(f) },
	} {
		c.send("tools/call", askDatabase)
		require.NoError(t, end(waitingIn(t, store)))
		require.Contains(t, c.reply().Get("result.content.0.text").Str, "dismissed")
	}
}

// A signal ends it while it asks, in a form or elsewhere.
func TestMCPEndsWhileItAsks(t *testing.T) {
	for capabilities, form := range map[string]bool{`{}`: false, `{"elicitation":{}}`: true} {
		dir := t.TempDir()
		c := startMCPWith(t, capabilities, "--cwd", dir)
		c.send("tools/call", askDatabase)
		if form {
			c.next(func(m gjson.Result) bool { return m.Get("method").Str == "elicitation/create" })
		} else {
			waitingIn(t, pending.Store{Dir: dir})
		}
		go io.Copy(io.Discard, c.out)
		c.stop()
		require.Equal(t, exitOK, <-c.code)
		noFiles(t, pending.Store{Dir: dir})
	}
}

func TestMCPUsage(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"--http", "0.0.0.0:1"}, {"--http", "example.com:1"}, {"--http", "7333"}, {"--limit", "0s"}, {"--cwd", "/does/not/exist"}} {
		code, _, stderr := execute(t, nil, append([]string{"mcp"}, args...)...)
		require.Equal(t, exitUsage, code, "%v: %s", args, stderr)
	}
}

func TestMCPOverHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	errR, errW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"mcp", "--http", "127.0.0.1:0", "--cwd", t.TempDir()}, strings.NewReader(""), io.Discard, errW)
	}()
	line := acptest.Must(bufio.NewReader(errR).ReadString('\n'))
	go io.Copy(io.Discard, errR)
	url := strings.TrimSpace(line[strings.Index(line, "http://"):])
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp := acptest.Must(client.Do(req))
	body := acptest.Must(io.ReadAll(resp.Body))
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(body), "ask_the_user")
	cancel()
	require.Equal(t, exitOK, <-code)
	errW.Close()
}
