package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every command line that operators are shown works, typed into a shell as it is,
// beside a hub that runs. Those that start one are started by other tests: TestOperate
// reads their flags, TestNoLink, TestPublicURL and the tests of clusters start hubs.
func TestEveryCommandRuns(t *testing.T) {
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
	var lines []string
	for _, c := range program().All() {
		for _, e := range c.Examples {
			if c.Name != program().Default && c.Name != "owner" { // needs a NATS: see TestOwnerOfSeveralHubs
				lines = append(lines, e.Line)
			}
		}
	}
	for _, topic := range program().Topics {
		for _, m := range regexp.MustCompile(`(?m)^  (acp-bridge-hub (?:login|device|status).*)$`).FindAllStringSubmatch(topic.Text, -1) {
			line, _, _ := strings.Cut(m[1], "  ")
			lines = append(lines, line)
		}
	}
	require.Greater(t, len(lines), 12)
	lines = append([]string{"acp-bridge-hub device add anna-phone --group anna"}, lines...) // named before an example makes it
	made := map[string]bool{}
	for i, line := range lines {
		if m := regexp.MustCompile(`device add (\S+)`).FindStringSubmatch(line); m != nil {
			if made[m[1]] {
				line = strings.Replace(line, m[1], fmt.Sprint(m[1], i), 1) // two examples make one of this name
			}
			made[m[1]] = true
		}
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin", "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "GORACE=atexit_sleep_ms=0"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
	}
}
