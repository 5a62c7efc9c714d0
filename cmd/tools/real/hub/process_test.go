package hub_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is a hub in a process of its own.
type process struct {
	t              *testing.T
	dir            string
	cmd            *exec.Cmd
	address, token string
	log            *saying
	silent         chan struct{} // closed when it says nothing any more
}

// saying is what a hub says.
type saying struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *saying) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

// said is what the hub has said so far.
func (p *process) said() string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return p.log.text.String()
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
	cmd := exec.Command(program(t), append([]string{"--data", dir, "--listen", listen}, args...)...)
	cmd.Env = append(append(os.Environ(), "ACP_BRIDGE_HUB_TEST=1"), env...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{t: t, dir: dir, cmd: cmd, log: &saying{}, silent: make(chan struct{})}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	for line := ""; err == nil && p.address == ""; {
		if line, err = lines.ReadString('\n'); err == nil {
			_, err = io.WriteString(p.log, line)
		}
		if address, ok := strings.CutPrefix(line, "The hub listens on "); ok {
			p.address = strings.TrimSpace(address)
		}
	}
	require.NotEmpty(t, p.address, p.said())
	go func() {
		defer close(p.silent)
		_, _ = io.Copy(p.log, lines)
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

// post returns the status, 0 if there was no reply.
func (p *process) post(path, body string) int { return p.request(http.MethodPost, path, body) }

func (p *process) request(method, path, body string) int {
	req, err := http.NewRequest(method, p.address+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	if err != nil {
		return 0
	}
	return reply.StatusCode
}

func (p *process) get(path string) []byte {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, p.address+path, nil)
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	reply, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer reply.Body.Close()
	require.Equal(p.t, http.StatusOK, reply.StatusCode)
	data, err := io.ReadAll(reply.Body)
	require.NoError(p.t, err)
	return data
}

// look returns the status and the body, 0 if there was no reply.
func (p *process) look(path string) (int, string) {
	req, err := http.NewRequest(http.MethodGet, p.address+path, nil)
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer reply.Body.Close()
	data, _ := io.ReadAll(reply.Body)
	return reply.StatusCode, string(data)
}

// fate is what the clients of a question know of it.
type fate struct {
	id    string
	tried map[string]bool // answers that were sent
	given string          // the answer that got a 200
	history
}

func askBody(id string) string {
	return `{"id":"` + id + `","name":"AskUserQuestion","input":{"questions":[{"question":"Go on?","header":"Go","multiSelect":false,"options":[{"label":"Yes","description":""},{"label":"No","description":""}]}]}}`
}

func checkFates(t *testing.T, p *process, fates map[string]*fate) {
	t.Helper()
	for _, f := range fates {
		var q struct {
			State   struct{ Type string }
			Outcome string
			Result  json.RawMessage
		}
		begin := now()
		require.NoError(t, json.Unmarshal(p.get("/conversations/c"+f.id+"/questions/"+f.id), &q))
		f.saw(begin, seenAs(q.Outcome, q.Result, `"Go on?":`, "Yes", "No"))
		switch {
		case f.given != "":
			require.Equal(t, "answered", q.Outcome, f.id)
			require.True(t, bytes.Contains(q.Result, []byte(`"Go on?":"`+f.given+`"`)), "%s: %s", f.given, q.Result)
		case len(f.tried) == 0:
			require.Equal(t, "awaiting_user_response", q.State.Type, f.id)
		}
	}
}

// asAsker makes the test binary be a bridge that asks one question.
const asAsker = "ACP_BRIDGE_ASKER_TEST"

type asker struct {
	cmd *exec.Cmd
	got chan string // closed when it has ended
}

func (p *process) startAsker(id string) *asker {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asAsker+"="+id, "ACP_BRIDGE_HUB="+p.address, "ACP_BRIDGE_HUB_TOKEN="+p.token)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	a := &asker{cmd, make(chan string, 1)}
	go func() {
		defer close(a.got)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if label, ok := strings.CutPrefix(lines.Text(), "got "); ok {
				a.got <- label
			}
		}
	}()
	p.t.Cleanup(a.kill)
	return a
}

func (a *asker) kill() {
	_ = a.cmd.Process.Kill()
	for range a.got {
	}
	_ = a.cmd.Wait()
}
