package hub_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// machines returns addresses of this machine that stand in for others. Nobody
// listens on them.
func machines(t *testing.T) (byName map[string]string) {
	t.Helper()
	for byName == nil {
		net24 := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
		byName = map[string]string{"a": net24 + "1", "b": net24 + "2", "c": net24 + "3"}
		for _, ip := range byName {
			for _, port := range []string{":4222", ":6222"} {
				l, err := net.Listen("tcp", ip+port)
				if err != nil {
					byName = nil
					break
				}
				l.Close()
			}
		}
	}
	return byName
}

// operate is what operators are told.
func operate(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../../acp-bridge-hub/operate.txt")
	require.NoError(t, err)
	return string(data)
}

// indented returns the lines that follow a line and are indented, as an operator would copy
// them.
func indented(t *testing.T, after string) (text string) {
	t.Helper()
	_, rest, ok := strings.Cut(operate(t), after+"\n")
	require.True(t, ok, after)
	for line := range strings.Lines(rest) {
		inside, ok := strings.CutPrefix(line, "  ")
		if !ok {
			break
		}
		text += inside
	}
	require.NotEmpty(t, text)
	return text
}

// What operators are told to write for three machines makes a cluster that wants
// a password, and hubs on it: what is asked at one is answered at another.
func TestOperateThreeMachines(t *testing.T) {
	t.Parallel() // servers that elect take seconds, and no CPU
	if os.Getenv("ACP_BRIDGE_FLEET") == "" {
		t.Skip("SKIPPED: servers that elect take seconds; set ACP_BRIDGE_FLEET, as .ci/run does")
	}
	at := machines(t)
	host := regexp.MustCompile(`([/@])([abc]):`)
	onThis := func(text string) string {
		return host.ReplaceAllStringFunc(text, func(m string) string { return m[:1] + at[m[1:2]] + ":" })
	}
	text := indented(t, "nats-server.conf on machine a (the same on b and c, with their own names):")
	for name, ip := range at {
		dir := t.TempDir()
		conf := onThis(text)
		for _, r := range [][2]string{{"server_name: a", "server_name: " + name}, {"0.0.0.0:", ip + ":"}, {"/var/lib/nats", dir}} {
			require.Contains(t, conf, r[0])
			conf = strings.ReplaceAll(conf, r[0], r[1])
		}
		file := filepath.Join(dir, "nats-server.conf")
		require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
		opts, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		opts.NoSigs, opts.NoLog = true, true
		s, err := server.NewServer(opts)
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}

	secrets := t.TempDir()
	creds := regexp.MustCompile(`hub\.creds has one line, (\S+)\.`).FindStringSubmatch(operate(t))
	require.NotNil(t, creds)
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "hub.creds"), []byte(creds[1]+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "owner.token"), []byte("the-owner-of-all-hubs\n"), 0o600))
	command := indented(t, "The file hub.creds has one line, hub:SECRET-1. The hub on each machine:")
	flags := strings.Fields(strings.ReplaceAll(onThis(command), "\\\n", " "))[1:]
	for i, f := range flags {
		if f == "hub.creds" || f == "owner.token" {
			flags[i] = filepath.Join(secrets, f)
		}
	}
	var errOut bytes.Buffer
	require.Equal(t, 1, run(t, []string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats", flags[1]}, io.Discard, &errOut))
	require.Contains(t, errOut.String(), "Authorization Violation")
	one, two := startHub(t, t.TempDir(), "127.0.0.1:0", flags...), startHub(t, t.TempDir(), "127.0.0.1:0", flags...)
	require.Eventually(t, func() bool {
		return one.post("/conversations/c/ask", askBody("toolu_1_x")) == http.StatusAccepted
	}, 3*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return two.post("/conversations/c/respond", `{"answers":{"Go on?":"Yes"}}`) == http.StatusOK
	}, 3*time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, one.post("/conversations/c/ask?wait=5m", askBody("toolu_1_x")))
	status, body := two.look("/status")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"cluster":"hubs"`)
	require.Contains(t, body, `"replicas":3`)
}
