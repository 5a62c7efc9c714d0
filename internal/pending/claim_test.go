package pending_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// Rule 5: what is claimed is what a predecessor asked that is gone, in a session
// of the same name, with the same questions in the same order; once each.
func TestRule5Claim(t *testing.T) {
	t.Parallel()
	two := convert.Call{Questions: []convert.Question{{Text: "One?"}, {Text: "Two?"}}}
	for name, tc := range map[string]struct {
		asked, sessions []string // by the predecessor, and of the claim
		call            convert.Call
		alive           bool
		want            bool
	}{
		"the same session":            {asked: []string{"s"}, sessions: []string{"s"}, call: two, want: true},
		"one of its sessions":         {asked: []string{"agent's", "command"}, sessions: []string{"other", "command"}, call: two, want: true},
		"another session":             {asked: []string{"s"}, sessions: []string{"t"}, call: two},
		"a session without a name":    {asked: []string{""}, sessions: []string{""}, call: two},
		"no session":                  {call: two},
		"its asker lives":             {asked: []string{"s"}, sessions: []string{"s"}, call: two, alive: true},
		"the questions turned round":  {asked: []string{"s"}, sessions: []string{"s"}, call: convert.Call{Questions: []convert.Question{{Text: "Two?"}, {Text: "One?"}}}},
		"other options":               {asked: []string{"s"}, sessions: []string{"s"}, call: convert.Call{Questions: []convert.Question{{Text: "One?"}, {Text: "Two?", Options: []convert.Option{{Label: "a"}}}}}},
		"the same without any option": {asked: []string{"s"}, sessions: []string{"s"}, call: convert.Call{Questions: []convert.Question{{Text: "One?"}, {Text: "Two?", Options: []convert.Option{}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			first := s.Asker("first")
			defer first.Close()
			f := acptest.Must(first.Post(two, tc.asked...))
			if !tc.alive {
				first.Close()
			}
			second, third := s.Asker("second"), s.Asker("third")
			defer second.Close()
			defer third.Close()
			got, err := second.Claim(tc.call, tc.sessions...)
			if !tc.want {
				require.ErrorIs(t, err, pending.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, f.ID, got.ID)
			require.ErrorIs(t, acptest.Err(third.Claim(tc.call, tc.sessions...)), pending.ErrNotFound, "once each")
			second.Close()
			require.NoError(t, acptest.Err(third.Claim(tc.call, tc.sessions...)), "until the one who claimed it is gone, too")
		})
	}
}

// Rule 5: some that asked the same are so many, and each is claimed once, the oldest first.
func TestRule5SameWordsTwice(t *testing.T) {
	s := newStore(t)
	s.Now = time.Now
	words := []string{"first", "second", "third", "fourth", "fifth"}
	for _, answer := range words {
		require.NoError(t, s.Answer(acptest.Must(post(s, other)), []convert.Answer{{Text: answer}}, "me"))
	}
	a := s.Asker("a test")
	defer a.Close()
	for _, answer := range words {
		require.Equal(t, answer, acptest.Must(a.Claim(other, again)).Answers[0].Text)
	}
	require.ErrorIs(t, acptest.Err(a.Claim(other, again)), pending.ErrNotFound)
}

// What a person has removed is forgotten when nobody waits for it, and what is missing a day
// after it was asked.
func TestSwept(t *testing.T) {
	s := newStore(t)
	begun, a := s.Now(), s.Asker("a test")
	missing, removed, kept := acptest.Must(a.Post(other)), acptest.Must(a.Post(other)), acptest.Must(a.Post(other))
	require.NoError(t, os.Remove(missing.Path))
	require.NoError(t, s.Remove(removed))
	left := func(after time.Duration) int {
		s.Now = func() time.Time { return begun.Add(after) }
		require.ErrorIs(t, acptest.Err(find(s, service)), pending.ErrNotFound)
		return len(acptest.Must(filepath.Glob(filepath.Join(s.State, "questions", "*", "*.json"))))
	}
	require.Equal(t, 3, left(25*time.Hour), "somebody does")
	a.Close()
	require.Equal(t, 2, left(time.Hour))
	require.Equal(t, 1, left(25*time.Hour))
	require.Equal(t, kept.ID, list(t, s)[0].ID)
}

// Rule 5: a process that was killed is gone; while it lives nobody claims what it
// asked, also from another process.
func TestRule5Killed(t *testing.T) {
	state := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), asHolder+"=1", "XDG_STATE_HOME="+state)
	cmd.Stderr = os.Stderr
	out := acptest.Must(cmd.StdoutPipe())
	in := acptest.Must(cmd.StdinPipe())
	defer in.Close()
	require.NoError(t, cmd.Start())
	acptest.Must(out.Read(make([]byte, 1))) // it has asked
	s := &pending.Store{Dir: cmd.Dir, State: state + "/acp-bridge"}
	require.ErrorIs(t, acptest.Err(find(s, shared)), pending.ErrNotFound)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	acptest.Must(find(s, shared))
}

// A person is told the truth about a file that was shortened, and about answers
// that nobody is left to get.
func TestTold(t *testing.T) {
	s := newStore(t)
	s.Report = nil
	a := s.Asker("a test")
	f := acptest.Must(a.Post(other))
	require.False(t, s.Lost(f))
	for want, content := range map[string]string{
		"has lost its id":     `{"questions":[{"question":"Go on?","answer":"Yes"}]}`,
		"has lost its ticket": `{"id":"` + f.ID + `","questions":[{"question":"Go on?","answer":"Yes"}]}`,
	} {
		require.NoError(t, os.WriteFile(f.Path, []byte(content), 0o600))
		now := acptest.Must(s.Open(f.Path))
		require.ErrorContains(t, now.Foreign, want)
		require.ErrorIs(t, now.Foreign, pending.ErrForeign)
	}
	f = acptest.Must(a.Post(other))
	kept := acptest.Must(a.Post(other, again))
	a.Close()
	require.True(t, s.Lost(f))
	require.False(t, s.Lost(kept), "a successor may claim it")
}

// What nobody has begun to answer is withdrawn without a trace, the rest stays.
func TestWithdraw(t *testing.T) {
	s := newStore(t)
	a := s.Asker("a test")
	defer a.Close()
	f := acptest.Must(a.Post(service, again))
	now := acptest.Must(a.Withdraw(f))
	require.Nil(t, now)
	require.NoFileExists(t, f.Path)
	f = acptest.Must(a.Post(service, again))
	edit(t, f.Path, `"answer": null`, `"answer": 1`)
	now = acptest.Must(a.Withdraw(f))
	require.Equal(t, 2, now.Left())
	require.FileExists(t, f.Path)
	require.True(t, strings.HasPrefix(f.Path, s.Dir))
}
