package watchtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Program is the path of acp-bridge, built once.
var Program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-bridge-watch-")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "acp-bridge")
	out, err := exec.Command("go", "build", "-ldflags", "-X main.hookLimit="+Patience.String(), "-o", name, "github.com/acp-bridge/acp-bridge/cmd/acp-bridge").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

var built string

// Clean removes what was built. Call it when all tests of a package are over.
func Clean() {
	if built != "" {
		_ = os.RemoveAll(built)
	}
}
