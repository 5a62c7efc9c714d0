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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// containerUser is that of the image.
const containerUser = 1000

// containerfile is what the container file says of the image.
type containerfile struct {
	copied     []string // folders of the module
	env        []string
	entrypoint []string
}

func readContainerfile(t *testing.T) (c containerfile) {
	t.Helper()
	text, err := os.ReadFile("../../../acp-bridge-hub/Containerfile")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "COPY ") && !strings.HasPrefix(line, "COPY --from"):
			c.copied = append(c.copied, words[1:len(words)-1]...)
		case strings.HasPrefix(line, "ENV "):
			c.env = append(c.env, words[1:]...)
		case strings.HasPrefix(line, "ENTRYPOINT "):
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "ENTRYPOINT ")), &c.entrypoint))
		}
	}
	return c
}

// The container file has what the hub is built of, starts it, and is the one that operators
// are told to build. That its flags are understood TestContainer says.
func TestContainerfile(t *testing.T) {
	c := readContainerfile(t)
	require.Contains(t, operate(t), "-f cmd/acp-bridge-hub/Containerfile")
	require.Equal(t, "acp-bridge-hub", c.entrypoint[0])
	for _, name := range c.copied {
		_, err := os.Stat(filepath.Join("../../../..", name))
		require.NoError(t, err)
	}
	const module = "github.com/acp-bridge/acp-bridge/"
	list, err := exec.Command("go", "-C", "../../../..", "list", "-deps", "./cmd/acp-bridge-hub").Output()
	require.NoError(t, err)
	require.Contains(t, string(list), module)
	for _, path := range strings.Fields(string(list)) {
		if ours, ok := strings.CutPrefix(path, module); ok {
			folder, _, _ := strings.Cut(ours, "/")
			require.Contains(t, c.copied, folder, path)
		}
	}
}

// A hub runs where there is nothing but what the image has: no shell, no home, no
// /tmp, a user without a name. What was asked is there after a restart with the
// same volume. ACP_BRIDGE_CONTAINER names the root of an image that was built;
// without it this program stands in for the one of the image.
func TestContainer(t *testing.T) {
	root := os.Getenv("ACP_BRIDGE_CONTAINER")
	if root == "" {
		root = emptyRoot(t)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "data", "acp-bridge")))
	p := startContainer(t, root)
	require.Equal(t, http.StatusAccepted, p.post("/conversations/c/ask", askBody("toolu_1_x")))
	require.Contains(t, string(p.get("/readyz")), "ready")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait())
	p = startContainer(t, root)
	require.Contains(t, string(p.get("/questions")), `"toolu_1_x"`)
	require.Equal(t, http.StatusOK, p.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`))
	require.Equal(t, http.StatusOK, p.post("/conversations/c/ask?wait=1m", askBody("toolu_1_x")))
	// The commands inside need no flags.
	for command, says := range map[string]string{"status": `(?m)^ready +yes$`, "login": `^https://hub\.example/login\?code=\S+$`} {
		cmd := inContainer(t, root, command)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		require.NoError(t, err, errOut.String())
		require.Regexp(t, says, strings.TrimSpace(string(out)))
	}
}

// startContainer starts the hub of an image as its entry point does, on a port
// that is free.
func startContainer(t *testing.T, root string) *process {
	t.Helper()
	entry := readContainerfile(t).entrypoint
	cmd := inContainer(t, root, append(entry[1:], "--listen", "0.0.0.0:0", "--public-url", "https://hub.example")...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("another root is not allowed here: %v", err)
	}
	p := &process{t: t, cmd: cmd}
	t.Cleanup(p.kill)
	var said bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(stderr, &said))
	for line := ""; p.address == ""; {
		line, err = lines.ReadString('\n')
		require.NoError(t, err, "the hub ended: %s", said.String())
		if m := regexp.MustCompile(`^The hub listens on http://localhost(:\d+)$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			p.address = "http://127.0.0.1" + m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	token, err := os.ReadFile(filepath.Join(root, "data", "acp-bridge", "hub", "token"))
	require.NoError(t, err)
	p.token = strings.TrimSpace(string(token))
	return p
}

// inContainer is the hub's program as the user of the image, in its root.
func inContainer(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := &exec.Cmd{Path: "/bin/acp-bridge-hub", Args: append([]string{"acp-bridge-hub"}, args...), Dir: "/"}
	cmd.Env = append(readContainerfile(t).env, "ACP_BRIDGE_HUB_TEST=1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: containerUser, Gid: containerUser}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: containerUser, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: containerUser, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// emptyRoot is a root with what the image has. This program is not the static one
// of the image, and needs its libraries.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	libraries, err := exec.Command("ldd", program(t)).Output()
	if err != nil {
		t.Skipf("which libraries this program needs cannot be told: %v", err)
	}
	files := regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1)
	for _, name := range slices.DeleteFunc(files, func(n string) bool { return !strings.Contains(n, ".so") }) {
		place(t, name, filepath.Join(root, name))
	}
	place(t, program(t), filepath.Join(root, "bin", "acp-bridge-hub"))
	// Every engine makes this one.
	require.NoError(t, os.Mkdir(filepath.Join(root, "etc"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc", "hosts"), []byte("127.0.0.1 localhost\n"), 0o644))
	data := filepath.Join(root, "data")
	require.NoError(t, os.Mkdir(data, 0o755))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(data, containerUser, containerUser))
	}
	return root
}

// place copies a file, in a process of its own: a program that is open for writing
// anywhere here cannot be started.
func place(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	out, err := exec.Command("cp", from, to).CombinedOutput()
	require.NoError(t, err, string(out))
}
