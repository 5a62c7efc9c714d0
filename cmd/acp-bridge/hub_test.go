//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/watch"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

const hubToken = "the-owner's-token-of-the-tests"

// testHub is a hub in this process.
type testHub struct {
	t *testing.T
	openedHub
}

func startTestHub(t *testing.T) *testHub {
	t.Helper()
	h := acptest.Must(openHub(t.TempDir(), hubToken))
	t.Cleanup(h.close)
	t.Setenv("ACP_BRIDGE_HUB_TOKEN", hubToken)
	return &testHub{t, h}
}

// await waits for a record.
func (h *testHub) await(ok func(*hub.Record) bool) *hub.Record {
	h.t.Helper()
	return acptest.Must(h.find(ok))
}

func (h *testHub) open() *hub.Record {
	h.t.Helper()
	return h.await(func(r *hub.Record) bool { return r.Open() })
}

func (h *testHub) answer(r *hub.Record, answers ...convert.Answer) {
	h.t.Helper()
	acptest.Must(h.board.Answer(context.Background(), r.Ref(),
		func(*hub.Record) ([]convert.Answer, error) { return answers, nil }, "phone"))
}

// bridgeProcess is acp-bridge in a process of its own, without a terminal.
type bridgeProcess struct {
	*exec.Cmd
	out, err output
}

// output is what a process, or a command in this one, has written so far: a goroutine
// of it may still write.
type output struct {
	mu   sync.Mutex
	text string
	more chan struct{} // closed and made anew with each write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text += string(p)
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text
}

// until waits until something was written.
func (o *output) until(t *testing.T, text string) {
	t.Helper()
	for end := time.After(patience); ; {
		o.mu.Lock()
		found := strings.Contains(o.text, text)
		if o.more == nil {
			o.more = make(chan struct{})
		}
		more := o.more
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-end:
			t.Fatalf("%q was not written: %s", text, o.String())
		}
	}
}

func (h *testHub) run(stdin string, args ...string) *bridgeProcess {
	h.t.Helper()
	return h.runOn(strings.NewReader(stdin), args...)
}

func (h *testHub) runOn(stdin io.Reader, args ...string) *bridgeProcess {
	h.t.Helper()
	b := &bridgeProcess{Cmd: exec.Command(os.Args[0], args...)}
	b.Env = append(os.Environ(), asBridge+"=1")
	b.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	b.Stdin, b.Stdout, b.Stderr = stdin, &b.out, &b.err
	require.NoError(h.t, b.Start())
	h.t.Cleanup(func() { _ = b.Process.Kill(); _ = b.Wait() })
	return b
}

func (b *bridgeProcess) ends(t *testing.T, code int) string {
	t.Helper()
	_ = b.Wait()
	require.Equal(t, code, b.ProcessState.ExitCode(), "%s\n%s", b.out.String(), b.err.String())
	return b.out.String()
}

const hubCall = `{"name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}]}]}}`

func isConsumed(r *hub.Record) bool { return !r.Open() && r.End.Receipt() == "consumed" }

func TestRPCAtHub(t *testing.T) {
	h := startTestHub(t)
	t.Chdir(t.TempDir())
	b := h.run(`{"type":"ask_user_request","requestId":"r1","questions":[{"question":"Go on?","options":["Yes","No"]}]}`+"\n", "rpc", "--wait", "--hub", h.url)
	h.answer(h.open(), convert.Answer{Selected: []string{"No"}})
	require.Contains(t, b.ends(t, 0), `"requestId":"r1","answered":true`)
	h.await(isConsumed)
	// Without --wait the end of the input takes the question back.
	inR, in := acptest.Must2(os.Pipe())
	b = h.runOn(inR, "rpc", "--hub", h.url)
	inR.Close()
	fmt.Fprintln(in, `{"type":"ask_user_request","requestId":"r2","questions":[{"question":"And now?","options":["Yes","No"]}]}`)
	h.open()
	in.Close()
	require.Contains(t, b.ends(t, 0), `withdrawn`)
	h.await(func(r *hub.Record) bool { return !r.Open() && r.End.Outcome == "withdrawn" })
}

func TestChatAtHub(t *testing.T) {
	h := startTestHub(t)
	t.Chdir(t.TempDir())
	t.Setenv("ACP_BRIDGE_HUB", h.url) // the agent has it, too, and must not ask twice
	answers := []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth"}}, {Text: "shop"}}
	b := h.run("", "chat", "-p", "hello", "--", os.Args[0], "demo", "--stdio")
	h.answer(h.open(), answers...)
	require.Contains(t, b.ends(t, 0), "- Service name: shop")
	inR, in := acptest.Must2(os.Pipe())
	b = h.runOn(inR, "chat", "--plain", "--", os.Args[0], "demo", "--stdio")
	inR.Close()
	fmt.Fprintln(in, "hello")
	r := h.open()
	require.Contains(t, r.Agent, "acp-bridge demo")
	_, total := h.board.Waiting(10)
	require.Equal(t, 1, total)
	h.answer(r, answers...)
	b.out.until(t, "- Service name: shop")
	in.Close()
	require.Contains(t, b.ends(t, 0), "Answered elsewhere: SQLite; Auth; shop")
	h.await(func(o *hub.Record) bool { return o.Key() == r.Key() && isConsumed(o) })
}

func TestProxyAtHub(t *testing.T) {
	h := startTestHub(t)
	dir := t.TempDir()
	b := exec.Command(os.Args[0], "proxy", "--ask", "hub", "--hub", h.url, "--", os.Args[0], "demo", "--stdio")
	b.Env, b.Stderr = append(os.Environ(), asBridge+"=1"), os.Stderr
	in := acptest.Must(b.StdinPipe())
	out := acptest.Must(b.StdoutPipe())
	require.NoError(t, b.Start())
	t.Cleanup(func() { in.Close(); _ = b.Process.Kill(); _ = b.Wait() })
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	lines := json.NewDecoder(out)
	next := func(id int) map[string]any {
		for {
			var m map[string]any
			require.NoError(t, lines.Decode(&m))
			if m["id"] == float64(id) && m["result"] != nil {
				return m["result"].(map[string]any)
			}
			require.NotEqual(t, "session/request_permission", m["method"], "the editor is not asked")
		}
	}
	next(1) // an editor waits for it
	turn := watchtest.Turns(t, h.url, hubToken)
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", dir)
	session := next(2)["sessionId"].(string)
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`+"\n", session)
	for _, a := range []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth"}}, {Text: "shop"}} {
		r := h.open()
		if len(r.Call.Questions) > 1 {
			h.answer(r, convert.Answer{Selected: []string{"SQLite"}}, convert.Answer{Selected: []string{"Auth"}}, convert.Answer{Text: "shop"})
			break
		}
		h.answer(r, a)
	}
	require.Equal(t, "end_turn", next(3)["stopReason"])
	told := turn()
	require.Equal(t, "done", told.Get("event").Str)
	require.Contains(t, told.Get("conversation").Str, session)
	require.Equal(t, dir, told.Get("cwd").Str)
	require.Contains(t, told.Get("text").Str, "shop")
}

func TestMCPAtHub(t *testing.T) {
	h := startTestHub(t)
	t.Chdir(t.TempDir())
	c := startMCP(t, "--hub", h.url)
	c.send("tools/call", askDatabase)
	h.answer(h.open(), convert.Answer{Selected: []string{"SQLite"}})
	require.Contains(t, c.reply().Get("result").Raw, "SQLite")
	c.in.Close()
	require.Equal(t, exitOK, <-c.code)
}

// What the client's form said is what the hub shows.
func TestMCPFormBesideHub(t *testing.T) {
	for reply, want := range map[string]string{
		`{"action":"accept","content":{"question_0":"SQLite"}}`: "answered",
		`{"action":"decline"}`: "declined",
		`{"action":"cancel"}`:  "cancelled",
	} {
		t.Run(want, func(t *testing.T) {
			h := startTestHub(t)
			t.Chdir(t.TempDir())
			c := startMCPWith(t, `{"elicitation":{}}`, "--hub", h.url)
			c.send("tools/call", askDatabase)
			form := c.next(func(m gjson.Result) bool { return m.Get("method").Str == "elicitation/create" })
			h.open()
			time.Sleep(2 * seen.Strict) // a person reads it
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", form.Get("id").Raw, reply)
			require.True(t, c.reply().Get("result").Exists())
			r := h.await(func(r *hub.Record) bool { return !r.Open() })
			require.Equal(t, want, r.End.Outcome)
			require.Equal(t, "a form of the client", r.End.By)
			c.in.Close()
			require.Equal(t, exitOK, <-c.code)
		})
	}
}

// A script that asks in an editor asks at the hub, too.
func TestRPCInAnEditorAtHub(t *testing.T) {
	h := startTestHub(t)
	dir := t.TempDir()
	const script = `echo '{"type":"ask_user_request","requestId":"1","questions":[{"question":"Which database?","header":"Database","options":["PostgreSQL","SQLite"]}]}'
read line
case $line in *'"selectedOption":"SQLite"'*) echo "SQLite it is." ;; *) echo "Not understood: $line" ;; esac`
	inR, in := acptest.Must2(os.Pipe())
	b := h.runOn(inR, "rpc", "--acp", "--hub", h.url, "--ask", "hub", "--", "sh", "-c", script, "sh")
	inR.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	b.out.until(t, `"id":1`)
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", dir)
	b.out.until(t, `"sessionId":"`)
	_, rest, _ := strings.Cut(b.out.String(), `"sessionId":"`)
	session, _, _ := strings.Cut(rest, `"`)
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`+"\n", session)
	h.answer(h.open(), convert.Answer{Selected: []string{"SQLite"}})
	b.out.until(t, "SQLite it is.")
	b.out.until(t, `"stopReason":"end_turn"`)
	in.Close()
	b.ends(t, 0)
	h.run("", "rpc", "--acp", "--ask", "hub", "--", "true").ends(t, exitUsage)
}

// ask asks a question over HTTP, as a script does.
func (h *testHub) ask(conversation, id, text string) {
	h.t.Helper()
	body := strings.Replace(hubCall, "Which database?", text, 1)
	req := acptest.Must(http.NewRequest(http.MethodPost, h.url+"/conversations/"+conversation+"/ask", strings.NewReader(`{"id":"`+id+`",`+body[1:])))
	req.Header.Set("Authorization", "Bearer "+hubToken)
	req.Header.Set("Content-Type", "application/json")
	reply := acptest.Must(http.DefaultClient.Do(req))
	defer reply.Body.Close()
	require.Equal(h.t, http.StatusAccepted, reply.StatusCode)
}

// A bridge that is terminated leaves the question of a session in its file, for
// the next one, which gets the same request. One without a session nobody can
// go on with: it is taken back.
func TestRule5RPCTerminated(t *testing.T) {
	h := &testHub{t: t}
	t.Chdir(t.TempDir())
	const request = `{"jsonrpc":"2.0","id":"2f0d6c1e-77aa-4b1b-9f0e-0c5a1d2e3f40","method":"client/ask_user","params":{"session_id":"7f1c2f0e-5a38-4c55-9d1e-2f6a7b1c9d01","question":"Go on?","choices":["Yes","No"]}}`
	terminated := func(request string) {
		inR, in := acptest.Must2(os.Pipe())
		defer in.Close()
		b := h.runOn(inR, "rpc")
		inR.Close()
		fmt.Fprintln(in, request)
		b.err.until(t, "waits in")
		require.NoError(t, b.Process.Signal(syscall.SIGTERM))
		_ = b.Wait()
	}
	terminated(`{"type":"ask_user_request","requestId":"r1","questions":[{"question":"Go on?","options":["Yes","No"]}]}`)
	require.NoFileExists(t, ".acp-bridge/pending-questions.json")
	terminated(request)
	require.FileExists(t, ".acp-bridge/pending-questions.json")
	// The next one waits for its answers after its input has ended.
	b := h.run(request+"\n", "rpc", "--wait")
	b.err.until(t, "waits in")
	var out output
	require.Equal(t, 0, run(t.Context(), []string{"questions", "answer", "--answers", `{"Go on?":"No"}`}, strings.NewReader(""), &out, &out), out.String())
	require.Contains(t, b.ends(t, 0), `"result":{"answer":"No"}`)
	require.NoFileExists(t, ".acp-bridge/pending-questions.json")
}

// An agent that cannot resume a session gets the words in a new one. What it asks there is
// asked: no prompt will take its place.
func TestWordsForAnAgentThatCannotResume(t *testing.T) {
	dir := t.TempDir()
	for _, prompt := range [][]string{{"Set it up"}, {"@.acp-bridge/pending-questions.json", "use SQLite"}} {
		b := exec.CommandContext(t.Context(), os.Args[0], append(append([]string{"chat", "-p"}, prompt...), "--headless", "--", os.Args[0], "demo", "--stdio")...)
		b.Dir, b.Env = dir, append(os.Environ(), asBridge+"=1", "XDG_STATE_HOME="+dir)
		out, _ := b.CombinedOutput()
		require.Equal(t, exitPending, b.ProcessState.ExitCode(), "%s", out)
		require.Contains(t, string(out), "3 questions are waiting in")
	}
}

// The doctor looks at the hub that is configured.
func TestDoctorAtHub(t *testing.T) {
	h := startTestHub(t)
	require.Equal(t, watch.Fine("hub", h.url+" takes the token"), examineHub(t.Context(), h.url))
	t.Setenv("ACP_BRIDGE_HUB_TOKEN", "another")
	f := examineHub(t.Context(), h.url)
	require.False(t, f.OK)
	require.Contains(t, f.Found, "refuses the token")
	h.stop()
	f = examineHub(t.Context(), h.url)
	require.False(t, f.OK)
	require.Contains(t, f.Found, "the hub cannot be reached")
	require.False(t, examineHub(t.Context(), "nonsense").OK)
}

// What Claude Code asks in a terminal comes with the branch, the title of the session, and
// what was said before; secrets in it stay where they are.
func TestHookTellsWhatWasSaid(t *testing.T) {
	h, dir := startTestHub(t), t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	work := filepath.Join(dir, "work")
	const session = "0b5c7a3e-5a0f-4000-8000-00000000abcd"
	for name, text := range map[string]string{
		filepath.Join(dir, "acp-bridge/hook.json"): `{"hub":"` + h.url + `","token":"` + hubToken + `"}`,
		filepath.Join(work, ".git/HEAD"):           "ref: refs/heads/feature/login\n",
		filepath.Join(transcript.Dir(dir, work), session+".jsonl"): `{"type":"user","message":{"role":"user","content":"run the **tests**, API_TOKEN=abcdefgh1234"}}
{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"I run them now."}]}}
{"type":"ai-title","aiTitle":"Make the tests pass"}
`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	b := h.run(`{"hook_event_name":"PermissionRequest","session_id":"`+session+`","cwd":"`+work+`","tool_name":"Bash","tool_input":{"command":"npm test"}}`, "hook")
	r := h.open()
	require.Equal(t, []string{"claude-opus-5", "Make the tests pass", "feature/login", "run the **tests**, API_TOKEN=•••", "I run them now."},
		[]string{r.About.Model, r.About.Title, r.About.Branch, r.About.Prompt, r.About.Said})
	h.answer(r, convert.Answer{Selected: []string{"Allow"}})
	require.Contains(t, b.ends(t, 0), `"allow"`)
	r = h.await(func(r *hub.Record) bool { return !r.Open() })
	require.Equal(t, []string{"Make the tests pass", "", ""}, []string{r.About.Title, r.About.Prompt, r.About.Said}, "what was said is not kept")
}

// A sub-agent's request has no dialog in the terminal: the end of another one is not
// its end.
func TestHookOfASubAgentHasNoDialog(t *testing.T) {
	h, dir := startTestHub(t), t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	t.Setenv("CLAUDE_PID", "4242")
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("acp-bridge/hook.json", `{"hub":"`+h.url+`","token":"`+hubToken+`"}`)
	away := exec.Command(os.Args[0], "away", "--hub", h.url)
	away.Env = append(os.Environ(), asBridge+"=1")
	require.NoError(t, away.Run())
	asks := func(command, more string) (*bridgeProcess, *hub.Record) {
		t.Helper()
		b := h.run(`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f","cwd":"/w","tool_name":"Bash","tool_input":{"command":"`+command+`"}`+more+`}`, "hook")
		return b, h.await(func(r *hub.Record) bool { return r.Open() && strings.Contains(r.Detail, command) })
	}
	_, dialog := asks("npm test", "")
	sub, apart := asks("git push", `,"agent_id":"a7","agent_type":"general"`)
	require.Eventually(t, func() bool { // however long they take to look
		write("sessions/4242.json", `{"status":"waiting"}`)
		time.Sleep(500 * time.Millisecond)
		write("sessions/4242.json", `{"status":"busy"}`)
		time.Sleep(time.Second)
		r, err := h.board.Find(dialog.Conversation, dialog.ID)
		return err == nil && !r.Open()
	}, patience, time.Millisecond)
	h.answer(apart, convert.Answer{Selected: []string{"Allow"}})
	require.Contains(t, sub.ends(t, 0), `"allow"`)
}

// A turn that was killed is run again: what was answered at the hub meanwhile is
// its answer, also if the agent names its session anew.
func TestChatKilledAtHub(t *testing.T) {
	h := startTestHub(t)
	t.Chdir(t.TempDir())
	chat := func(prompt string) *bridgeProcess {
		return h.run("", "chat", "-p", prompt, "--headless", "--hub", h.url, "--", os.Args[0], "demo", "--stdio")
	}
	answers := []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth"}}, {Text: "shop"}}
	first := chat("hello")
	r := h.open()
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	file := acptest.Must(new(pending.Store).Open(""))
	require.Equal(t, file.ID, r.ID, "one name, in the file and at the hub")
	// Another command's question is another question.
	other := chat("another")
	asked := h.await(func(o *hub.Record) bool { return o.Open() && o.Key() != r.Key() })
	h.answer(r, answers...)
	require.Contains(t, chat("hello").ends(t, 0), "- Service name: shop")
	require.True(t, isConsumed(h.await(func(o *hub.Record) bool { return o.Key() == r.Key() && isConsumed(o) })))
	h.answer(asked, convert.Answer{Selected: []string{"MongoDB"}}, convert.Answer{Selected: []string{"Logs"}}, convert.Answer{Text: "other"})
	require.Contains(t, other.ends(t, 0), "- Service name: other")
	// It is taken once.
	third := chat("hello")
	h.answer(h.open(), convert.Answer{Selected: []string{"PostgreSQL"}}, convert.Answer{Selected: []string{"Logs"}}, convert.Answer{Text: "third"})
	require.Contains(t, third.ends(t, 0), "- Service name: third")
}
