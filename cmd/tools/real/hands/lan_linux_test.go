package hands_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
)

const database = `{"id":"toolu_1","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}}`

// Addresses of the two machines of a home.
const deskAddress, phoneAddress = "192.168.77.1", "192.168.77.2"

// home is a network with a desk, on which a hub runs, and a phone.
type home struct {
	t           *testing.T
	desk, phone string // network namespaces
	program     string
	data        string
}

// newHome makes two network namespaces with a cable between them. Only root can.
func newHome(t *testing.T) *home {
	if os.Getenv("ACP_BRIDGE_CHROMIUM") == "" {
		t.Skip("ACP_BRIDGE_CHROMIUM does not name a Chromium")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip of iproute2 is not installed")
	}
	h := &home{t: t, desk: fmt.Sprintf("acpd%d", os.Getpid()), phone: fmt.Sprintf("acpp%d", os.Getpid()), data: t.TempDir()}
	for _, ns := range []string{h.desk, h.phone} {
		if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
			t.Skipf("no network namespaces here: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	}
	for _, line := range []string{
		"link add eth0 netns " + h.desk + " type veth peer name eth0 netns " + h.phone,
		"-n " + h.desk + " addr add " + deskAddress + "/24 dev eth0", "-n " + h.phone + " addr add " + phoneAddress + "/24 dev eth0",
		"-n " + h.desk + " link set eth0 up", "-n " + h.phone + " link set eth0 up",
		"-n " + h.desk + " link set lo up", "-n " + h.phone + " link set lo up",
	} {
		out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		require.NoError(t, err, "ip %s: %s", line, out)
	}
	h.program = filepath.Join(t.TempDir(), "acp-bridge-hub")
	root, err := repository.Root()
	require.NoError(t, err)
	out, err := exec.Command("go", "-C", root, "build", "-o", h.program, "./cmd/acp-bridge-hub").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return h
}

// command is the hub's program on the desk.
func (h *home) command(args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.desk, h.program}, append(args, "--data", h.data)...)...)
}

// runs runs a command of the hub, and returns what it says: out is for scripts.
func (h *home) runs(args ...string) (out, err string) {
	h.t.Helper()
	cmd := h.command(args...)
	var said, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &problems
	require.NoError(h.t, cmd.Run(), "%s", &problems)
	return said.String(), problems.String()
}

// serves starts the hub, and returns the first links that it prints.
func (h *home) serves(count int, args ...string) (links []string) {
	h.t.Helper()
	cmd := h.command(args...)
	said, err := cmd.StderrPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, cmd.Start())
	drained := make(chan struct{})
	h.t.Cleanup(func() { _ = cmd.Process.Kill(); <-drained; _ = cmd.Wait() })
	lines := bufio.NewReader(said)
	for len(links) < count {
		line, err := lines.ReadString('\n')
		require.NoError(h.t, err, line)
		links = append(links, linkIn.FindAllString(line, -1)...)
	}
	go func() { _, _ = io.Copy(io.Discard, lines); close(drained) }()
	return links
}

var linkIn = regexp.MustCompile(`https?://\S+/login\?code=\S+`)

// browser starts one on the desk or on the phone.
func (h *home) browser(ns string) *chromium {
	d := startBrowser(h.t, os.Getenv("ACP_BRIDGE_CHROMIUM"), "ip", "netns", "exec", ns)
	h.t.Cleanup(d.end)
	return d.profile(h.t)
}

// post calls the hub from the desk, as its owner.
func (h *home) post(path, body string) string {
	h.t.Helper()
	token, err := os.ReadFile(filepath.Join(h.data, "token"))
	require.NoError(h.t, err)
	address, err := os.ReadFile(filepath.Join(h.data, "address"))
	require.NoError(h.t, err)
	first, _, _ := strings.Cut(string(address), "\n")
	req, err := http.NewRequest(http.MethodPost, first+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network, address string) (c net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // and never unlocked: the thread ends with this
			var ns *os.File
			if ns, err = os.Open("/run/netns/" + h.desk); err != nil {
				return
			}
			defer ns.Close()
			if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err == nil {
				c, err = net.Dial(network, address)
			}
		}()
		<-done
		return c, err
	}}}
	reply, err := client.Do(req)
	require.NoError(h.t, err)
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	require.NoError(h.t, err)
	require.Less(h.t, reply.StatusCode, 300, "%s", data)
	return string(data)
}

// logsIn opens a link and taps the button.
func (p *tab) logsIn(link string) {
	p.t.Helper()
	p.open(link)
	p.click(`.login button`)
	p.until(`document.getElementById("cards")`)
}

// A phone in the same network opens the link of the code, logs in and answers, over plain
// http; and so does the browser at the desk, by the link that it is given.
func TestAPhoneInTheNetwork(t *testing.T) {
	h := newHome(t)
	links := h.serves(2, "--lan", "--listen", "127.0.0.1:7717")
	require.True(t, strings.HasPrefix(links[1], "http://"+deskAddress+":7717/"), links[1])
	phone := h.browser(h.phone).newTab(390, false)
	phone.logsIn(links[1])
	phone.shot("lan-phone")

	h.post("/conversations/c1/ask", database)
	phone.click(`form[data-tap] .option label`)
	answered := h.post("/conversations/c1/ask?wait=1m", database)
	require.Contains(t, answered, `"Which database?":"PostgreSQL"`)

	desk := h.browser(h.desk).newTab(1280, false)
	desk.logsIn(links[0])
	out, other := h.runs("login")
	require.True(t, strings.HasPrefix(out, "http://127.0.0.1:7717/"), out)
	require.Contains(t, other, "http://"+deskAddress+":7717/")
	desk.logsIn(strings.TrimSpace(out))

	// Switched off, it is out of the phone's reach; who is on the desk does not notice.
	// Switched on, all is as before.
	h.post("/conversations/c2/ask", database)
	desk.eval(`window.same = true`)
	phone.until(`document.querySelector(".card form.answer")`)
	h.runs("lan", "off")
	phone.until(`!document.getElementById("link").hidden`)
	phone.call("Page.navigate", map[string]any{"url": "http://" + deskAddress + ":7717/"})
	phone.until(`document.body.innerText.includes("ERR_CONNECTION_REFUSED")`)
	desk.until(`window.same && document.querySelector(".card form.answer") && document.getElementById("link").hidden`)
	said, _ := h.runs("lan", "on")
	require.Regexp(t, linkIn, said)
	phone.open("http://" + deskAddress + ":7717/")
	phone.until(`document.querySelector(".card form.answer")`)
	desk.until(`window.same && document.getElementById("link").hidden`)
	h.browser(h.phone).newTab(390, false).logsIn(linkIn.FindString(said))
}
