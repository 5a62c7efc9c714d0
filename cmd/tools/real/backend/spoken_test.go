//go:build unix

package backend_test

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// product is where the product's module is.
const product = "../../../../"

// spoken reads the table in the package comment.
func spoken(t *testing.T) map[string][]string {
	f, err := parser.ParseFile(token.NewFileSet(), product+"internal/claude/backend/agent.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	_, text, ok := strings.Cut(f.Doc.Text(), "# What is spoken\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "\n# ")
	table, key := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") {
			continue
		}
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "\t ") {
			key, words = words[0], words[1:]
		}
		table[key] = append(table[key], words...)
	}
	return table
}

// The table of the package comment is what the code does.
func TestWhatIsSpoken(t *testing.T) {
	table := spoken(t)
	e := serve(t, backend.Options{Claude: claudetest.New(t, claudetest.Script{}).Path})
	e.Initialize(`{}`)
	known := func(method string) bool {
		_, err := e.Try(method, `{"sessionId":"nobody","title":"x"}`)
		var re *acp.RequestError
		return !errors.As(err, &re) || re.Code != -32601
	}
	for _, method := range slices.Concat(table["answered"], table["drafts"]) {
		if method != "logout" { // of whoever runs the tests
			require.True(t, known(method), method)
		}
	}
	sent := sentByCode(t)
	for _, name := range table["not"] {
		require.False(t, known(name), name)
		require.False(t, sent[name], "%s is sent", name)
	}
	for _, name := range slices.Concat(table["sent"], table["declared"], table["asked"], table["told"]) {
		require.True(t, sent[name], "nothing sends %s", name)
		delete(sent, name)
	}
	require.Empty(t, sent, "the table lacks these")
}

// Names that the SDK has for what is sent. A chunk is sent under names of our own.
var sdkNames = map[string]string{
	"UserMessageChunk": "user_message_chunk", "ToolCall": "tool_call", "ToolCallUpdate": "tool_call_update", "UsageUpdate": "usage_update",
	"CurrentModeUpdate": "current_mode_update", "ConfigOptionUpdate": "config_option_update", "SessionInfoUpdate": "session_info_update",
	"AvailableCommandsUpdate": "available_commands_update", "Plan": "plan",

	"SessionUpdate": acp.ClientMethodSessionUpdate, "SessionRequestPermission": acp.ClientMethodSessionRequestPermission,
	"ElicitationCreate": acp.ClientMethodElicitationCreate, "ElicitationComplete": acp.ClientMethodElicitationComplete,
	"FsReadTextFile": acp.ClientMethodFsReadTextFile,
}

// sentByCode are the updates and methods that the code names to send them.
func sentByCode(t *testing.T) map[string]bool {
	named := regexp.MustCompile(`acp\.(?:SessionUpdate\{|Update|ClientMethod)(\w+)[:(,) ]|"sessionUpdate": "(\w+)"|StatusUpdate = "(auth/status_update)"|(?:Message|Thought)Chunk = "(\w+)"|methodCancelRequest = "(.*)"`)
	sent := map[string]bool{}
	for _, pattern := range []string{"internal/claude/backend/*.go", "adapter/editor/*.go", "internal/conn/*.go"} {
		files, err := filepath.Glob(product + pattern)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				if m[1] != "" {
					require.NotEmpty(t, sdkNames[m[1]], "%s: %s", file, m[0])
				}
				sent[sdkNames[m[1]]+m[2]+m[3]+m[4]+m[5]] = true
			}
		}
	}
	return sent
}

// All that the protocol has is in the table.
func TestAllIsSpokenOf(t *testing.T) {
	modules := os.Getenv("ACP_BRIDGE_TSCHECK")
	if modules == "" {
		t.Skip("SKIPPED: needs the TypeScript SDK; set ACP_BRIDGE_TSCHECK, as .ci/run does")
	}
	raw, err := os.ReadFile(filepath.Join(modules, "node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json"))
	require.NoError(t, err)
	protocol := map[string]bool{}
	for _, def := range gjson.GetBytes(raw, "$defs").Map() {
		if method := def.Get("x-method").Str; method != "" && def.Get("x-side").Str != "proxy" {
			protocol[method] = true
		}
	}
	for _, update := range gjson.GetBytes(raw, "$defs.SessionUpdate.oneOf.#.properties.sessionUpdate.const").Array() {
		protocol[update.Str] = true
	}
	ours := map[string]bool{}
	for _, names := range spoken(t) {
		for _, name := range names {
			ours[name] = true
		}
	}
	require.Greater(t, len(protocol), 40)
	require.Equal(t, protocol, ours)
}
