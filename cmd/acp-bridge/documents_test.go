package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

func document(t *testing.T, name string) string {
	return string(acptest.Must(os.ReadFile(filepath.Join("../..", name))))
}

// The README is read in five minutes, and where it sends its reader there is
// something: a command, a topic of the help, a flag, a package.
func TestReadme(t *testing.T) {
	text := readme(t)
	require.Less(t, len(strings.Fields(text)), 1600, "words; move what is long into a help text or a package comment")
	require.Contains(t, text, indent(ask.Message(scripted.DemoCall().Questions[0], nil)+"\n"), "the question as a message")

	sent := 0
	for _, m := range regexp.MustCompile("acp-bridge help ([a-z-]+)").FindAllStringSubmatch(text, -1) {
		code, _, stderr := execute(t, nil, "help", m[1])
		require.Equal(t, exitOK, code, stderr)
		sent++
	}
	for _, m := range regexp.MustCompile("`acp-bridge ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
		require.Contains(t, append(program().Names(), "help"), m[1])
	}
	for _, m := range regexp.MustCompile("(?:`|\\s)--([a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
		require.True(t, isFlag(m[1]) || m[1] == "model" || m[1] == "lan", "--%s", m[1]) // those of Claude Code, and of the hub
	}
	for _, m := range regexp.MustCompile(`go (?:-C ([a-z/]+) )?(?:doc|run) \./([a-z/-]+)`).FindAllStringSubmatch(text, -1) {
		acptest.Must(os.Stat("../../" + m[1] + "/" + m[2]))
		sent++
	}
	for _, m := range regexp.MustCompile(`(?:srcset|src)="([^"]+)"|\]\(([^):]+)\)`).FindAllStringSubmatch(text, -1) {
		require.FileExists(t, "../../"+m[1]+m[2])
	}
	require.Greater(t, sent, 10, "places that the README names")
}
