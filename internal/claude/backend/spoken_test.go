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

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// spoken reads the table in the package comment.
func spoken(t *testing.T) map[string][]string {
	f, err := parser.ParseFile(token.NewFileSet(), "agent.go", nil, parser.ParseComments|parser.PackageClauseOnly)
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
	e, _ := scripted(t, ct.Script{})
	e.initialize(`{}`)
	known := func(method string) bool {
		_, err := e.try(method, `{"sessionId":"nobody","title":"x"}`)
		var re *acp.RequestError
		return !errors.As(err, &re) || re.Code != -32601
	}
	for _, method := range slices.Concat(table["answered"], table["drafts"]) {
		if method != "logout" { // of whoever runs the tests
			require.True(t, known(method), method)
		}
	}
	for _, method := range table["not"] {
		require.False(t, known(method), method)
	}

	// The SDK's names of updates, and those that we write ourselves.
	names := map[string]string{
		"UserMessageChunk": "user_message_chunk", "ToolCall": "tool_call", "ToolCallUpdate": "tool_call_update", "UsageUpdate": "usage_update",
		"CurrentModeUpdate": "current_mode_update", "ConfigOptionUpdate": "config_option_update", "SessionInfoUpdate": "session_info_update",
		"AvailableCommandsUpdate": "available_commands_update",
	}
	used := regexp.MustCompile(`acp\.SessionUpdate\{(\w+):|"sessionUpdate": "(\w+)"|StatusUpdate = "(auth/status_update)"|(?:Message|Thought)Chunk = "(\w+)"|acp\.Update(Plan)\(`)
	sent := map[string]bool{}
	for _, pattern := range []string{"*.go", "../../../adapter/editor/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range used.FindAllStringSubmatch(string(text), -1) {
				switch {
				case m[1] != "":
					require.NotEmpty(t, names[m[1]], m[0])
					sent[names[m[1]]] = true
				case m[5] != "":
					sent["plan"] = true
				default:
					sent[m[2]+m[3]+m[4]] = true
				}
			}
		}
	}
	for _, kind := range slices.Concat(table["sent"], table["declared"]) {
		require.True(t, sent[kind], "nothing sends %s", kind)
		delete(sent, kind)
	}
	require.Empty(t, sent, "the table lacks these")
}
