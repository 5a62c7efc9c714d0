package hands_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
)

// A hub stands still while somebody changes their mind. It gets what was shown last, once;
// nothing that was taken back, and nothing that was tapped when it was on its way.
func TestAHubThatStandsStill(t *testing.T) {
	t.Parallel()
	b := newChromium(t)
	root, err := repository.Root()
	require.NoError(t, err)
	dir := t.TempDir()
	program := filepath.Join(dir, "acp-bridge-hub")
	out, err := exec.Command("go", "-C", root, "build", "-o", program, "./cmd/acp-bridge-hub").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, drained := bufio.NewReader(said), make(chan struct{})
	var link string
	for link == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, line)
		link = linkIn.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines); close(drained) }()
	signal := func(s os.Signal) { require.NoError(t, cmd.Process.Signal(s)) }
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-drained; _ = cmd.Wait() })
	token, err := os.ReadFile(filepath.Join(dir, "data", "token"))
	require.NoError(t, err)
	hub, _, _ := strings.Cut(link, "/login")
	asks := func(method, path, body string) (data []byte) {
		req, err := http.NewRequestWithContext(t.Context(), method, hub+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}, "Content-Type": {"application/json"}}
		reply, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer reply.Body.Close()
		data, err = io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.Less(t, reply.StatusCode, 300, "%s", data)
		return data
	}
	asks(http.MethodPost, "/conversations/c1/ask", `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"},{"label":"DuckDB","description":"another"}]}]}}`)
	p := b.newTab(390, false)
	p.logsIn(link)
	run := p.holdsBack(hub)
	p.keepsReceipts()
	p.hears()
	p.eval(`window.sent = []; window.fetch = ((ask) => (...what) => { if (what[0] === "/answer") sent.push(what[1].body.get("a0")); return ask(...what); })(fetch); 0`)

	signal(syscall.SIGSTOP)
	goesOn := func() { _ = cmd.Process.Signal(syscall.SIGCONT) }
	defer goesOn()
	p.click(".option label")
	p.until(`document.querySelector(".sending:not([hidden]) span").textContent === "Sending “PostgreSQL”…"`)
	p.click(".option + .option label")
	p.until(`document.querySelector(".sending:not([hidden]) span").textContent === "Sending “SQLite”…"`)
	run()
	p.until(`told.includes("This is still being sent.") && !document.querySelector(".moved")`)
	x, y := p.middle(".option + .option + .option label")
	p.insists(`document.querySelector("#news").textContent === "This is still being sent."`, func() { p.presses(x, y, 1) })
	run()
	goesOn()
	p.until(`document.querySelector(".over .receipt > span")?.innerText.startsWith("SQLite · ")`)
	require.JSONEq(t, `["1"]`, p.eval(`sent`))
	var past struct {
		Result json.RawMessage
	}
	require.NoError(t, json.Unmarshal(asks(http.MethodGet, "/conversations/c1/questions/toolu_1?wait=1s", ""), &past))
	require.Contains(t, string(past.Result), `"answers":{"Which database?":"SQLite"}`)
}
