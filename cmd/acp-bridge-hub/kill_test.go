package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

// TestMain is the hub itself where a test has started it.
func TestMain(m *testing.M) {
	if os.Getenv(withClock) != "" {
		playClock()
	}
	if os.Getenv("ACP_BRIDGE_HUB_TEST") != "" {
		main()
	}
	leaktest.Parallel(8)
	testscript.Main(m, map[string]func(){"acp-bridge-hub": main})
}

// process is a hub in a process of its own.
type process struct {
	t              *testing.T
	dir            string
	cmd            *exec.Cmd
	address, token string
	log            acptest.Written
	silent         chan struct{} // closed when it says nothing any more
}

// startHub starts a hub. Hubs of one NATS have one owner.
func startHub(t *testing.T, dir, listen string, args ...string) *process {
	t.Helper()
	return startHubIn(t, nil, dir, listen, args...)
}

// startHubIn starts a hub with more in its environment.
func startHubIn(t *testing.T, env []string, dir, listen string, args ...string) *process {
	t.Helper()
	token := filepath.Join(dir, "token")
	if _, err := os.Stat(token); err != nil && slices.Contains(args, "--nats") && !slices.Contains(args, "--token-file") {
		require.NoError(t, os.WriteFile(token, []byte("the-owner-of-these-hubs\n"), 0o600))
	}
	cmd := exec.Command(os.Args[0], append([]string{"--data", dir, "--listen", listen}, args...)...)
	cmd.Env = append(append(os.Environ(), "ACP_BRIDGE_HUB_TEST=1"), env...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{t: t, dir: dir, cmd: cmd, silent: make(chan struct{})}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	for line := ""; err == nil && p.address == ""; {
		if line, err = lines.ReadString('\n'); err == nil {
			_, err = io.WriteString(&p.log, line)
		}
		if address, ok := strings.CutPrefix(line, "The hub listens on "); ok {
			p.address = strings.TrimSpace(address)
		}
	}
	require.NotEmpty(t, p.address, p.log.String())
	go func() {
		defer close(p.silent)
		_, _ = io.Copy(&p.log, lines)
	}()
	data, err := os.ReadFile(filepath.Join(dir, "token"))
	if i := slices.Index(args, "--token-file"); i >= 0 && err != nil {
		data, err = os.ReadFile(args[i+1])
	}
	require.NoError(t, err)
	p.token = strings.TrimSpace(string(data))
	return p
}

// wait returns when the hub has ended, and its last words are known.
func (p *process) wait() error {
	<-p.silent
	return p.cmd.Wait()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// request returns the status, 0 if there was no reply, and the body.
func (p *process) request(method, path, body string) (status int, text string) {
	req, err := http.NewRequest(method, p.address+path, strings.NewReader(body))
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, ""
	}
	return reply.StatusCode, string(data)
}

func (p *process) post(path, body string) (status int) {
	status, _ = p.request(http.MethodPost, path, body)
	return status
}

func askBody(id string) string {
	return `{"id":"` + id + `","name":"AskUserQuestion","input":{"questions":[{"question":"Go on?","header":"Go","multiSelect":false,"options":[{"label":"Yes","description":""},{"label":"No","description":""}]}]}}`
}
