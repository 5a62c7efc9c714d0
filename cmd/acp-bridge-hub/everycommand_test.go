package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// elsewhere are the command lines that other tests run, which need more than a hub.
var elsewhere = map[string]string{
	"acp-bridge-hub --nats nats://a:4222,nats://b:4222,nats://c:4222 --nats-creds hub.creds --replicas 3 --token-file owner.token --public-url https://hub.example --allow-host a.example": "TestOperateThreeMachines",
	"acp-bridge-hub owner --token-file owner.token --nats nats://a:4222,nats://b:4222,nats://c:4222 --nats-creds hub.creds":                                                                "TestOwnerOfSeveralHubs",
	"acp-bridge-hub owner --token-file owner.token --nats nats://a:4222":                                                                                                                   "TestOwnerOfSeveralHubs",
	"acp-bridge-hub status --data /var/lib/acp-bridge-hub":                                                                                                                                 "TestSystemdUnit",
}

// foreign are lines of operate that no test can run, and why.
var foreign = map[string]string{
	"tailscale serve --bg 7717":                                            "needs a tailnet",
	"cloudflared tunnel --url http://127.0.0.1:7717":                       "needs Cloudflare",
	"ssh -N -L 7717:127.0.0.1:7717 MACHINE":                                "needs another machine",
	"go install github.com/nats-io/nats-server/v2@v2.15.2":                 "TestOperateNamesOurNATS compares the version; it downloads",
	"podman build -t acp-bridge-hub -f cmd/acp-bridge-hub/Containerfile .": "needs podman: TestContainer runs what is in the image",
	"podman run -d --name hub -v hub:/data -p 127.0.0.1:7717:7717 --restart always --stop-timeout 60 acp-bridge-hub --public-url https://hub.example": "the same",
	"podman exec hub acp-bridge-hub login": "the same",
}

// shownCommands are the command lines that operators are shown: the examples and the texts
// of the help, also of acp-bridge's, and those in the README.
func shownCommands(t *testing.T) (lines []string) {
	texts := clitest.Texts(program())
	for _, name := range append(glob(t, "../acp-bridge/topics/*.txt"), "../../README.md", "../../SECURITY.md") {
		texts = append(texts, string(acptest.Must(os.ReadFile(name))))
	}
	lines = clitest.Commands(program(), texts...)
	require.Greater(t, len(lines), 12)
	for _, c := range program().All() {
		for _, e := range c.Examples {
			lines = append(lines, e.Line)
		}
	}
	slices.Sort(lines) // device add comes before login --device
	return slices.Compact(lines)
}

// Every command line that operators are shown works, typed into a shell as it is,
// beside a hub that runs. One that starts a hub is stopped when it listens.
func TestEveryCommandRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash")
	}
	home := t.TempDir()
	data := filepath.Join(home, "state", "acp-bridge", "hub")
	require.NoError(t, os.MkdirAll(data, 0o700))
	startHub(t, data, "127.0.0.1:0")
	for name, text := range map[string]string{
		"acp-bridge-hub": "ACP_BRIDGE_HUB_TEST=1 exec '" + os.Args[0] + "' \"$@\"", "man": "cat >/dev/null",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, "bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	for _, dir := range []string{".zfunc", ".config/fish/completions", ".local/share/man/man1"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	typed := func(line string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out := &untilSaid{stop: cancel}
		if regexp.MustCompile(`^acp-bridge-hub(?: --.*)?$`).MatchString(line) {
			line = "exec " + line + " --listen 127.0.0.1:0 --data '" + t.TempDir() + "'"
			out.text = "The hub listens on "
		}
		cmd := exec.CommandContext(ctx, "bash", "-c", line)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = home, out, out, patience
		cmd.Env = []string{"PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin", "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "GORACE=atexit_sleep_ms=0"}
		err := cmd.Run()
		if out.text != "" && strings.Contains(out.all.String(), out.text) {
			err = nil
		}
		return out.all.String(), err
	}
	made := map[string]bool{}
	for i, line := range shownCommands(t) {
		if elsewhere[line] != "" {
			continue
		}
		if m := regexp.MustCompile(`device add (\S+)`).FindStringSubmatch(line); m != nil {
			if made[m[1]] {
				line = strings.Replace(line, m[1], fmt.Sprint(m[1], i), 1) // two examples make one of this name
			}
			made[m[1]] = true
		}
		out, err := typed(line)
		require.NoError(t, err, "%s: %s", line, out)
	}
	for line, test := range elsewhere {
		require.Contains(t, shownCommands(t), line)
		require.NoError(t, understood(strings.Fields(line)[1:]))
		require.True(t, slices.ContainsFunc(append(glob(t, "*_test.go"), glob(t, "../tools/real/hub/*_test.go")...), func(name string) bool {
			return strings.Contains(string(acptest.Must(os.ReadFile(name))), "\nfunc "+test+"(")
		}), test)
	}
}

// What operators are shown of other programs is known, with the reason why it is not run.
func TestCommandsOfOtherPrograms(t *testing.T) {
	text := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(operate, "")
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^  ((?:tailscale|cloudflared|ssh|go|podman|docker) .*)$`).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(foreign)), found)
}

// untilSaid keeps what a program says, and stops it after a text.
type untilSaid struct {
	all  bytes.Buffer
	text string
	stop func()
}

func (u *untilSaid) Write(data []byte) (int, error) {
	n, err := u.all.Write(data)
	if u.text != "" && strings.Contains(u.all.String(), u.text) {
		u.stop()
	}
	return n, err
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names := acptest.Must(filepath.Glob(pattern))
	require.NotEmpty(t, names)
	return names
}
