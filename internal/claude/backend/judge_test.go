package backend

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/life"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// What an editor sends in _meta raises nothing: each option by itself, in every form
// that it can have.
func TestJudges(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		f := acptest.Must(os.CreateTemp(dir, "settings"))
		acptest.Must(f.WriteString(text))
		require.NoError(t, f.Close())
		return f.Name()
	}
	type row struct {
		options string
		left    []string // in the order that the user is told
		used    string   // that the CLI gets of it
	}
	rows := []row{
		{`{"model":"USED","effort":"high"}`, nil, "USED"},
		{`{"agent":"USED"}`, nil, "--agent=USED"},
		{`{"fallbackModel":"USED"}`, nil, "--fallback-model=USED"},
		{`{"disallowedTools":["USED"]}`, nil, "--disallowedTools=USED"},
		{`{"betas":["USED"]}`, nil, "--betas=USED"},
		{`{"maxTurns":3,"maxThinkingTokens":4,"maxBudgetUsd":5}`, nil, "--max-turns=3"},
		{`{"strictMcpConfig":true}`, nil, "--strict-mcp-config"},
		{`{"tools":["USED"]}`, nil, "--tools=USED"},
		{`{"additionalDirectories":["/USED"]}`, nil, "/USED"},
		{`{"systemPrompt":"USED"}`, nil, "USED"},
		{`{"mcpServers":{"USED":{"command":"x"}}}`, nil, "USED"},

		{`{"allowedTools":[]}`, nil, ""},
		{`{"allowedTools":["RAISED"]}`, []string{"allowedTools"}, ""},
		{`{"plugins":[{"type":"local","path":"/RAISED"}]}`, []string{"plugins"}, ""},
		{`{"settingSources":["user","project","local"]}`, nil, "--setting-sources=user,project,local"},
		{`{"settingSources":["user"]}`, []string{"settingSources"}, ""},
		{`{"settingSources":[]}`, []string{"settingSources"}, ""},

		// There is no place for these.
		{`{"permissionMode":"RAISED","canUseTool":"RAISED","hooks":{"RAISED":[]},"extraArgs":{"dangerously-skip-permissions":null,"RAISED":"x"}}`, nil, ""},
		{`{"executable":"RAISED","pathToClaudeCodeExecutable":"/RAISED","executableArgs":["RAISED"],"allowDangerouslySkipPermissions":true}`, nil, ""},
		{`{"permissionPromptToolName":"RAISED","sandbox":{"RAISED":true},"cwd":"/RAISED","resume":"RAISED","managedSettings":{"RAISED":1}}`, nil, ""},

		{`{"agents":{"a":{"description":"d","prompt":"USED","tools":["Bash"],"permissionMode":"plan"}}}`, nil, "USED"},
		{`{"agents":{"a":{"prompt":"USED","hooks":{"RAISED":[]},"permissionMode":"acceptEdits","memory":"RAISED","initialPrompt":"RAISED"}}}`,
			[]string{"agents.a.hooks", "agents.a.initialPrompt", "agents.a.memory", "agents.a.permissionMode"}, "USED"},
		{`{"agents":{"a":"RAISED"}}`, []string{"agents.a"}, ""},
	}
	for _, name := range []string{"PATH", "HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SHELL_PREFIX", "NODE_OPTIONS", "LD_PRELOAD", "BASH_ENV", "GIT_EXTERNAL_DIFF", "ANTHROPIC_BASE_URL", "anthropic_model", "X"} {
		rows = append(rows,
			row{fmt.Sprintf(`{"env":{%q:"RAISED","ANTHROPIC_MODEL":"USED"}}`, name), []string{"env." + name}, "ANTHROPIC_MODEL=USED"})
	}
	for _, s := range []struct {
		settings string
		left     []string
	}{
		{`{"outputStyle":"USED"}`, nil},
		{`{"permissions":{"deny":["USED"],"ask":["Read"],"defaultMode":"plan","disableBypassPermissionsMode":"disable"}}`, nil},
		{`{"permissions":{"deny":["USED"],"allow":["RAISED"],"defaultMode":"acceptEdits"}}`, []string{"settings.permissions.allow", "settings.permissions.defaultMode"}},
		{`{"language":"USED","Permissions":{"RAISED":1},"permissions":"RAISED"}`, []string{"settings.Permissions", "settings.permissions"}},
		{`{"language":"USED","permissions":{"\u0061llow":["RAISED"],"new":"RAISED"}}`, []string{"settings.permissions.allow", "settings.permissions.new"}},
		{`{"language":"USED","hooks":{"PreToolUse":["RAISED"]},"disableAllHooks":true}`, []string{"settings.disableAllHooks", "settings.hooks"}},
		{`{"env":{"ANTHROPIC_MODEL":"USED","PATH":"RAISED"}}`, []string{"settings.env.PATH"}},
		{`{"language":"USED","apiKeyHelper":"RAISED","awsAuthRefresh":"RAISED","fileSuggestion":{"RAISED":1},"otelHeadersHelper":"RAISED","statusLine":{"command":"RAISED"}}`,
			[]string{"settings.apiKeyHelper", "settings.awsAuthRefresh", "settings.fileSuggestion", "settings.otelHeadersHelper", "settings.statusLine"}},
		{`{"language":"USED","enabledPlugins":{"RAISED":true},"enableAllProjectMcpServers":true,"extraKnownMarketplaces":{"RAISED":{}},"sandbox":{"enabled":true},"plansDirectory":"RAISED","skipWebFetchPreflight":true,"cleanupPeriodDays":0}`,
			[]string{"settings.cleanupPeriodDays", "settings.enableAllProjectMcpServers", "settings.enabledPlugins", "settings.extraKnownMarketplaces", "settings.plansDirectory", "settings.sandbox", "settings.skipWebFetchPreflight"}},
		{`{"language":"USED","somethingNew":"RAISED"}`, []string{"settings.somethingNew"}},
	} {
		text := acptest.Must(json.Marshal(s.settings))
		rows = append(rows,
			row{fmt.Sprintf(`{"settings":%s}`, s.settings), s.left, "USED"},
			row{fmt.Sprintf(`{"settings":%s}`, text), s.left, "USED"},
			row{fmt.Sprintf(`{"settings":%q}`, file(s.settings)), s.left, "USED"})
	}
	for _, r := range rows {
		u, got := setupOf(t, dir, r.options, false)
		require.NotContains(t, got, "RAISED", r.options)
		require.Contains(t, got, r.used, r.options)
		require.Equal(t, r.left, u.left, r.options)
		if r.left != nil {
			u, trusted := setupOf(t, dir, r.options, true)
			require.Empty(t, u.left)
			require.NotEqual(t, got, trusted, "the user allows it: %s", r.options)
		}
	}
}

// Every option that has a place in the CLI is in the table above.
func TestEveryOptionIsJudged(t *testing.T) {
	text := acptest.Must(os.ReadFile("judge_test.go"))
	for name := range metaOptions {
		require.Contains(t, string(text), `"`+name+`":`)
	}
}

// Many names are not all told.
func TestLeftOut(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint(i, strings.Repeat("x", 1000)))
	}
	require.Less(t, len(leftOut(names)), 3000)
	require.Contains(t, leftOut(names), " and 88 more. To allow")
}

// setupOf is a session with options of the editor, and all that the CLI gets of it.
func setupOf(t *testing.T, cwd, options string, trusted bool) (u setup, got string) {
	t.Helper()
	var meta map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"claudeCode":{"options":`+options+`}}`), &meta), options)
	u, err := newSetup(cwd, nil, nil, meta, trusted, slog.New(slog.DiscardHandler))
	require.NoError(t, err, options)
	require.Empty(t, u.asksNothing)
	flags, private := acptest.Must2(u.flags(nil))
	rest := acptest.Must(json.Marshal([]any{u.opening, u.given, u.model, u.effort}))
	return u, fmt.Sprintf("%q %q %s %s", flags, u.env, private, rest)
}

// What nobody was shown is not told as what the user chose.
func TestPermissionThatWasNeverShown(t *testing.T) {
	for want, err := range map[string]error{
		"Permission was not given: the turn was interrupted, because the user dismissed another request":   fmt.Errorf("%w: %w", editor.ErrTakenBack, life.ErrWithAnother),
		"Permission was not given: the request was taken back: the user cancelled the turn":                fmt.Errorf("%w: %w", editor.ErrTakenBack, life.Along{With: machine.ErrTurnCancelled}),
		"Permission was not given: the request was taken back: the session was deleted":                    fmt.Errorf("%w: %w", editor.ErrTakenBack, machine.ErrSessionDeleted),
		"Permission was not given: the request was taken back: the user sent another message instead":      fmt.Errorf("%w: %w", editor.ErrTakenBack, machine.ErrOtherMessage),
		"Permission was not given: " + fmt.Sprintf("%v: %v", editor.ErrTakenBack, convert.ErrDisconnected): fmt.Errorf("%w: %w", editor.ErrTakenBack, convert.ErrDisconnected),
	} {
		d := decide(claude.ToolRequest{}, nil, acp.RequestPermissionResponse{}, err)
		require.Equal(t, claude.Deny(want, true), d)
	}
}

// The CLI may not have written down yet what it was given a moment before its transcript
// was read.
func TestGivenSince(t *testing.T) {
	n := notes{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), swept: new(atomic.Bool)}
	began := time.Now()
	for before, want := range map[time.Duration]bool{-time.Minute: true, flushTime / 2: true, 2 * flushTime: false} {
		n.keep("s", "c", given)
		at := began.Add(-before)
		require.NoError(t, os.Chtimes(n.path("s", "c"), at, at))
		require.Equal(t, want, n.givenSince(began, "s", "c"), before)
		n.keep("s", "c", leftOpen)
		require.False(t, n.givenSince(began, "s", "c"))
	}
}

// A card says which model asks: the one that is set, by the name that people know.
func TestDescribe(t *testing.T) {
	s := &conversation{setup: setup{cwd: "/src"}}
	s.chosen.Store(&choices{model: "opus"})
	var it desk.Item
	s.Describe(&it)
	require.Empty(t, it.About.Model, "it has not said what it has")
	s.info.Store(&claude.InitInfo{Models: []claude.Model{{Value: "default", DisplayName: "Sonnet 5"}, {Value: "opus", DisplayName: "Opus 5"}}})
	s.Describe(&it)
	require.Equal(t, "Claude Code", it.Agent)
	require.Equal(t, "/src", it.Dir)
	require.Equal(t, "Opus 5", it.About.Model)
}
