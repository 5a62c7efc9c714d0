package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The README's picture of an editor: a question in Neovim with agentic.nvim, in tmux,
// with the settings that acp-bridge doctor prints but for the agent, which is the demo's.
//
//	ACP_BRIDGE_NEOVIM=FOLDER go test ./cmd/acp-bridge -run TestEditorPicture -update
func TestEditorPicture(t *testing.T) {
	for _, background := range []string{"dark", "light"} {
		name := "../../.github/pictures/editor-" + background + ".svg"
		if folder := os.Getenv("ACP_BRIDGE_NEOVIM"); folder != "" {
			drawn := colouredSVG(editorScreen(t, folder, background), background)
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(drawn), 0o644))
			}
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Less(t, len(data), 20_000)
		for _, shown := range []string{"Which database should we use?", "PostgreSQL", "MongoDB", "SQLite", "Other"} {
			require.Contains(t, string(data), shown)
		}
		require.Contains(t, readme(t), filepath.Base(name))
	}
}

// editorScreen is what an editor shows of a question, with its colours.
func editorScreen(t *testing.T, folder, background string) string {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".cache", "nvim"), 0o755)) // the plugin logs there
	bridge := filepath.Join(home, "acp-bridge")
	require.NoError(t, os.WriteFile(bridge, []byte("#!/bin/sh\n"+asBridge+"=1 '"+self(t)+"' demo --stdio | tee said\n"), 0o755))
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
		ctx, cancel := context.WithTimeout(t.Context(), patience)
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
		require.Eventually(t, func() bool { return strings.Contains(tmux("capture-pane", "-p"), what) }, patience, 50*time.Millisecond, what)
	}
	shows("func main()")
	tmux("send-keys", `:lua require("agentic").toggle()`, "Enter")
	require.Eventually(t, func() bool { // a prompt that is sent before there is a session is lost
		said, _ := os.ReadFile(filepath.Join(home, "said"))
		return strings.Contains(string(said), "sessionId")
	}, patience, 50*time.Millisecond)
	tmux("send-keys", "i", "Set up a new service", "C-s")
	shows("Other (type custom answer)")
	return tmux("capture-pane", "-e", "-p")
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// colouredSVG draws a screen of tmux with its colours.
func colouredSVG(screen, background string) string {
	const line, char, margin = 20, 8.43, 16
	fg, bg, edge := "#1f2328", "#f6f8fa", "#d0d7de"
	if background == "dark" {
		fg, bg, edge = "#e6edf3", "#0d1117", "#30363d"
	}
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width := 0
	var body strings.Builder
	for i, l := range lines {
		class, at := "", 0
		text := func(s string) {
			s = strings.TrimRight(s, "\n")
			if strings.TrimSpace(s) != "" {
				fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\"%s>%s</text>\n", margin+float64(at)*char, margin+i*line+14, class, html.EscapeString(s))
			}
			at += len([]rune(s))
			width = max(width, at)
		}
		for l != "" {
			next := sgr.FindStringSubmatchIndex(l)
			if next == nil {
				text(strings.TrimRight(l, " "))
				break
			}
			text(l[:next[0]])
			class = coloured(l[next[2]:next[3]], class)
			l = l[next[1]:]
		}
	}
	w, h := int(float64(width)*char)+2*margin, len(lines)*line+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>text { fill: %s; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>
%s</svg>
`, w, h, w, h, fg, w-1, h-1, bg, edge, body.String())
}

// coloured is the look of a text after a sequence of SGR.
func coloured(codes, before string) string {
	f := strings.Split(codes, ";")
	out := before
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case "", "0", "39":
			out = ""
		case "1":
			out += ` font-weight="bold"`
		case "48":
			i += 4
		case "38":
			if i+4 < len(f) && f[i+1] == "2" {
				var c [3]int
				for j := range c {
					c[j], _ = strconv.Atoi(f[i+2+j])
				}
				out = fmt.Sprintf(` style="fill:#%02x%02x%02x"`, c[0], c[1], c[2])
				i += 4
			}
		}
	}
	return out
}
