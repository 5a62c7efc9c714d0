package pending_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// waiting is a Wait that runs while a test edits the file.
type waiting struct {
	file   *pending.File
	result chan *pending.File
	err    error
}

func wait(ctx context.Context, t *testing.T, s *pending.Store, c convert.Call) *waiting {
	t.Helper()
	s.Interval = time.Second
	w := &waiting{file: acptest.Must(post(s, c)), result: make(chan *pending.File, 1)}
	go func() {
		var f *pending.File
		f, w.err = s.Wait(ctx, w.file)
		w.result <- f
	}()
	synctest.Wait()
	return w
}

// after lets time pass and requires that the wait goes on.
func (w *waiting) after(t *testing.T, d time.Duration) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	select {
	case <-w.result:
		t.Fatalf("it did not wait: %v", w.err)
	default:
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := wait(t.Context(), t, newStore(t), other)
		w.after(t, time.Hour)
		edit(t, w.file.Path, `"answer": null`, `"answer":"no"`)
		before := time.Now()
		f := <-w.result
		require.NoError(t, w.err)
		require.Equal(t, []convert.Answer{{Selected: []string{"No"}}}, f.Answers)
		require.LessOrEqual(t, time.Since(before), time.Second)
		require.FileExists(t, f.Path, "whoever delivers the answers removes it")
	})
}

// Answers that came after the last look are found when the waiting ends.
func TestWaitLooksOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := wait(ctx, t, newStore(t), other)
		edit(t, w.file.Path, `"answer": null`, `"answer":"no"`)
		cancel()
		f := <-w.result
		require.NoError(t, w.err)
		require.Equal(t, []convert.Answer{{Selected: []string{"No"}}}, f.Answers)
	})
}

// What is wrong with the file is said once, and not while an editor may still
// be writing.
func TestWaitDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		reports := make(chan error, 9)
		s.Report = func(err error) { reports <- err }
		w := wait(t.Context(), t, s, other)
		good := read(t, w.file.Path)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(good[:40]), 0o600))
		w.after(t, 1500*time.Millisecond)
		require.Empty(t, reports)
		w.after(t, time.Minute)
		require.Len(t, reports, 1)
		require.ErrorIs(t, <-reports, pending.ErrDamaged)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(good), 0o600))
		edit(t, w.file.Path, `"answer": null`, `"answer": false`)
		w.after(t, time.Minute)
		require.Len(t, reports, 1)
		require.ErrorIs(t, <-reports, pending.ErrAnswer)
		edit(t, w.file.Path, `"answer": false`, `"answer": 1`)
		require.Equal(t, []string{"Yes"}, (<-w.result).Answers[0].Selected)
		require.NoError(t, w.err)
	})
}

// A folder that cannot be read for a while is said once, and what is answered
// afterwards is found.
func TestWaitOutlastsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		reports := make(chan error, 9)
		s.Report = func(err error) { reports <- err }
		w := wait(t.Context(), t, s, other)
		dir := filepath.Dir(w.file.Path)
		require.NoError(t, os.Rename(dir, dir+"~"))
		require.NoError(t, os.WriteFile(dir, nil, 0o600)) // a file in its place
		w.after(t, time.Minute)
		require.Len(t, reports, 1)
		require.NoError(t, os.Remove(dir))
		require.NoError(t, os.Rename(dir+"~", dir))
		w.after(t, time.Minute)
		edit(t, w.file.Path, `"answer": null`, `"answer":"no"`)
		require.Equal(t, []string{"No"}, (<-w.result).Answers[0].Selected)
		require.NoError(t, w.err)
	})
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		w := wait(t.Context(), t, s, other)
		require.NoError(t, os.Rename(w.file.Path, w.file.Path+"~"))
		w.after(t, 1500*time.Millisecond)
		require.NoError(t, os.Rename(w.file.Path+"~", w.file.Path))
		w.after(t, time.Hour)
		require.NoError(t, s.Remove(w.file))
		require.Nil(t, <-w.result)
		require.ErrorIs(t, w.err, pending.ErrGone)

		ctx, cancel := context.WithCancelCause(t.Context())
		w = wait(ctx, t, s, other)
		cause := errors.New("withdrawn")
		cancel(cause)
		require.Nil(t, <-w.result)
		require.ErrorIs(t, w.err, cause)
		require.FileExists(t, w.file.Path)
	})
}

// A file that is missing, and one with other questions in its place, is waited for:
// nobody has said that the questions are not wanted.
func TestWaitForAMissingFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		w := wait(t.Context(), t, s, other)
		dir, good := filepath.Dir(w.file.Path), read(t, w.file.Path)
		require.NoError(t, os.RemoveAll(dir))
		w.after(t, time.Hour)
		require.NoError(t, os.Mkdir(dir, 0o700))
		w.after(t, time.Hour)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(`{"questions":[{"question":"Else?"}]}`), 0o600))
		w.after(t, time.Hour)
		require.NoError(t, os.WriteFile(w.file.Path, []byte(good), 0o600)) // as by git stash pop
		edit(t, w.file.Path, `"answer": null`, `"answer": "no"`)
		require.Equal(t, []string{"No"}, (<-w.result).Answers[0].Selected)

		w = wait(t.Context(), t, s, other)
		require.NoError(t, s.Remove(w.file))
		require.NoError(t, os.RemoveAll(filepath.Dir(w.file.Path)))
		require.Nil(t, <-w.result)
		require.ErrorIs(t, w.err, pending.ErrGone)
	})
}

// An answer is noticed also when size and time of the file stay the same.
func TestWaitSameSizeAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wait(t.Context(), t, newStore(t), other)
		before := acptest.Must(os.Stat(w.file.Path))
		edit(t, w.file.Path, `"answer": null`, `"answer": "no"`)
		require.NoError(t, os.Chtimes(w.file.Path, time.Time{}, before.ModTime()))
		after := acptest.Must(os.Stat(w.file.Path))
		require.Equal(t, before.Size(), after.Size())
		require.Equal(t, before.ModTime(), after.ModTime())
		require.Equal(t, []string{"No"}, (<-w.result).Answers[0].Selected)
	})
}

// A file that is answered in part is not delivered.
func TestWaitInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wait(t.Context(), t, newStore(t), service)
		edit(t, w.file.Path, `"answer": null`, `"answer": 1`, `"answer": null`, `"answer": 1`)
		w.after(t, time.Hour)
		edit(t, w.file.Path, `"answer": null`, `"answer": "x"`)
		require.Len(t, (<-w.result).Answers, 3)
	})
}
