package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// launch is an agent's command with what its profile adds to it, and the side
// channel that it opens, nil for an agent that asks over ACP.
func (p Profile) launch(ctx context.Context, c Command) (Command, *side, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if p.Replacement(ctx, c) != "" {
		p = Profile{}
	}
	c.Env, c.Args = append(slices.Clone(c.Env), "ACP_BRIDGE_ASKS=1"), slices.Clone(c.Args) // hooks and plugins of ours leave it to us
	for _, v := range p.Env {
		if key, _, _ := strings.Cut(v, "="); getenv(c.Env, key) == "" {
			c.Env = append(c.Env, v)
		}
	}
	if p.Config != "" {
		c.configure(p.Config, unlessSet("true"), "features", "default_mode_request_user_input")
	}
	if p.SidePassword == "" {
		return c, nil, nil
	}
	return p.openSide(c)
}

// Replacement is the version of a program that has replaced the agent of this profile
// under the same command: it takes none of its flags, and no plugin made for it. It is
// empty for the agent itself, and where the program does not tell.
func (p Profile) Replacement(ctx context.Context, c Command) string {
	if p.Until == 0 || profileOf(c.Args[0]).Name != p.Name { // npx has a version of its own
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], "--version")
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, proc.Environ(c.Env), proc.Grace
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "" // what it says of that has numbers, too
	}
	version := numbered.FindString(string(out))
	major, _, _ := strings.Cut(version, ".")
	if n, _ := strconv.Atoi(major); n < p.Until {
		return ""
	}
	return version
}

// numbered is a version in what a program prints: "1.18.33", or "opencode2 v2.0.0".
var numbered = regexp.MustCompile(`\d+(\.\d+)+`)

// versionTime is how long an agent may take to say its version.
const versionTime = 20 * time.Second

// openSide has the agent serve its HTTP API on loopback. A port and a password
// that the user has set are the user's.
func (p Profile) openSide(c Command) (Command, *side, error) {
	port := ""
	for i, a := range c.Args {
		if a == "--port" && i+1 < len(c.Args) {
			port = c.Args[i+1]
		} else if v, ok := strings.CutPrefix(a, "--port="); ok {
			port = v
		}
	}
	if port == "" || port == "0" {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return c, nil, fmt.Errorf("no port for the questions of %s: %w", p.Title, err)
		}
		free.Close()
		_, port, _ = net.SplitHostPort(free.Addr().String())
		c.Args = append(c.Args, "--port", port)
	}
	password := getenv(c.Env, p.SidePassword)
	if password == "" {
		password = rand.Text()
		c.Env = append(c.Env, p.SidePassword+"="+password)
	}
	return c, newSide("http://127.0.0.1:"+port, p.Name, password), nil
}

// getenv is the last value of a variable, as a process sees it.
func getenv(env []string, key string) string {
	for _, v := range slices.Backward(env) {
		if name, value, _ := strings.Cut(v, "="); name == key {
			return value
		}
	}
	return ""
}

// configure changes the configuration in JSON that an agent takes from a variable. What
// the user has there stays, and what is no JSON as it is.
func (c *Command) configure(key string, change func(old []byte) []byte, path ...string) {
	config := []byte(cmp.Or(strings.TrimSpace(getenv(c.Env, key)), "{}"))
	if clean.ValidJSON(config) {
		c.Env = append(c.Env, key+"="+string(edit(config, change, path...)))
	}
}

//go:embed ask.js
var askPlugin []byte

// plug has OpenCode 2 load a question tool in place of its own, which it cannot show
// over ACP. It is in a folder that is ours alone, and finds there whom it asks.
func (c *Command) plug() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "acp-bridge-"); err != nil {
		return "", err
	}
	plugin := filepath.Join(dir, "ask.js")
	c.configure("OPENCODE_CONFIG_CONTENT", func(list []byte) []byte { return appended(list, quote(plugin)) }, "plugins")
	return dir, os.WriteFile(plugin, askPlugin, 0o600)
}
