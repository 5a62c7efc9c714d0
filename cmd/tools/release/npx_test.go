package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the ACP registry's own check does with an entry: it starts the package by npx,
// as agent.json says, sends initialize, and wants a way to log in that is the agent's
// or a terminal's. Nothing but the answer is on stdout.
func TestRegistryStartsThePackage(t *testing.T) {
	t.Parallel()
	if os.Getenv("ACP_BRIDGE_FLEET") == "" {
		t.Skip("SKIPPED: builds a package and starts it by npx; set ACP_BRIDGE_FLEET, as .ci/run does")
	}
	if _, err := exec.LookPath("npx"); err != nil || runtime.GOOS == "windows" {
		t.Skip("npx is not here")
	}
	i := slices.IndexFunc(targets, func(t target) bool { return t.OS == runtime.GOOS && t.Arch == runtime.GOARCH })
	if i < 0 {
		t.Skip("no release for this system")
	}
	r := &release{Source: source(t), Out: t.TempDir(), Tag: "v1.2.3", Repository: "https://example.org/acp-bridge", Commit: "0123456789abcdef", RegistryID: "our-entry", Targets: targets[i : i+1], Programs: programs}
	r.Build = func(ctx context.Context, _ target, name, path string) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil || name != "acp-bridge" {
			return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) // the hub is not started
		}
		out, err := exec.CommandContext(ctx, "go", "-C", "../../..", "build", "-o", path, "./cmd/acp-bridge").CombinedOutput()
		require.NoError(t, err, string(out))
		return nil
	}
	r.Inspect = func(path string) (*buildinfo.BuildInfo, error) {
		return buildinfo.ReadFile(filepath.Join(filepath.Dir(path), "acp-bridge"))
	}
	require.NoError(t, r.build(t.Context()))
	require.NoError(t, r.write())
	entry := readJSON(t, r, "registry/our-entry/agent.json")
	npx := entry["distribution"].(map[string]any)["npx"].(map[string]any)
	_, run := npmAt(t, registry(t, r))
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"registry","version":"1"},"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true,"writeTextFile":true},"_meta":{"terminal-auth":true}}}}`
	out := run("sh", "-c", `printf '%s\n' "$1" | npx --yes "$2" 2>/dev/null`, "sh", initialize, npx["package"].(string))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 1, out)
	var reply struct {
		Result struct {
			ProtocolVersion int
			AuthMethods     []struct {
				ID, Name, Type string
				Meta           map[string]any `json:"_meta"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &reply), out)
	require.Equal(t, 1, reply.Result.ProtocolVersion)
	require.NotEmpty(t, reply.Result.AuthMethods)
	for _, m := range reply.Result.AuthMethods {
		require.NotEmpty(t, m.ID)
		require.NotEmpty(t, m.Name)
		require.Contains(t, []string{"", "agent", "terminal"}, m.Type) // none is the agent's
	}
}
