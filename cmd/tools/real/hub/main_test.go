// Package hub breaks hubs and what they stand on: clusters of NATS servers, networks, disks
// and clocks. The hubs are processes of the command's own test binary, which can set its clock.
package hub_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

// TestMain is a NATS server, or a bridge that asks, where a test has started it.
func TestMain(m *testing.M) {
	if os.Getenv(withClock) != "" {
		playClock()
	}
	if os.Getenv(asNode) != "" {
		playNode()
	}
	if os.Getenv(asAsker) != "" {
		playAsker()
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

var built string // the folder of what build has built

// build builds the hub, with the race detector if we have it, once.
var build = sync.OnceValues(func() (path string, err error) {
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	if built, err = os.MkdirTemp("", "acp-bridge-hub-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "acp-bridge-hub.test")
	out, err := exec.Command("go", "-C", root, "test", "-c", fmt.Sprint("-race=", leaktest.Race), "-o", path, "./cmd/acp-bridge-hub").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go test -c: %w: %s", err, out)
	}
	return path, err
})

// program is the path of the hub.
func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	return path
}

// run runs a command of the hub, and returns its exit code.
func run(t *testing.T, args []string, out, errOut io.Writer) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = append(os.Environ(), "ACP_BRIDGE_HUB_TEST=1")
	cmd.Stdout, cmd.Stderr = out, errOut
	if err := cmd.Run(); !errors.As(err, new(*exec.ExitError)) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode()
}

// newCertificate makes files with a certificate for this machine, and its key.
func newCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return cert, key
}
