//go:build unix

package terminals

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

// Claude is the real Claude Code in a terminal of its own, with a model played on
// loopback.
type Claude struct {
	*Tmux
	t         *testing.T
	Home, Dir string
	API       *apitest.Server
	Path      string
	Env       []string
}

// ClaudePath is the path of the real CLI; without it the test is skipped.
func ClaudePath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	return path
}

// NewClaude is a terminal whose hooks are at a hub; site may be one that is there.
func NewClaude(t *testing.T, s *watchtest.Site, replies ...apitest.Reply) (*Claude, *watchtest.Site) {
	t.Helper()
	c := &Claude{t: t, Path: ClaudePath(t), Tmux: NewTmux(t), Home: t.TempDir(), Dir: t.TempDir(), API: apitest.New(t)}
	if s == nil {
		s = watchtest.New(t, web.CanHook)
	}
	path, err := Program()
	require.NoError(t, err)
	c.API.Script(replies...)
	c.Hooks(path)
	c.Write(filepath.Join(c.Home, ".local", "state", "acp-bridge", "hook.json"), object{"hub": s.URL, "token": s.Token})
	c.Env = c.env()
	return c, s
}

// Hooks has a program told of all events. However busy this machine is, Claude Code waits for it.
func (c *Claude) Hooks(program string) {
	c.t.Helper()
	hooks := string(hook.Hooks(program, "hook"))
	require.Contains(c.t, hooks, `"timeout":10}`)
	hooks = strings.ReplaceAll(hooks, `"timeout":10}`, fmt.Sprintf(`"timeout":%.0f}`, watchtest.Patience.Seconds()))
	c.Write(filepath.Join(c.Home, ".claude", "settings.json"), object{"hooks": json.RawMessage(hooks)})
}

func (c *Claude) env() []string {
	return append(apitest.Env(c.API, c.Home), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "IS_SANDBOX=1")
}

// Beside is another terminal of the same user in the same folder, with a model of its own.
func (c *Claude) Beside(replies ...apitest.Reply) *Claude {
	c.t.Helper()
	o := *c
	o.Tmux, o.API = NewTmux(c.t), apitest.New(c.t)
	o.API.Script(replies...)
	o.Env = o.env()
	return &o
}

// Write puts a file of JSON somewhere.
func (c *Claude) Write(name string, v any) {
	c.t.Helper()
	data, err := json.Marshal(v)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(c.t, os.WriteFile(name, data, 0o600))
}

// Start runs claude, and waits for its prompt.
func (c *Claude) Start(args ...string) {
	c.t.Helper()
	c.Begin(args...)
	c.Ready()
}

// Begin runs claude in Dir, which it trusts.
func (c *Claude) Begin(args ...string) {
	c.t.Helper()
	if !slices.Contains(args, "--permission-mode") {
		args = append(args, "--permission-mode", "default")
	}
	c.Write(filepath.Join(c.Home, ".claude.json"), object{
		"hasCompletedOnboarding": true, "customApiKeyResponses": object{"approved": []string{"test"}},
		"projects": object{c.Dir: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	c.Open(c.Dir, c.Env, append([]string{c.Path}, args...)...)
}

// Ready waits until a prompt can be typed.
func (c *Claude) Ready() {
	c.t.Helper()
	c.Until("there is a prompt", func(screen string) bool {
		return strings.Contains(screen, "? for shortcuts") || strings.Contains(screen, "shift+tab to cycle")
	})
}

// Prompt types a prompt, and sends it.
func (c *Claude) Prompt(text string) {
	c.t.Helper()
	c.Press("-l", text)
	c.See(text)
	c.Press("Enter")
}

// Told is what the model got for a tool call.
func (c *Claude) Told(id string) apitest.ToolResult { return Told(c.t, c.API, id, c.Screen) }

// Told waits for what a model got for a tool call. Beside that, screen is what to show
// if it never comes; it may be nil.
func Told(t testing.TB, api *apitest.Server, id string, screen func() string) apitest.ToolResult {
	t.Helper()
	for end := time.Now().Add(watchtest.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, r := range api.Main() {
			if result, ok := r.ToolResult(id); ok {
				return result
			}
		}
	}
	what := id
	if screen != nil {
		what += "\n" + screen()
	}
	require.Fail(t, "the model never got a result", "%s", what)
	return apitest.ToolResult{}
}
