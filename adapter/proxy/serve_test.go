//go:build unix

package proxy

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve runs a shell script as the agent. What it is sent goes to in.
func serve(t *testing.T, script string) (in *os.File, out *strings.Builder, ended chan error) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { w.Close(); r.Close() })
	out, ended = &strings.Builder{}, make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), r, out, Command{Args: []string{"sh", "-c", script}}, Options{})
		w.Close()
	}()
	return w, out, ended
}

func ends(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		require.Fail(t, "it does not end")
		return nil
	}
}

// An agent that dies while a child of it holds its output has ended all the same.
func TestAgentLeavesAChild(t *testing.T) {
	in, out, ended := serve(t, `sleep 1000 & read -r line; echo oops >&2; kill -9 $$`)
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n")
	require.NoError(t, err)
	err = ends(t, ended)
	require.ErrorIs(t, err, errAgentGone)
	require.ErrorContains(t, err, "killed")
	require.ErrorContains(t, err, "oops", "its last words")
	require.Contains(t, out.String(), "oops", "the editor is told")
}

// An agent that does not want to end is ended.
func TestAgentEndsWithTheEditor(t *testing.T) {
	in, _, ended := serve(t, `trap '' TERM; while :; do sleep 1; done`)
	require.NoError(t, in.Close())
	require.NoError(t, ends(t, ended))
}

func TestAgentCannotBeStarted(t *testing.T) {
	err := Serve(context.Background(), strings.NewReader(""), io.Discard, Command{Args: []string{"/does/not/exist"}}, Options{})
	require.ErrorContains(t, err, "could not be started")
	require.Error(t, Serve(context.Background(), strings.NewReader(""), io.Discard, Command{}, Options{}))
}
