package pending_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// holder plays other programs that have a store's lock.
func holder(t *testing.T, s *pending.Store) *os.File {
	t.Helper()
	acptest.Must(post(s, service)) // makes the lock
	found := acptest.Must(filepath.Glob(filepath.Join(s.State, "questions", "*", "lock")))
	require.Len(t, found, 1)
	f := acptest.Must(os.OpenFile(found[0], os.O_RDWR, 0))
	require.NoError(t, proc.TryLock(f))
	return f
}

// A question waits for its file as long as others get on with theirs, however
// many there are and however slow the disk is.
func TestOthersAreBusy(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		f, posted := holder(t, s), make(chan error, 1)
		go func() { posted <- acptest.Err(post(s, other)) }()
		for range 20 {
			time.Sleep(30 * time.Second)
			now := time.Now()
			require.NoError(t, os.Chtimes(f.Name(), now, now)) // the next one has it
			require.Empty(t, posted)
		}
		require.NoError(t, f.Close())
		require.NoError(t, <-posted)
	})
}

// A program that was stopped while it had the lock does not stop the others for
// ever.
func TestAHolderIsStopped(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		f := holder(t, s)
		defer f.Close()
		_, err := post(s, other)
		require.ErrorIs(t, err, proc.ErrLocked)
		require.ErrorContains(t, err, f.Name())
	})
}

// A program that is always busy lets others in.
func TestABusyProgramLetsOthersIn(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		f, posted := holder(t, s), make(chan error, 1)
		go func() { posted <- acptest.Err(post(s, other)) }()
		synctest.Wait() // it waits
		require.NoError(t, f.Close())
		for range 3 { // each at once behind the one before
			file := acptest.Must(s.Open(filepath.Join(s.Dir, pending.Folder, "pending-questions.json")))
			require.NoError(t, s.Answer(file, []convert.Answer{{Text: "y"}, {}, {}}, "me"))
		}
		synctest.Wait()
		require.NotEmpty(t, posted, "still waits")
		require.NoError(t, <-posted)
	})
}
