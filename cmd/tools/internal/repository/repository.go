// Package repository says where the product is that the tools work on.
package repository

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Root is the folder of the product's module. It is known anywhere below cmd/tools.
func Root() (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/acp-bridge/acp-bridge")
	cmd.Stderr = os.Stderr
	dir, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the repository; run this as go -C cmd/tools run: %w", err)
	}
	return strings.TrimSpace(string(dir)), nil
}

// Build builds commands of the product as releases are built, into a folder.
func Build(folder string, names ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	args := []string{"-C", root, "build", "-o", folder + string(os.PathSeparator)}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}
