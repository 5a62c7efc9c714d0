package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What operators are told to write is something that the hub knows.
func TestOperate(t *testing.T) {
	var out, help bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"help", "operate"}, &out, io.Discard))
	for _, name := range program().Names() {
		require.Equal(t, exitOK, run(t.Context(), []string{"help", name}, &help, io.Discard))
	}
	known := help.String() + " --hub --hub-token-file --bg --url --name --restart --stop-timeout "
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(out.String(), -1) {
		require.Contains(t, known, " "+flag, flag)
	}
	for _, line := range regexp.MustCompile(`(?m)^ *(?:ExecStart=\S*/|ENTRYPOINT .*?"|)acp-bridge-hub ([^\n]*[^\\\n])$`).FindAllStringSubmatch(out.String(), -1) {
		require.NoError(t, understood(strings.Fields(strings.Split(line[1], "  ")[0])), line[0])
	}
}

// Operators get the NATS that the tests run with.
func TestOperateNamesOurNATS(t *testing.T) {
	mod := acptest.Must(os.ReadFile("../../go.mod"))
	named := regexp.MustCompile(`nats-server/v2@(v\S+)`).FindStringSubmatch(operate)
	require.NotNil(t, named)
	require.Contains(t, string(mod), "github.com/nats-io/nats-server/v2 "+named[1]+"\n")
}

// A hub whose log others read prints no link that logs in. The unit and the
// container are such hubs.
func TestNoLink(t *testing.T) {
	starts := func(flags ...string) string {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r, w := io.Pipe()
		args := append([]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0"}, flags...)
		go func() {
			w.CloseWithError(fmt.Errorf("exit code %d", run(ctx, args, io.Discard, w)))
		}()
		var said strings.Builder
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			said.WriteString(line)
			if err != nil {
				require.EqualError(t, err, "exit code 0")
				return said.String()
			}
			if strings.HasPrefix(line, "The hub listens on ") {
				stop()
			}
		}
	}
	said := starts()
	require.Contains(t, said, "/login?code=")
	require.Regexp(t, `(?m)^acp-bridge-hub \S+, commit .+, data in /.+$`, said)
	require.NotContains(t, starts("--no-link"), "login")
	require.Regexp(t, `(?m)^  ExecStart=.* --no-link `, operate)
	require.Regexp(t, `(?m)^ENTRYPOINT .*"--no-link"`, string(acptest.Must(os.ReadFile("Containerfile"))))
}

// understood reports what is wrong with a command line.
func understood(args []string) error {
	p, name := program(), program().Default
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "help" {
		name, args = args[0], args[1:]
	}
	c, ok := p.Find(name)
	if !ok {
		return p.Unknown("command", name, p.Names())
	}
	_, err := p.FlagsOf(c).ParseWords(args)
	return err
}

func TestHelp(t *testing.T) {
	clitest.Check(t, program())
	require.Equal(t, []string{"device"}, clitest.Bash(t, program(), "d"))
	require.Equal(t, []string{"measure"}, clitest.Bash(t, program(), "device", "--can", "m"))
}

// Flags have two dashes in errors, words that are wrong are, and what was meant
// is named.
func TestBadCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"--nonsense":       "acp-bridge-hub: unknown flag --nonsense (see acp-bridge-hub help serve)\n",
		"--data":           "acp-bridge-hub: --data needs a value (see acp-bridge-hub help serve)\n",
		"--keep 30d":       "acp-bridge-hub: invalid value \"30d\" for --keep: expected a time with its unit, such as 90s, 15m or 720h (30 days) (see acp-bridge-hub help serve)\n",
		"--keep 0s":        "acp-bridge-hub: --keep must be a time such as 720h (see acp-bridge-hub help serve)\n",
		"--tls-key x":      "acp-bridge-hub: --tls-cert and --tls-key belong together (see acp-bridge-hub help serve)\n",
		"status --jsno":    "acp-bridge-hub status: unknown flag --jsno; did you mean --json? (see acp-bridge-hub help status)\n",
		"statsu":           "acp-bridge-hub: unknown command \"statsu\"; did you mean status? (acp-bridge-hub help lists them)\n",
		"status now":       "acp-bridge-hub status: unexpected argument \"now\" (see acp-bridge-hub help status)\n",
		"device":           "acp-bridge-hub device: expected device add NAME, device list or device remove NAME (see acp-bridge-hub help device)\n",
		"--verbose status": "acp-bridge-hub: unexpected argument \"status\" (see acp-bridge-hub help serve)\n",
	} {
		var errOut bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), strings.Fields(line), io.Discard, &errOut), line)
		require.Equal(t, want, errOut.String())
	}
}

// A hub behind a proxy has its name, and its cookies are for https alone.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--public-url", "https://hub.example/")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	login := func(host, origin string) *http.Response {
		req := acptest.Must(http.NewRequest(http.MethodPost, p.address+"/login", strings.NewReader("token="+p.token)))
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", origin)
		reply := acptest.Must(client.Do(req))
		reply.Body.Close()
		return reply
	}
	reply := login("hub.example", "https://hub.example")
	require.Equal(t, http.StatusOK, reply.StatusCode)
	require.True(t, reply.Cookies()[0].Secure)
	require.Equal(t, http.StatusForbidden, login("hub.example", "https://other.example").StatusCode)
	require.Equal(t, http.StatusMisdirectedRequest, login("other.example", "https://other.example").StatusCode)
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"login", "--data", p.dir}, &out, &errOut), errOut.String())
	require.True(t, strings.HasPrefix(out.String(), "https://hub.example/login?code="), out.String())
	for _, bad := range []string{"hub.example", "https://hub.example/path", "ftp://hub.example", "https://u:p@hub.example", "https://hub.example/?x"} {
		require.Equal(t, exitUsage, run(t.Context(), []string{"--public-url", bad, "--data", p.dir}, io.Discard, io.Discard), bad)
	}
	p = startHub(t, t.TempDir(), "127.0.0.1:0")
	require.False(t, login("localhost", "http://localhost").Cookies()[0].Secure)
}
