//go:build unix

package pending_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

const yes = `"answer": "Yes"`

// What stands where a question was posted counts only with the ticket, under the
// name, and from the user who posted it.
func TestReplaced(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, posted, answered string){
		"without the ticket": func(t *testing.T, posted, answered string) {
			i := strings.Index(answered, `  "ticket"`)
			rest := answered[i:]
			require.NoError(t, os.WriteFile(posted, []byte(answered[:i]+rest[strings.Index(rest, "\n")+1:]), 0o600))
		},
		"with another ticket": func(t *testing.T, posted, answered string) {
			require.NoError(t, os.WriteFile(posted, []byte(strings.Replace(answered, `"ticket": "`, `"ticket": "X`, 1)), 0o600))
		},
		"under another name": func(t *testing.T, posted, answered string) {
			require.NoError(t, os.Remove(posted))
			require.NoError(t, os.WriteFile(strings.Replace(posted, ".json", "-2.json", 1), []byte(answered), 0o600))
		},
		"by another user": func(t *testing.T, posted, answered string) {
			require.NoError(t, os.WriteFile(posted, []byte(answered), 0o600))
			if err := os.Chown(posted, os.Getuid()+12345, -1); err != nil {
				t.Skip("SKIPPED: only root gives files away:", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			var reports []error
			s.Report = func(err error) { reports = append(reports, err) }
			f := acptest.Must(post(s, other))
			replace(t, f.Path, strings.Replace(read(t, f.Path), `"answer": null`, yes, 1))
			require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
			if name != "under another name" { // where nobody looks
				require.Len(t, reports, 1)
				require.ErrorIs(t, reports[0], pending.ErrForeign)
			}
			require.Equal(t, 1, acptest.Must(post(s, other)).Left(), "it is asked")
		})
	}
}

// Who waits is not answered by a file that was put in the place of the one that
// was posted; that is told.
func TestWaitReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		reports := make(chan error, 9)
		s.Report = func(err error) { reports <- err }
		w := wait(t.Context(), t, s, other)
		posted := read(t, w.file.Path)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(strings.NewReplacer(`"answer": null`, yes, `"ticket": "`, `"ticket": "X`).Replace(posted)), 0o600))
		w.after(t, time.Minute)
		require.Len(t, reports, 1)
		require.ErrorIs(t, <-reports, pending.ErrForeign)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(strings.Replace(posted, `"answer": null`, yes, 1)), 0o600))
		require.Equal(t, []string{"Yes"}, (<-w.result).Answers[0].Selected)
	})
}

// A pipe in the place of a file keeps nobody waiting.
func TestPipe(t *testing.T) {
	s := newStore(t)
	s.Report = nil
	f := acptest.Must(post(s, other))
	require.NoError(t, os.Remove(f.Path))
	if err := syscall.Mkfifo(f.Path, 0o600); err != nil {
		t.Skip("SKIPPED: no pipes here:", err)
	}
	require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
}
