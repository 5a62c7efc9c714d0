//go:build unix

package transcript_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

type object = map[string]any

const patience = 5 * time.Minute

// cli is the real Claude Code CLI, which talks to a stand-in for the API.
type cli struct {
	t      *testing.T
	api    *apitest.Server
	path   string
	env    []string
	config string
	dir    string
	p      *claude.Process
	// answer replies to a permission request or a question; nil leaves it open
	// and ends the turn there.
	answer   func(claude.ToolRequest) any
	messages chan claude.Message
}

func newCLI(t *testing.T, env ...string) *cli {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	home := t.TempDir()
	c := &cli{t: t, api: apitest.New(t), path: path, dir: t.TempDir(), config: filepath.Join(home, ".claude"), answer: allow}
	c.env = append(apitest.Env(c.api, home), env...)
	return c
}

func allow(r claude.ToolRequest) any {
	input := object{}
	_ = json.Unmarshal(r.Input, &input)
	if r.ToolName == "AskUserQuestion" {
		input["answers"] = object{"Which?": "A"}
	}
	raw, _ := json.Marshal(input)
	return claude.Allow(raw)
}

func (c *cli) start(id, resume string, flags ...string) {
	c.t.Helper()
	messages := make(chan claude.Message, 10_000)
	c.messages = messages
	p, err := claude.Start(c.t.Context(), claude.Options{
		Path: c.path, Dir: c.dir, SessionID: id, Resume: resume, Flags: flags, Env: c.env,
		OnMessage: func(m claude.Message) { messages <- m },
		EOFGrace:  patience, TermGrace: patience, // it writes before it ends
	})
	require.NoError(c.t, err)
	c.p = p
	_, err = p.Initialize(c.t.Context())
	require.NoError(c.t, err)
}

func (c *cli) close() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = c.p.Close(ctx)
	<-c.p.Done()
}

// turn sends a prompt and returns at its result, or where until says so.
func (c *cli) turn(content any, until ...func(claude.Message) bool) {
	c.t.Helper()
	require.NoError(c.t, c.p.Prompt(content))
	c.run(until...)
}

func (c *cli) run(until ...func(claude.Message) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		var m claude.Message
		select {
		case m = <-c.messages:
		case <-ctx.Done():
			require.FailNow(c.t, "no result")
		}
		for _, stop := range until {
			if stop(m) {
				return
			}
		}
		switch m.Type {
		case claude.TypeControlRequest:
			r := m.ToolRequest()
			reply := c.answer(r)
			if reply == nil {
				return
			}
			require.NoError(c.t, c.p.Reply(r.RequestID, reply))
		case claude.TypeResult:
			return
		}
	}
}

// seen is the session as it is replayed, ids of the CLI's own making left out.
func (c *cli) seen(id string) string {
	c.t.Helper()
	path, err := transcript.Find(c.config, id, c.dir)
	require.NoError(c.t, err)
	var lines []string
	for _, line := range strings.Split(describe(c.t, path), "\n") {
		line, _, _ = strings.Cut(line, " | ")
		if !strings.HasPrefix(line, "passed over: 0 damaged, 0 too long") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func ask(id string) apitest.Block {
	return apitest.ToolUse(id, "AskUserQuestion", json.RawMessage(`{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`))
}

func bash(id, command string) apitest.Block {
	return apitest.ToolUse(id, "Bash", object{"command": command})
}

const asked = ` {"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`

func TestRealConversation(t *testing.T) {
	c := newCLI(t)
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, ".claude", "commands"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, ".claude", "commands", "greet.md"), []byte("Greet $ARGUMENTS.\n"), 0o600))
	inSub := func(r apitest.Request) bool { return r.Contains("do sub") && !r.Contains("first prompt") }
	c.api.When(inSub, apitest.Use(apitest.Text("sub text"), bash("toolu_sub", "echo sub")), apitest.Say("sub done"))
	c.api.Script(
		apitest.Use(apitest.Thinking("hm"), apitest.Text("Hello"), bash("toolu_1", "echo one"), bash("toolu_2", "echo two")),
		apitest.Use(ask("toolu_q")),
		apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "sub work", "prompt": "do sub", "subagent_type": "general-purpose", "run_in_background": false})),
		apitest.Say("done"),
		apitest.Say("greeted"),
		apitest.Say("seen"),
		apitest.Use(ask("toolu_r")),
	)
	id := claude.NewSessionID()
	c.start(id, "")
	c.turn("first prompt")
	c.turn("/greet bob")
	c.turn([]object{{"type": "text", "text": "see"}, {"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": pixel}}})
	c.turn("/model haiku")
	c.answer = func(claude.ToolRequest) any { return claude.Deny("no", true) }
	c.turn("dismiss it")
	c.close()

	seen := c.seen(id)
	one, seen := cutLine(t, seen, "result toolu_1 ") // in any order: they ran side by side
	two, seen := cutLine(t, seen, "result toolu_2 ")
	require.Equal(t, []string{`result toolu_1 "one"`, `result toolu_2 "two"`}, []string{one, two})
	agent, seen := cutLine(t, seen, "result toolu_a ")
	require.Contains(t, agent, "sub done")
	model, seen := cutLine(t, seen, "output ")
	require.Contains(t, model, "Haiku")
	rejected, seen := cutLine(t, seen, "result toolu_r ")
	require.NotEmpty(t, rejected)
	require.Equal(t, strings.Join([]string{
		`prompt "first prompt"`, `thinking "hm"`, `text "Hello"`,
		`call toolu_1 {"command":"echo one"}`, `call toolu_2 {"command":"echo two"}`,
		`call toolu_q` + asked,
		`result toolu_q "Your questions have been answered: \"Which?\"=\"A\". You can now continue with these answers in mind."`,
		`call toolu_a {"description":"sub work","prompt":"do sub","run_in_background":false,"subagent_type":"general-purpose"}`,
		`  [toolu_a] text "sub text"`, `  [toolu_a] call toolu_sub {"command":"echo sub"}`, `  [toolu_a] result toolu_sub "sub"`, `  [toolu_a] text "sub done"`,
		`text "done"`,
		`prompt "/greet bob"`, `text "greeted"`,
		`prompt "see" {"type":"base64","media_type":"image/png","data":"` + pixel + `"}`, `text "seen"`,
		`prompt "/model haiku"`,
		`prompt "dismiss it"`, `call toolu_r` + asked, `interrupted "[Request interrupted by user for tool use]"`,
		`question toolu_r is rejected: Which?`,
	}, "\n"), seen)

	page := list(t, transcript.Options{ConfigDir: c.config, Cwd: c.dir})
	require.Equal(t, []string{"first prompt"}, titles(page))
	require.Equal(t, id, page[0].ID)
	require.WithinDuration(t, time.Now(), page[0].Updated, time.Minute)

	require.NoError(t, transcript.Delete(c.config, page[0].Path))
	require.Empty(t, list(t, transcript.Options{ConfigDir: c.config}))
	left, err := filepath.Glob(filepath.Join(c.config, "*", "*"+id+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// cutLine takes the line that begins like that out of a text.
func cutLine(t *testing.T, text, prefix string) (line, rest string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, prefix) {
			return l, strings.Join(append(lines[:i], lines[i+1:]...), "\n")
		}
	}
	require.Fail(t, "no such line", "%q in:\n%s", prefix, text)
	return "", ""
}

func TestRealResumeRewindCompactFork(t *testing.T) {
	c := newCLI(t)
	id, fork := claude.NewSessionID(), claude.NewSessionID()
	c.api.Script(apitest.Say("1"), apitest.Say("2"), apitest.Say("3")) // compacting takes as many calls as it likes
	c.api.When(func(r apitest.Request) bool { return r.Contains(`"five"`) }, apitest.Say("5"))
	c.api.When(func(r apitest.Request) bool { return r.Contains(`"four"`) }, apitest.Say("4"))
	c.start(id, "")
	var at string
	c.turn("one", func(m claude.Message) bool {
		if m.Type == claude.TypeAssistant {
			at = field(m, "uuid").String()
		}
		return false
	})
	c.turn("two, abandoned")
	c.close()
	require.Equal(t, "prompt \"one\"\ntext \"1\"\nprompt \"two, abandoned\"\ntext \"2\"", c.seen(id))

	c.start("", id, "--resume-session-at", at)
	c.turn("three")
	c.close()
	upToHere := "prompt \"one\"\ntext \"1\"\nprompt \"three\"\ntext \"3\""
	require.Equal(t, upToHere, c.seen(id))

	c.start("", id)
	c.turn("/compact")
	c.turn("four")
	c.close()
	compacted := "compacted\nprompt \"/compact\"\noutput \"Compacted\"\nprompt \"four\"\ntext \"4\""
	require.Equal(t, upToHere+"\n"+compacted, c.seen(id))

	c.start(fork, id, "--fork-session")
	c.turn("five")
	c.close()
	require.Contains(t, c.seen(fork), "prompt \"four\"\ntext \"4\"\nprompt \"five\"\ntext \"5\"")
	require.Equal(t, upToHere+"\n"+compacted, c.seen(id), "the fork leaves its origin alone")
	require.Len(t, list(t, transcript.Options{ConfigDir: c.config, Cwd: c.dir}), 2)
}

func TestRealQuestionOpenWhenKilled(t *testing.T) {
	c := newCLI(t)
	id := claude.NewSessionID()
	c.api.Script(apitest.Use(apitest.Text("Let me ask."), ask("toolu_1")), apitest.Say("never mind"))
	c.answer = func(claude.ToolRequest) any { return nil }
	c.start(id, "")
	c.turn("ask me")
	// The CLI writes with a delay.
	require.Eventually(t, func() bool {
		path, err := transcript.Find(c.config, id, c.dir)
		return err == nil && strings.Contains(describe(t, path), "call toolu_1")
	}, patience, 50*time.Millisecond)
	c.p.Kill()
	<-c.p.Done()
	require.Equal(t, "prompt \"ask me\"\ntext \"Let me ask.\"\ncall toolu_1"+asked+"\nquestion toolu_1 is unanswered: Which?", c.seen(id))

	c.answer = allow
	c.start("", id)
	c.turn("go on")
	c.close()
	require.NotContains(t, c.seen(id), "question ")
	require.NotContains(t, c.seen(id), "No response requested")
	require.Contains(t, c.seen(id), "prompt \"go on\"\ntext \"never mind\"")
}

func TestRealFoldedPrompt(t *testing.T) {
	c := newCLI(t)
	id := claude.NewSessionID()
	c.api.Script(apitest.Use(ask("toolu_1")), apitest.Say("both"))
	var open claude.ToolRequest
	c.answer = func(r claude.ToolRequest) any { open = r; return nil }
	c.start(id, "")
	c.turn("first")
	require.NoError(t, c.p.Prompt("second"))
	_, err := c.p.Control(t.Context(), "rename_session", object{"title": "My title"}) // it has read the prompt by now
	require.NoError(t, err)
	require.NoError(t, c.p.Reply(open.RequestID, allow(open)))
	c.run()
	c.close()
	require.Contains(t, c.seen(id), "prompt \"second\"\ntext \"both\"")
	require.Equal(t, []string{"My title"}, titles(list(t, transcript.Options{ConfigDir: c.config, Cwd: c.dir})))
}

func TestRealFolders(t *testing.T) {
	c := newCLI(t)
	c.config = filepath.Join(t.TempDir(), "elsewhere")
	c.env = append(c.env, "CLAUDE_CONFIG_DIR="+c.config)
	base := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(base, "real.dir"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(base, "real.dir"), filepath.Join(base, "link")))
	for _, name := range []string{"a.b_c d", "日本語😀", "link", strings.Repeat("abcdefghi/", 21) + "é😀"} {
		c.dir = filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(c.dir, 0o700))
		id := claude.NewSessionID()
		c.start(id, "")
		c.turn("hi")
		c.close()
		if len(c.dir) < 200 { // of a longer one the CLI's own hash is a part
			require.FileExists(t, filepath.Join(transcript.Dir(c.config, c.dir), id+".jsonl"))
		}
		page := list(t, transcript.Options{ConfigDir: c.config, Cwd: c.dir})
		require.Equal(t, []string{"hi"}, titles(page), name)
		require.Equal(t, id, page[0].ID)
	}
}
