//go:build unix

package hub_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// device makes one more credential.
func (p *process) device(name, can string) string {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodPost, p.address+"/devices", strings.NewReader(fmt.Sprintf(`{"name":%q,"can":%q}`, name, can)))
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer reply.Body.Close()
	var made struct{ Token string }
	require.NoError(p.t, json.NewDecoder(reply.Body).Decode(&made))
	return made.Token
}

// waiting are the open questions by the text of the first one, with where each is.
func (p *process) waiting() map[string]gjson.Result {
	p.t.Helper()
	all := map[string]gjson.Result{}
	for _, q := range gjson.GetBytes(p.get("/questions"), "questions").Array() {
		all[q.Get("question").Str] = q
	}
	return all
}

// holding is acp-bridge hook for a permission that a terminal asks for, beside the dialog.
type holding struct {
	*exec.Cmd
	out strings.Builder
}

func hold(t *testing.T, program, home string, n int) *holding {
	t.Helper()
	event := fmt.Sprintf(`{"hook_event_name":"PermissionRequest","session_id":"0b5c7a3e-5a0f-%04d","cwd":"/w","tool_name":"Bash","tool_input":{"command":"make %d"}}`, n, n)
	h := &holding{Cmd: exec.Command(program, "hook")}
	h.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	h.Stdin, h.Stdout = strings.NewReader(event), &h.out
	require.NoError(t, h.Start())
	t.Cleanup(func() { _ = h.Process.Kill() })
	return h
}

// A hub is killed under eight open cards and started again: five of hooks that hold, three of links.
// All are back, none was told as withdrawn, and answers reach the agents. What nobody comes for is
// left to the terminal.
func TestCardsOutliveTheHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startHub(t, dir, "127.0.0.1:0")
	listen := strings.TrimPrefix(p.address, "http://")
	bridge := filepath.Join(t.TempDir(), "acp-bridge")
	out, err := exec.Command("go", "-C", "../../../..", "build", "-ldflags", "-X github.com/acp-bridge/acp-bridge/internal/watch.hookLimit="+patience.String(), "-o", bridge, "./cmd/acp-bridge").CombinedOutput()
	require.NoError(t, err, "%s", out)
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "acp-bridge")
	require.NoError(t, os.MkdirAll(state, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(state, "hook.json"), fmt.Appendf(nil, `{"hub":%q,"token":%q}`, p.address, p.device("claude", "hook")), 0o600))
	var hooks []*holding
	for n := range 5 {
		hooks = append(hooks, hold(t, bridge, home, n))
	}
	at, err := url.Parse(p.address)
	require.NoError(t, err)
	asker := p.device("bot", "ask")
	d := new(desk.Desk)
	link := hublink.Start(d, hublink.Options{URL: at, Token: func() (string, error) { return asker, nil }, Wait: time.Second})
	t.Cleanup(link.Close)
	var tickets []*desk.Ticket
	for n := range 3 {
		ticket := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: fmt.Sprintf("a-session-of-the-link-%d", n), ID: fmt.Sprintf("toolu_link_%d", n),
			Questions: []convert.Question{{Text: fmt.Sprintf("Go on with %d?", n), Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}})
		require.NoError(t, ticket.Turn())
		tickets = append(tickets, ticket)
	}
	require.Eventually(t, func() bool { return len(p.waiting()) == 8 }, patience, 50*time.Millisecond)
	before := p.waiting()

	p.kill()
	require.NoError(t, hooks[4].Process.Signal(os.Interrupt)) // its Claude Code takes it back, and nobody can be told
	_ = hooks[4].Wait()
	p = startHub(t, dir, listen)
	now := p.waiting()
	for id := range before {
		_, open := now[id]
		require.True(t, open || strings.Contains(string(p.get("/history")), id), "%s is back, or it is known how it ended", id)
	}

	back := func(id string) gjson.Result {
		t.Helper()
		require.Eventually(t, func() bool { q, ok := p.waiting()[id]; return ok && !q.Get("state.asker_gone").Bool() }, patience, 50*time.Millisecond)
		return p.waiting()[id]
	}
	for id, q := range before {
		if strings.Contains(q.Get("detail").Str, "make 4") {
			continue
		}
		label := "Yes"
		if q.Get("kind").Str == "permission" {
			label = "Allow"
		}
		q = back(id)
		path := "/conversations/" + url.PathEscape(q.Get("conversation").Str) + "/respond?question=" + url.QueryEscape(id) + "&revision=" + strconv.FormatUint(q.Get("state.revision").Uint(), 10)
		require.Equal(t, http.StatusOK, p.post(path, fmt.Sprintf(`{"answers":[%q]}`, label)), q.Raw)
	}
	for _, h := range hooks[:4] {
		require.NoError(t, h.Wait())
		require.Contains(t, h.out.String(), `"allow"`)
	}
	for _, ticket := range tickets {
		<-ticket.Context().Done()
		o, _ := ticket.Settle(convert.Outcome{}, "")
		require.Equal(t, "Yes", o.Answers[0].Selected[0])
	}
	ended := func(text string) (end gjson.Result) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, h := range gjson.GetBytes(p.get("/history"), "history").Array() {
				if strings.Contains(h.Get("detail").Str, text) {
					end = h
				}
			}
			return end.Exists()
		}, patience, 50*time.Millisecond, text)
		return end
	}
	require.Equal(t, "disconnected", ended("make 4").Get("outcome").Str, "nobody could tell this hub that it was taken back")
	for _, h := range gjson.GetBytes(p.get("/history"), "history").Array() {
		require.NotEqual(t, "failed", h.Get("outcome").Str, "none was withdrawn: %s", h.Raw)
	}
}
