//go:build unix

package pictures_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/drawing"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// The README's picture of an editor: a question in Neovim with agentic.nvim, in tmux,
// with the settings that acp-bridge doctor prints but for the agent, which is the demo's.
//
//	ACP_BRIDGE_NEOVIM=FOLDER go -C cmd/tools test ./pictures -run TestEditor -update
func TestEditor(t *testing.T) {
	folder := os.Getenv("ACP_BRIDGE_NEOVIM")
	if folder == "" {
		t.Skip("ACP_BRIDGE_NEOVIM does not name a folder with Neovim and agentic.nvim")
	}
	for _, background := range []string{"dark", "light"} {
		drawn := drawing.Coloured(editorScreen(t, folder, background), background)
		for _, shown := range []string{"Which database should we use?", "PostgreSQL", "MongoDB", "SQLite", "Other"} {
			require.Contains(t, drawn, shown)
		}
		if *update {
			require.NoError(t, os.WriteFile(pictures+"editor-"+background+".svg", []byte(drawn), 0o644))
		}
	}
}

// editorScreen is what an editor shows of a question, with its colours.
func editorScreen(t *testing.T, folder, background string) string {
	home := t.TempDir()
	program, err := terminals.Program()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".cache", "nvim"), 0o755)) // the plugin logs there
	bridge := filepath.Join(home, "acp-bridge")
	require.NoError(t, os.WriteFile(bridge, []byte("#!/bin/sh\n'"+program+"' demo --stdio | tee said\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "init.lua"), fmt.Appendf(nil, `
print = function() end -- what the plugin says would have to be confirmed
vim.opt.rtp:prepend(%q)
vim.o.termguicolors, vim.o.background, vim.o.laststatus, vim.o.ruler, vim.o.showmode = true, %q, 0, false, false
require("agentic").setup({
  provider = "acp-bridge",
  acp_providers = { ["acp-bridge"] = { name = "Claude Code (acp-bridge)", command = %q, args = {} } },
  windows = { width = "60%%", input = { height = 2 } },
})
`, filepath.Join(folder, "agentic"), background, bridge), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(home, "main.go"), []byte("package main\n\nfunc main() {\n\t// TODO: orders\n}\n"), 0o644))
	tmux := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), watchtest.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-L", "picture", "-f", os.DevNull}, args...)...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "TMUX_TMPDIR="+home, "TERM=xterm-256color", "COLORTERM=truecolor")
		out, err := cmd.Output()
		require.NoError(t, err, args)
		return string(out)
	}
	tmux("new-session", "-d", "-x", "92", "-y", "19", "env TERM=tmux-256color "+filepath.Join(folder, "nvim")+" -n -u init.lua main.go")
	t.Cleanup(func() { // t.Context has ended
		cmd := exec.Command("tmux", "-L", "picture", "kill-server")
		cmd.Env = append(os.Environ(), "TMUX_TMPDIR="+home)
		_ = cmd.Run()
	})
	shows := func(what string) {
		require.Eventually(t, func() bool { return strings.Contains(tmux("capture-pane", "-p"), what) }, watchtest.Patience, 50*time.Millisecond, what)
	}
	shows("func main()")
	tmux("send-keys", `:lua require("agentic").toggle()`, "Enter")
	require.Eventually(t, func() bool { // a prompt that is sent before there is a session is lost
		said, _ := os.ReadFile(filepath.Join(home, "said"))
		return strings.Contains(string(said), "sessionId")
	}, watchtest.Patience, 50*time.Millisecond)
	tmux("send-keys", "i", "Set up a new service", "C-s")
	shows("Other (type custom answer)")
	return tmux("capture-pane", "-e", "-p")
}
