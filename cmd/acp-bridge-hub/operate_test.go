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
)

// What operators are told to write is something that the hub knows.
func TestOperate(t *testing.T) {
	var out, help bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"help", "operate"}, &out, io.Discard))
	require.Equal(t, exitOK, run(t.Context(), []string{"--help"}, &help, io.Discard))
	known := help.String() + " --hub --hub-token-file --name --restart --stop-timeout "
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(out.String(), -1) {
		require.Contains(t, known, " "+flag, flag)
	}
	for _, line := range regexp.MustCompile(`(?m)^ *(?:ExecStart=\S*/|ENTRYPOINT .*?"|)acp-bridge-hub ([^\n]*[^\\\n])$`).FindAllStringSubmatch(out.String(), -1) {
		words := strings.Fields(strings.Split(line[1], "  ")[0])
		_, err := parse(words, io.Discard)
		require.NoError(t, err, line[0])
	}
}

// Operators get the NATS that the tests run with.
func TestOperateNamesOurNATS(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
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
			code := run(ctx, args, io.Discard, w)
			w.CloseWithError(fmt.Errorf("exit code %d", code))
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
	require.Contains(t, starts(), "/login?code=")
	require.NotContains(t, starts("--no-link"), "login")
	require.Regexp(t, `(?m)^  ExecStart=.* --no-link `, operate)
	image, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ENTRYPOINT .*"--no-link"`, string(image))
}

// The help fits 80 columns, and flags have two dashes there and in errors.
func TestHelp(t *testing.T) {
	var help, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"--help"}, &help, io.Discard))
	for line := range strings.Lines(help.String()) {
		require.LessOrEqual(t, len([]rune(line)), 81, line)
	}
	oneDash := regexp.MustCompile(`(?m)(^|[ ("])-[a-z]{2,}`)
	require.NotRegexp(t, oneDash, help.String())
	require.Contains(t, help.String(), "\n  --data FOLDER\n      folder for questions")
	for _, args := range [][]string{{"--nonsense"}, {"--data"}, {"--keep", "x"}, {"--replicas", "x"}, {"--json=x"}} {
		require.Equal(t, exitUsage, run(t.Context(), args, io.Discard, &errOut), args)
	}
	require.NotRegexp(t, oneDash, errOut.String())
	require.Contains(t, errOut.String(), "flag provided but not defined: --nonsense\n")
}

// A hub behind a proxy has its name, and its cookies are for https alone.
func TestPublicURL(t *testing.T) {
	p := startHub(t, t.TempDir(), "127.0.0.1:0", "--public-url", "https://hub.example/")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	login := func(host, origin string) *http.Response {
		req, err := http.NewRequest(http.MethodPost, p.address+"/login", strings.NewReader("token="+p.token))
		require.NoError(t, err)
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", origin)
		reply, err := client.Do(req)
		require.NoError(t, err)
		reply.Body.Close()
		return reply
	}
	reply := login("hub.example", "https://hub.example")
	require.Equal(t, http.StatusSeeOther, reply.StatusCode)
	require.True(t, reply.Cookies()[0].Secure)
	require.Equal(t, http.StatusForbidden, login("hub.example", "https://other.example").StatusCode)
	require.Equal(t, http.StatusMisdirectedRequest, login("other.example", "https://other.example").StatusCode)
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"login", "--data", p.dir}, &out, &errOut), errOut.String())
	require.True(t, strings.HasPrefix(out.String(), "https://hub.example/login?code="), out.String())
	for _, bad := range []string{"hub.example", "https://hub.example/path", "ftp://hub.example", "https://u:p@hub.example", "https://hub.example/?x"} {
		require.Equal(t, exitUsage, run(t.Context(), []string{"--public-url", bad, "--data", p.dir}, io.Discard, io.Discard), bad)
	}
	plain := startHub(t, t.TempDir(), "127.0.0.1:0")
	p = plain
	require.False(t, login("localhost", "http://localhost").Cookies()[0].Secure)
}
