//go:build unix

package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

// realClaude is the path of the real CLI; without it the test is skipped.
func realClaude(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	return path
}

// terminal is the real CLI in a terminal of its own, with a model played on loopback.
type terminal struct {
	*watchtest.Tmux
	t         *testing.T
	home, dir string
	api       *apitest.Server
	claude    string
	env       []string
}

// newTerminal is a terminal whose hooks are at a hub; site may be one that is there.
func newTerminal(t *testing.T, s *watchtest.Site, replies ...apitest.Reply) (*terminal, *watchtest.Site) {
	t.Helper()
	c := &terminal{t: t, claude: realClaude(t), Tmux: watchtest.NewTmux(t), home: t.TempDir(), dir: t.TempDir(), api: apitest.New(t)}
	if s == nil {
		s = watchtest.New(t, web.CanHook)
	}
	path, err := watchtest.Program()
	require.NoError(t, err)
	c.api.Script(replies...)
	c.write(filepath.Join(c.home, ".claude", "settings.json"), object{"hooks": hook.Hooks(path, "hook")})
	c.write(filepath.Join(c.home, ".local", "state", "acp-bridge", "hook.json"), object{"hub": s.URL, "token": s.Token})
	c.write(filepath.Join(c.home, ".claude.json"), object{
		"hasCompletedOnboarding": true, "customApiKeyResponses": object{"approved": []string{"test"}},
		"projects": object{c.dir: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	c.env = append(apitest.Env(c.api, c.home), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "IS_SANDBOX=1")
	return c, s
}

func (c *terminal) write(name string, v any) {
	data, err := json.Marshal(v)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(c.t, os.WriteFile(name, data, 0o600))
}

// start runs claude, and waits for its prompt.
func (c *terminal) start(args ...string) {
	c.t.Helper()
	if !slices.Contains(args, "--permission-mode") {
		args = append(args, "--permission-mode", "default")
	}
	c.Open(c.dir, c.env, append([]string{c.claude}, args...)...)
	c.ready()
}

// ready waits until a prompt can be typed.
func (c *terminal) ready() {
	c.t.Helper()
	c.Until("there is a prompt", func(screen string) bool {
		return strings.Contains(screen, "? for shortcuts") || strings.Contains(screen, "shift+tab to cycle")
	})
}

// prompt types a prompt, and sends it.
func (c *terminal) prompt(text string) {
	c.t.Helper()
	c.Press("-l", text)
	c.See(text)
	c.Press("Enter")
}

// told is what the model got for a tool call.
func (c *terminal) told(id string) apitest.ToolResult {
	c.t.Helper()
	for end := time.Now().Add(watchtest.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, r := range c.api.Main() {
			if result, ok := r.ToolResult(id); ok {
				return result
			}
		}
	}
	require.Fail(c.t, "the model never got a result", "%s\n%s", id, c.Screen())
	return apitest.ToolResult{}
}
