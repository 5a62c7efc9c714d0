package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() { imageRuns = runImage }

// runImage unpacks the image with a tool that others made, and runs its hub in
// its root, as its user.
func runImage(t *testing.T, r *release) {
	if _, err := exec.LookPath("buildah"); err != nil || os.Getuid() != 0 {
		t.Skip("an image can only be tried by root, with buildah")
	}
	storage := t.TempDir()
	buildah := func(args ...string) string {
		base := []string{"--root", storage + "/s", "--runroot", storage + "/r", "--storage-driver", "vfs"}
		return strings.TrimSpace(command(t, nil, "buildah", append(base, args...)...))
	}
	name := buildah("from", "oci-archive:"+filepath.Join(r.Out, r.Image()))
	root := buildah("mount", name)
	defer buildah("rm", name)
	hub := &exec.Cmd{Path: "/bin/acp-bridge-hub", Args: []string{"acp-bridge-hub", "version"}, Dir: "/", Env: []string{"PATH=/bin", "XDG_STATE_HOME=/data"}}
	hub.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	out, err := hub.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "acp-bridge-hub v0.1.0\ncommit: 0123456789ab\ndata:   /data/acp-bridge/hub\n")
	require.FileExists(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))

	bridge := r.program(r.Targets[0], "acp-bridge")
	start := &exec.Cmd{Path: hub.Path, Args: []string{"acp-bridge-hub", "--listen", "127.0.0.1:0", "--no-link"}, Dir: "/", Env: hub.Env, SysProcAttr: hub.SysProcAttr}
	answered(t, bridge, start, func() string { return filepath.Join(root, "data/acp-bridge/hub/token") })
}
