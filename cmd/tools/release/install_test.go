package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// realRelease makes a release of this checkout for this system. The archives'
// addresses are those of a server here.
func realRelease(t *testing.T) (*release, target) {
	if os.Getenv("ACP_BRIDGE_RELEASE") == "" {
		t.Skip("set ACP_BRIDGE_RELEASE to build releases and install them")
	}
	here, err := findTarget(runtime.GOOS + "/" + runtime.GOARCH)
	require.NoError(t, err)
	out := t.TempDir()
	files := http.StripPrefix("/releases/download/v0.1.0/", http.FileServer(http.Dir(out)))
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	r := &release{Source: "../../..", Out: out, Tag: "v0.1.0", Repository: server.URL, Commit: "0123456789abcdef0123456789abcdef01234567",
		RegistryID: "our-entry", Targets: []target{here}, Programs: programs}
	require.NoError(t, r.build(t.Context()))
	require.NoError(t, r.write())
	return r, here
}

// Each way to install a release gives two programs that work: a demo is answered,
// a hub takes a question and its answer.
func TestInstalls(t *testing.T) {
	r, here := realRelease(t)
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		command(t, nil, "tar", "xf", filepath.Join(r.Out, r.Archive(here)), "-C", dir)
		works(t, dir)
	})
	t.Run("npm", func(t *testing.T) { npmInstalls(t, r) })
	t.Run("homebrew", func(t *testing.T) {
		if _, err := exec.LookPath("ruby"); err != nil {
			t.Skip("ruby is not here")
		}
		prefix := t.TempDir()
		command(t, nil, "ruby", "testdata/brew.rb", filepath.Join(r.Out, "homebrew/acp-bridge.rb"), prefix)
		require.FileExists(t, filepath.Join(prefix, "share/man/man1/acp-bridge-hub.1"))
		require.FileExists(t, filepath.Join(prefix, "completions/acp-bridge.fish"))
		works(t, filepath.Join(prefix, "bin"))
	})
	if imageRuns != nil {
		t.Run("image", func(t *testing.T) { imageRuns(t, r) })
	}
}

// imageRuns is nil on systems that have no such images.
var imageRuns func(*testing.T, *release)

// A clone is installed with the README's command.
func TestInstallsFromAClone(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_RELEASE") == "" {
		t.Skip("set ACP_BRIDGE_RELEASE to build releases and install them")
	}
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^go install \./cmd/acp-bridge \./cmd/acp-bridge-hub`).FindString(string(readme))
	require.NotEmpty(t, line, "the README's command")
	dir := t.TempDir()
	words := strings.Fields(line)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "GOBIN="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	works(t, dir)
}

// npmInstalls publishes to a registry of its own, and installs from there.
func npmInstalls(t *testing.T, r *release) {
	dir := t.TempDir()
	// It wants node-fetch by a tag, which not every mirror has.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true,"dependencies":{"verdaccio":"6"},"overrides":{"node-fetch":"2.7.0"}}`), 0o600))
	command(t, nil, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error")
	config := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("storage: "+dir+"/storage\nauth:\n  htpasswd:\n    file: "+dir+"/htpasswd\npackages:\n  '**':\n    access: $all\n    publish: $all\nmax_body_size: 100mb\nlog: {type: stdout, level: warn}\n"), 0o600))
	address := "127.0.0.1:" + freePort(t)
	ctx, stop := context.WithCancel(t.Context())
	server := exec.CommandContext(ctx, filepath.Join(dir, "node_modules/.bin/verdaccio"), "--config", config, "--listen", address)
	require.NoError(t, server.Start())
	defer func() { stop(); _ = server.Wait() }()
	require.Eventually(t, func() bool {
		reply, err := http.Get("http://" + address + "/-/ping")
		if err == nil {
			reply.Body.Close()
		}
		return err == nil && reply.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond)

	home, npm := npmAt(t, "http://"+address)
	packages, err := filepath.Glob(filepath.Join(r.Out, "npm", "acp-bridge-*"))
	require.NoError(t, err)
	for _, p := range append(packages, filepath.Join(r.Out, "npm", "acp-bridge")) {
		npm("npm", "publish", p)
	}
	npm("npm", "install", "--global", "acp-bridge")
	works(t, filepath.Join(home, "prefix", "bin"))
	require.Contains(t, npm("npx", "--yes", "acp-bridge", "demo", "--answers", `[1,[1],"order-processor"]`), "order-processor")
}

// works requires that the programs in a folder do what they are for.
func works(t *testing.T, dir string) {
	t.Helper()
	bridge, hub := filepath.Join(dir, "acp-bridge"), filepath.Join(dir, "acp-bridge-hub")
	state := t.TempDir()
	env := append(os.Environ(), "XDG_STATE_HOME="+state)
	require.Contains(t, command(t, env, bridge, "demo", "--answers", `[1,[1],"order-processor"]`), "order-processor")
	require.Regexp(t, `(?m)^acp-bridge \S+\ncommit: .+\ndata:   `+state, command(t, env, bridge, "version"))
	doctor := exec.Command(bridge, "doctor") // says what is missing, with or without Claude Code
	doctor.Env = env
	said, _ := doctor.CombinedOutput()
	require.Contains(t, string(said), "acp-bridge")
	start := exec.Command(hub, "--listen", "127.0.0.1:0")
	start.Env = env
	answered(t, bridge, start, func() string { return filepath.Join(state, "acp-bridge/hub/token") })
}

// answered starts a hub, asks it a question and answers it.
func answered(t *testing.T, bridge string, hub *exec.Cmd, token func() string) {
	t.Helper()
	stderr, err := hub.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, hub.Start())
	defer func() {
		require.NoError(t, hub.Process.Signal(syscall.SIGTERM))
		require.NoError(t, hub.Wait())
	}()
	lines := bufio.NewReader(stderr)
	address := ""
	for address == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		address, _ = strings.CutPrefix(strings.TrimSpace(line), "The hub listens on ")
		if !strings.HasPrefix(address, "http") {
			address = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	folder := t.TempDir()
	flags := []string{"--hub", address, "--hub-token-file", token()}
	asker := exec.Command(bridge, append([]string{"ask", "--headless"}, flags...)...)
	asker.Dir = folder
	asker.Stdin = strings.NewReader(`{"questions":[{"question":"Which database?","header":"Database","options":[{"label":"SQLite"},{"label":"MySQL"}],"multiSelect":false}]}`)
	var out, errOut bytes.Buffer
	asker.Stdout, asker.Stderr = &out, &errOut
	require.NoError(t, asker.Start())
	secret, err := os.ReadFile(token())
	require.NoError(t, err)
	var open struct {
		Questions []struct{ Question string }
	}
	require.Eventually(t, func() bool {
		req, err := http.NewRequest(http.MethodGet, address+"/questions", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
		reply, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer reply.Body.Close()
		require.NoError(t, json.NewDecoder(reply.Body).Decode(&open))
		return len(open.Questions) > 0
	}, time.Minute, 50*time.Millisecond)
	id := open.Questions[0].Question
	command(t, nil, bridge, append([]string{"questions", "answer", id, "--answers", `["MySQL"]`}, flags...)...)
	require.NoError(t, asker.Wait(), errOut.String())
	require.Contains(t, out.String(), "MySQL")
}

func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s%s", name, args, out, errOut.String())
	return string(out)
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// Two builds, from two places and without what the first has left in a cache, are
// the same bytes, and know their version.
func TestReproducible(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_RELEASE") == "" {
		t.Skip("set ACP_BRIDGE_RELEASE to build a release twice, from scratch")
	}
	here, err := findTarget(runtime.GOOS + "/" + runtime.GOARCH)
	require.NoError(t, err)
	var sums []map[string]string
	for range 2 {
		source, cache := t.TempDir(), t.TempDir()
		for _, part := range []string{"adapter", "cmd", "convert", "display", "internal"} {
			require.NoError(t, os.CopyFS(filepath.Join(source, part), os.DirFS(filepath.Join("../../..", part))))
		}
		for _, name := range []string{"go.mod", "go.sum", "README.md", "CHANGELOG.md", "SECURITY.md"} {
			data, err := os.ReadFile(filepath.Join("../../..", name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(source, name), data, 0o600))
		}
		t.Setenv("GOCACHE", cache)
		r := &release{Source: source, Out: t.TempDir(), Tag: "v0.1.0", Commit: "0123456789abcdef", Repository: "https://example.org", RegistryID: "our-entry", Targets: []target{here}, Programs: programs}
		require.NoError(t, r.build(t.Context()))
		require.NoError(t, r.write())
		sums = append(sums, r.Sums)
		out, err := exec.Command(filepath.Join(r.Out, "npm", here.Package(), "bin", "acp-bridge"+here.Exe()), "version").Output()
		require.NoError(t, err)
		require.Contains(t, string(out), "acp-bridge v0.1.0\ncommit: 0123456789ab\n")
	}
	require.Equal(t, sums[0], sums[1])
}
