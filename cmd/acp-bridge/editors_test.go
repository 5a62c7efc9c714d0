package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// The path of acp-bridge may hold anything, and the settings are to be pasted
// as they are.
func TestEditorSettingsQuoteThePath(t *testing.T) {
	for _, e := range editors {
		require.Contains(t, e.with("/bin/acp-bridge"), "/bin/acp-bridge", e.name)
		odd := e.with(`C:\my "tools"\it's acp-bridge.exe`)
		if e.name == "acpx" {
			require.Contains(t, odd, `'C:\my "tools"\it'\''s acp-bridge.exe'`)
			require.Contains(t, e.with("/bin/acp-bridge"), " /bin/acp-bridge ")
		} else {
			require.Contains(t, odd, `"C:\\my \"tools\"\\it's acp-bridge.exe"`, e.name)
		}
		require.False(t, strings.Contains(odd, "COMMAND"), e.name)
	}
}

// Flags that were checked are in the settings.
// Node stays beside what npm's launcher starts: an editor starts the program itself.
func TestOwnPathIsNoLauncher(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have another name there")
	}
	self := acptest.Must(os.Executable())
	for text, launcher := range map[string]bool{"#!/usr/bin/env node\n": true, "\x7fELF": false} {
		dir := t.TempDir()
		there := filepath.Join(dir, "acp-bridge")
		require.NoError(t, os.WriteFile(there, []byte(text), 0o700))
		t.Setenv("PATH", dir)
		if launcher {
			there = self
		}
		require.Equal(t, there, ownPath())
	}
}

func TestEditorSettingsCarryFlags(t *testing.T) {
	for _, e := range editors {
		got := e.with("/bin/acp-bridge", "--claude", `/my "tools"/claude`)
		want := map[string]string{
			"emacs": `("/bin/acp-bridge" "--claude" "/my \"tools\"/claude")`,
			"acpx":  `--agent '/bin/acp-bridge --claude '\''/my "tools"/claude'\''' `,
		}[e.name]
		if want == "" {
			want = `"--claude", "/my \"tools\"/claude"`
		}
		require.Contains(t, got, want, e.name)
		require.NotContains(t, got, "COMMAND")
	}
}
