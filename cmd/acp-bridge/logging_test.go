package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/redact"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// The log and the trace as they are opened: both know the secrets of the
// environment and those that the editor sends, wherever they turn up later. A line
// that cannot be read is told of, not shown.
func TestLogAndTraceHideSecrets(t *testing.T) {
	t.Setenv("A_TOKEN", "environment-secret")
	dir := t.TempDir()
	l := logOptions{level: slog.LevelDebug, file: filepath.Join(dir, "log"), trace: filepath.Join(dir, "trace")}
	log, trace, closeAll, err := l.open(streams{Err: io.Discard})
	require.NoError(t, err)
	trace("editor", ndjson.In, []byte(`{"method":"session/new","params":{"mcpServers":[{"name":"m","type":"http","url":"https://x","headers":[{"name":"X","value":"editor-secret"}]}]}}`))
	trace("a session", ndjson.Out, []byte(`{"text":"it says editor-secret and environment-secret"}`))
	trace("agent", ndjson.Out, []byte(`{"method":"session/new","params":{"mcpServers":[{"name":"acp-bridge","type":"http","url":"http://127.0.0.1:1/OFTHETOOLOFTHETOOLOFTHETOOL","headers":[]}]}}`))
	trace("agent", ndjson.In, []byte(`{"text":"connected to http://127.0.0.1:1/OFTHETOOLOFTHETOOLOFTHETOOL"}`))
	log.Info("connected to OFTHETOOLOFTHETOOLOFTHETOOL")
	unread := []byte(`{"text":"editor-secret and environment-secret, and a part is miss`)
	trace("a session", ndjson.In, unread)
	log.Info("it says editor-secret", "and", "environment-secret")
	log.With("editor-secret", 1).Info("left out")
	closeAll()
	for _, name := range []string{l.file, l.trace} {
		text := acptest.Must(os.ReadFile(name))
		require.NotContains(t, string(text), "-secret")
		require.NotContains(t, string(text), "OFTHETOOL")
		require.Contains(t, string(text), "it says "+redact.Mark)
	}
	text := acptest.Must(os.ReadFile(l.trace))
	require.Contains(t, string(text), fmt.Sprintf(`"dropped":%d`, len(unread)))
	require.Equal(t, 5, bytes.Count(text, []byte("\n")))
	text = acptest.Must(os.ReadFile(l.file))
	require.Contains(t, string(text), "left out: it held a secret")
}

// A trace that others could read before can be read by its owner alone.
func TestTraceOfOthersIsClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(name, nil, 0o666))
	require.NoError(t, os.Chmod(name, 0o666))
	f := acptest.Must(openPrivate(name))
	defer f.Close()
	info := acptest.Must(os.Stat(name))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// Whatever passes on a wire, its trace is a line of JSON, and no secret is in it,
// neither of the environment nor learned of the editor.
func FuzzTrace(f *testing.F) {
	const secret, learned = "sk-fuzzed-secret", "learned-\"of\"\\it"
	f.Add([]byte(`{"method":"session/new","params":{"mcpServers":[{"env":[{"name":"K","value":"v"}]}]}}`), "x")
	f.Add([]byte(`{"a":"sk-fuzzed-secret","n":1.50}`), `{"b":"learned-\"of\"\\it"}`)
	f.Add([]byte(`"sk-fuzzed-\u0073ecret"`), `{"\u006cearned-\"of\"\\it":1e400}`)
	f.Add([]byte("sk-fuzzed-secret\xff{"), "learned-")
	f.Add([]byte(`{"env":{"sk-fuzzed-secret":["sk-fuzzed-secret"]},"headers":7}`), "[")
	f.Fuzz(func(t *testing.T, line []byte, more string) {
		var out bytes.Buffer
		hide := redact.Find([]string{"MY_TOKEN=" + secret})
		hide.Learn([]byte(`{"Env":{"name":"learned-\u0022of\"\\it"}}`))
		tr := newTracer(&out, slog.New(slog.DiscardHandler), hide)
		for _, text := range [][]byte{line, []byte(more), append(line, more...)} {
			out.Reset()
			hide.Learn(text)
			tr.line("editor", ndjson.In, text)
			if out.Len() == 0 { // it made a secret of a part of every line
				continue
			}
			require.True(t, json.Valid(out.Bytes()), "%s", out.String())
			require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")))
			require.False(t, hide.Holds(out.Bytes()), "%s", out.String())
			for _, s := range []string{secret, learned} {
				require.NotContains(t, out.String(), s)
			}
		}
	})
}

// A line that would still tell a secret is not in the trace at all: a session may be
// named by one.
func TestTraceWithoutWhatCannotBeHidden(t *testing.T) {
	hide := new(redact.Secrets)
	hide.Add("sk-0123456789abcdef")
	var w bytes.Buffer
	tr := newTracer(&w, slog.New(slog.DiscardHandler), hide)
	tr.line("sk-0123456789abcdef", ndjson.In, []byte(`{"a":1}`))
	require.Empty(t, w.String())
	tr.line("s1", ndjson.In, []byte(`{"a":"sk-0123456789abcdef"}`))
	tr.line("s1", ndjson.In, []byte(`sk-0123456789abcdef`))
	require.Equal(t, 2, strings.Count(w.String(), "\n"))
	require.NotContains(t, w.String(), "0123456789")
}

// A printed run that waits for an answer is found again by the same command line, in the
// same folder, until it is over.
func TestPrintRunIsKept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r, other := newPrintRun([]string{"agent"}, "go", "/a"), newPrintRun([]string{"agent"}, "go", "/b")
	require.Empty(t, r.session())
	require.Error(t, r.keep(""), "no session is none to come back to")
	require.NoError(t, r.keep("s1"))
	require.Equal(t, "s1", newPrintRun([]string{"agent"}, "go", "/a").session())
	require.Empty(t, other.session())
	r.forget()
	require.Empty(t, r.session())
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	t.Setenv("XDG_STATE_HOME", blocked)
	require.Error(t, r.keep("s1"), "there is no place for it")
}
