// Package terminals runs real agents in terminals, with models that are played on
// loopback, and hooks or watchers at a hub.
package terminals

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// Program is the path of acp-bridge, built once.
var Program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-bridge-watch-")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "acp-bridge")
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "-C", root, "build", "-ldflags", "-X github.com/acp-bridge/acp-bridge/internal/watch.hookLimit="+watchtest.Patience.String(), "-o", name, "./cmd/acp-bridge").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

var built string

// Main is the main function of tests with real agents: they wait most of the time, and
// what was built for them goes.
func Main(m *testing.M) {
	leaktest.Parallel(8)
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}
