package page_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
)

// From nothing to a question answered on a phone: acp-bridge up in a home without a hub and
// hooks, its code on the phone, a plain claude in a terminal, one tap. acp-bridge down
// leaves Claude Code as it was.
func TestUpFromNothing(t *testing.T) {
	browser.Needs(t)
	c, _ := terminals.NewClaude(t, nil,
		apitest.Use(apitest.ToolUse("toolu_db", "AskUserQuestion", object{"questions": []object{{
			"question": "Which database?", "header": "DB", "multiSelect": false,
			"options": []object{{"label": "SQLite", "description": "a file"}, {"label": "PostgreSQL", "description": "a server"}},
		}}})), apitest.Say("All done."))
	require.NoError(t, os.RemoveAll(filepath.Join(c.Home, ".claude")))
	require.NoError(t, os.RemoveAll(filepath.Join(c.Home, ".local")))
	bridge, err := terminals.Program()
	require.NoError(t, err)
	root, err := repository.Root()
	require.NoError(t, err)
	dir := t.TempDir()
	out, err := exec.Command("go", "-C", root, "build", "-o", dir, "./cmd/acp-bridge-hub").CombinedOutput()
	require.NoError(t, err, "%s", out)
	env := append(c.Env, "ACP_BRIDGE_CLAUDE="+c.Path, "PATH="+dir+":"+os.Getenv("PATH"))
	down := func() string {
		cmd := exec.Command(bridge, "down")
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	t.Cleanup(func() { down() })

	up := terminals.NewTmux(t)
	up.Open(c.Dir, env, "sh", "-c", bridge+" up; read line")
	screen := up.See("acp-bridge down undoes this.")
	if strings.Contains(screen, "no address on a network") {
		t.Skip("this machine is in no network")
	}
	require.Contains(t, screen, "▀", "the code")
	link := regexp.MustCompile(`To add a phone(?s:.*?)\n  (http://\S+)`).FindStringSubmatch(screen)
	require.NotNil(t, link, screen)

	phone := browser.New(t)
	phone.Do(chromedp.Navigate(link[1]))
	phone.Insist(`document.querySelector("#cards") && document.readyState === "complete"`, func() { phone.Click("main button") })
	c.Start()
	c.Prompt("Set it up")
	c.See("Which database?")
	phone.Until(`document.querySelector("form[data-tap]")`)
	phone.Insist(`!document.querySelector("form[data-tap]")`, func() { phone.Click(`form[data-tap] .option + .option label`) })
	require.Contains(t, c.Told("toolu_db").Text, "PostgreSQL")
	phone.Shot("up-answered")

	said := down()
	require.Contains(t, said, "hooks are removed")
	require.Contains(t, said, "The hub has stopped.")
	settings, _ := os.ReadFile(filepath.Join(c.Home, ".claude", "settings.json"))
	require.NotContains(t, string(settings), "acp-bridge")
}
