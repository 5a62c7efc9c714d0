package pending_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

var service = convert.Call{
	Session: "abc123",
	Questions: []convert.Question{
		{Header: "Database", Text: "Which database should we use?", Options: []convert.Option{
			{Label: "PostgreSQL (Recommended)", Description: "Battle-tested <relational> DB"},
			{Label: "SQLite", Preview: "app.db"}, {Label: "MongoDB"}}},
		{Text: "Which features?", MultiSelect: true, Options: []convert.Option{{Label: "Auth"}, {Label: "API"}}},
		{Text: "What should we name this service?"},
	},
}

var other = convert.Call{Questions: []convert.Question{{Text: "Go on?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}

func newStore(t *testing.T) *pending.Store {
	t.Helper()
	return &pending.Store{
		Dir:    t.TempDir(),
		State:  t.TempDir(),
		Now:    func() time.Time { return time.Date(2026, 2, 4, 23, 16, 32, 5, time.FixedZone("", 3600)) },
		Report: func(err error) { t.Errorf("reported: %v", err) },
	}
}

// again is the session of all calls in these tests.
const again = "a session"

// post asks in a process that has ended since.
func post(s *pending.Store, c convert.Call) (*pending.File, error) {
	a := s.Asker("a test")
	defer a.Close()
	return a.Post(c, again)
}

// find is a claim of another process.
func find(s *pending.Store, c convert.Call) (*pending.File, error) {
	a := s.Asker("a test")
	defer a.Close()
	return a.Claim(c, again)
}

// take is another process that uses what is answered.
func take(s *pending.Store, c convert.Call, use func() error) error {
	a := s.Asker("a test")
	defer a.Close()
	f, err := a.Claim(c, again)
	if err != nil {
		return err
	}
	return a.Deliver(f, use)
}

func path(s *pending.Store, name string) string { return filepath.Join(s.Dir, pending.Folder, name) }

func read(t *testing.T, path string) string {
	t.Helper()
	return string(acptest.Must(os.ReadFile(path)))
}

func edit(t *testing.T, path string, oldNew ...string) {
	t.Helper()
	text := read(t, path)
	for i := 0; i < len(oldNew); i += 2 {
		require.Contains(t, text, oldNew[i])
		text = strings.Replace(text, oldNew[i], oldNew[i+1], 1)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestPost(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, service))
	require.Equal(t, path(s, "pending-questions.json"), f.Path)
	require.Equal(t, 3, f.Left())
	ticket := gjson.Get(read(t, f.Path), "ticket").Str
	require.NotEmpty(t, ticket)
	require.Equal(t, `{
  "sessionId": "abc123",
  "timestamp": "2026-02-04T22:16:32Z",
  "id": "`+f.ID+`",
  "ticket": "`+ticket+`",
  "help": "Replace each null with an answer: in quotes a label, your own words, or cancel; without quotes the number of an option; a list where multiSelect is true. Save, then run the same command again.",
  "questions": [
    {
      "header": "Database",
      "question": "Which database should we use?",
      "options": ["PostgreSQL (Recommended)", "SQLite", "MongoDB"],
      "descriptions": {
        "PostgreSQL (Recommended)": "Battle-tested <relational> DB"
      },
      "previews": {
        "SQLite": "app.db"
      },
      "multiSelect": false,
      "answer": null
    },
    {
      "question": "Which features?",
      "options": ["Auth", "API"],
      "multiSelect": true,
      "answer": null
    },
    {
      "question": "What should we name this service?",
      "answer": null
    }
  ]
}
`, read(t, f.Path))
	if runtime.GOOS != "windows" {
		info := acptest.Must(os.Stat(f.Path))
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		info = acptest.Must(os.Stat(filepath.Dir(f.Path)))
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}

	require.Equal(t, f, acptest.Must(find(s, service)), "the same call waits in the same file")

	second := acptest.Must(post(s, other))
	require.Equal(t, path(s, "pending-questions-"+second.ID+".json"), second.Path)
	require.NotEqual(t, second.ID, acptest.Must(post(s, other)).ID, "the same words are another asking")

	entries := acptest.Must(os.ReadDir(filepath.Dir(f.Path)))
	require.Len(t, entries, 4, "three files and the one that keeps them out of git")
	require.Equal(t, "*\n", read(t, path(s, ".gitignore")))

	require.ErrorIs(t, acptest.Err(post(s, convert.Call{})), convert.ErrNoQuestions)
}

func TestAnsweredByHand(t *testing.T) {
	s := newStore(t)
	require.ErrorIs(t, acptest.Err(find(s, service)), pending.ErrNotFound)
	posted := acptest.Must(post(s, service))
	edit(t, posted.Path, `"answer": null`, `"answer": "sqlite"`, `"answer": null`, `"answer": ["api", "and logs"]`)
	f := acptest.Must(find(s, service))
	require.False(t, f.Answered())
	require.Equal(t, 1, f.Left())
	edit(t, posted.Path, `"answer": null`, `"answer": "order-processor"`)
	f = acptest.Must(find(s, service))
	require.True(t, f.Answered())
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"API"}, Text: "and logs"}, {Text: "order-processor"}}, f.Answers)
	require.NoError(t, s.Remove(f))
	require.NoFileExists(t, f.Path)
	require.NoError(t, s.Remove(f), "twice is no error")
}

// Answers count only in files that this user's acp-bridge posted: a project that
// brings them along answers nothing.
func TestForeign(t *testing.T) {
	s := newStore(t)
	mine := acptest.Must(post(s, service))
	ticket := gjson.Get(read(t, mine.Path), "ticket").Str
	const id = "abcdefghijkl"
	for name, content := range map[string]string{
		"in the shortest form":    `{"questions":[{"question":"Go on?","answer":"Yes"}]}`,
		"with the id":             `{"id":"` + id + `","questions":[{"question":"Go on?","answer":"Yes"}]}`,
		"with a ticket":           `{"id":"` + id + `","ticket":"AAAA","questions":[{"question":"Go on?","answer":"Yes"}]}`,
		"with a ticket of others": `{"id":"` + mine.ID + `","ticket":"` + ticket + `","questions":[{"question":"Go on?","answer":"Yes"}]}`,
		"dismissed":               `{"questions":[{"question":"Go on?","answer":"cancel"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var reports []error
			s := &pending.Store{Dir: t.TempDir(), State: s.State, Report: func(err error) { reports = append(reports, err) }}
			require.NoError(t, os.Mkdir(filepath.Join(s.Dir, pending.Folder), 0o755))
			brought := path(s, "pending-questions.json")
			require.NoError(t, os.WriteFile(brought, []byte(content), 0o644))
			require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
			require.Len(t, reports, 1)
			require.ErrorIs(t, reports[0], pending.ErrForeign)
			require.ErrorContains(t, reports[0], "your acp-bridge did not ask the questions in "+brought)
			f := acptest.Must(post(s, other))
			require.NotEqual(t, brought, f.Path)
			require.Equal(t, 1, f.Left())
			require.Equal(t, content, read(t, brought))
			byName := acptest.Must(s.Open(brought))
			require.ErrorIs(t, byName.Foreign, pending.ErrForeign)
			a := s.Asker("a test")
			defer a.Close()
			require.Error(t, a.Deliver(byName, func() error { panic("used") }))
		})
	}
	// A copy of the folder, or an answer that was used, has the ticket but no
	// record.
	edit(t, mine.Path, `"answer": null`, `"answer": 1`, `"answer": null`, `"answer": 1`, `"answer": null`, `"answer": "x"`)
	answered := read(t, mine.Path)
	copied := &pending.Store{Dir: t.TempDir(), State: s.State}
	require.NoError(t, os.Mkdir(filepath.Join(copied.Dir, pending.Folder), 0o755))
	require.NoError(t, os.WriteFile(path(copied, "pending-questions.json"), []byte(answered), 0o600))
	require.ErrorIs(t, acptest.Err(find(copied, service)), pending.ErrNotFound)
	require.NoError(t, take(s, service, func() error { return nil }))
	require.NoError(t, os.WriteFile(mine.Path, []byte(answered), 0o600))
	s.Report = nil
	require.ErrorIs(t, acptest.Err(find(s, service)), pending.ErrNotFound, "an answer is used once")
}

// Of several who answer all but one are told who was first, and when.
func TestFirstAnswerStands(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, other))
	var told []error
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, who := range []string{"Ann", "Bob", "Cid", "Dan"} {
		all.Go(func() {
			if err := s.Answer(f, []convert.Answer{{Text: who}}, who); err != nil {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err)
			}
		})
	}
	all.Wait()
	now := acptest.Must(find(s, other))
	require.Equal(t, now.By, now.Answers[0].Text)
	require.Len(t, told, 3)
	for _, err := range told {
		require.ErrorIs(t, err, desk.ErrSettled)
		require.ErrorContains(t, err, "answered by "+now.By+" at 2026-02-04T22:16:32Z")
	}
	edit(t, f.Path, now.By, "mine")
	now = acptest.Must(find(s, other))
	require.Empty(t, now.By, "a hand has changed it")
	require.ErrorContains(t, s.Answer(now, []convert.Answer{{Text: "x"}}, "Eve"), "answered by hand at")
}

// A dismissal is no answer, even where an option has the name of the word that
// dismisses, and it stands like one.
func TestDismiss(t *testing.T) {
	s := newStore(t)
	c := convert.Call{Questions: []convert.Question{{Text: "And the order?", Options: []convert.Option{{Label: "Cancel"}, {Label: "Keep"}}}}}
	f := acptest.Must(post(s, c))
	require.True(t, f.Untouched())
	require.NoError(t, s.Dismiss(f, "Ann"))
	now := acptest.Must(find(s, c))
	require.True(t, now.Cancelled)
	require.False(t, now.Answered())
	require.False(t, now.Untouched())
	require.Equal(t, "Ann", now.By)
	require.ErrorIs(t, s.Answer(now, []convert.Answer{{Selected: []string{"Keep"}}}, "Bob"), desk.ErrSettled)
	require.ErrorContains(t, s.Dismiss(f, "Bob"), "cancelled by Ann")
	require.NoError(t, take(s, c, func() error { return nil }))

	f = acptest.Must(post(s, c))
	require.NoError(t, s.Answer(f, []convert.Answer{{Selected: []string{"Keep"}}}, "Bob"))
	require.ErrorContains(t, s.Dismiss(f, "Ann"), "answered by Bob")
}

// What was seen is what is answered: a part that a hand has filled in meanwhile
// is not lost.
func TestChangedMeanwhile(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, service))
	edit(t, f.Path, `"answer": null`, `"answer": "SQLite"`)
	require.ErrorIs(t, s.Answer(f, []convert.Answer{{Text: "a"}, {Text: "b"}, {Text: "c"}}, "me"), pending.ErrChanged)
	require.Contains(t, read(t, f.Path), `"answer": "SQLite"`)
}

// Rule 6: nobody else can take an answer while it is used, it is taken when it was
// used, and it stays if it cannot be used. An answer that comes meanwhile is too
// late, and that is told.
func TestRule6Deliver(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for range 10 {
		f := acptest.Must(post(s, other))
		require.NoError(t, s.Answer(f, []convert.Answer{{Text: "yes"}}, "me"))
		full := errors.New("disk full")
		require.ErrorIs(t, take(s, other, func() error { return full }), full)
		require.FileExists(t, f.Path)

		a := s.Asker("a test")
		f = acptest.Must(a.Claim(other, again))
		another := s.Asker("another test")
		require.ErrorIs(t, another.Deliver(f, func() error { panic("used") }), life.ErrTaken, "to have seen it is not to have it")
		another.Close()
		var used atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := a.Deliver(f, func() error {
					used.Add(1)
					require.ErrorIs(t, take(s, other, func() error { panic("used") }), pending.ErrNotFound, "its asker lives")
					require.ErrorIs(t, a.Deliver(f, func() error { panic("used") }), life.ErrTaken)
					require.ErrorIs(t, s.Answer(f, []convert.Answer{{Text: "no"}}, "late"), desk.ErrSettled)
					return nil
				})
				if err != nil && !errors.Is(err, life.ErrTaken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, used.Load())
		require.ErrorIs(t, s.Answer(f, []convert.Answer{{Text: "no"}}, "late"), pending.ErrGone)
		require.NoFileExists(t, f.Path)
		a.Close()
		require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
	}
}

// Rule 6: what a person has removed is not handed over, and what is removed while
// it is used is not handed over twice.
func TestRule6Removed(t *testing.T) {
	s := newStore(t)
	a := s.Asker("a test")
	defer a.Close()
	f := acptest.Must(a.Post(other, again))
	require.NoError(t, s.Answer(f, []convert.Answer{{Text: "yes"}}, "me"))
	require.NoError(t, a.Deliver(f, func() error { return s.Remove(f) }))
	require.ErrorIs(t, a.Deliver(f, func() error { panic("used") }), pending.ErrGone)
	require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
}

func TestBadAnswers(t *testing.T) {
	for _, tc := range []struct{ old, new, want string }{
		{`"answer": null`, `"answer": true`, "an answer cannot be used: question 1: wrong type: answer must be"},
		{`"answer": null`, `"answer": 9`, "an answer cannot be used: question 1: the answer does not fit: there is no option 9"},
		{`"answer": null`, `"answer": ["SQLite", "MongoDB"]`, "takes one answer, got 2"},
		{`"question": "Which features?"`, `"question": "Which?"`, `an answer cannot be used: question 2 is not the one that was asked: "Which?"`},
	} {
		s := newStore(t)
		f := acptest.Must(post(s, service))
		edit(t, f.Path, tc.old, tc.new)
		before := read(t, f.Path)
		_, err := find(s, service)
		require.ErrorIs(t, err, pending.ErrAnswer)
		require.ErrorContains(t, err, f.Path+": ")
		require.ErrorContains(t, err, tc.want)
		require.ErrorIs(t, acptest.Err(find(s, service)), pending.ErrAnswer, "it is not asked a second time")
		require.Equal(t, before, read(t, f.Path))
	}
}

// A damaged file stays, whosever it was.
func TestDamaged(t *testing.T) {
	s := newStore(t)
	f := acptest.Must(post(s, service))
	edit(t, f.Path, `"answer": null`, `"answer": "SQLite",`)
	before := read(t, f.Path)

	_, err := find(s, service)
	require.ErrorIs(t, err, pending.ErrDamaged)
	require.ErrorContains(t, err, f.Path+" is damaged: line 20: ")

	var reports []string
	s.Report = func(err error) { reports = append(reports, err.Error()) }
	require.ErrorIs(t, acptest.Err(find(s, other)), pending.ErrNotFound)
	second := acptest.Must(post(s, other))
	require.Equal(t, path(s, "pending-questions-"+second.ID+".json"), second.Path)
	require.Len(t, reports, 1)
	require.Contains(t, reports[0], f.Path+" is damaged")
	require.Equal(t, before, read(t, f.Path))

	for _, content := range []string{"", "[]", "{}", `{"questions":[]}`, `{"questions":"[{\"question\":\"a\"}]"}`,
		`{"sessionId":7,"questions":[{"question":"a"}]}`, `{"questions":[{"question":7}]}`} {
		require.NoError(t, os.WriteFile(f.Path, []byte(content), 0o600))
		all := acptest.Must(s.List())
		require.Len(t, all, 2)
		require.ErrorIs(t, all[0].Err, pending.ErrDamaged, content)
		require.Equal(t, content, read(t, f.Path))
	}
	require.NoError(t, s.Remove(acptest.Must(s.Open(f.Path))), "by name it can be removed")
	require.NoFileExists(t, f.Path)
}

// Answer keeps what is not its own, down to the white space.
func TestAnswer(t *testing.T) {
	s := newStore(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, pending.Folder), 0o755))
	name := path(s, "pending-questions.json")
	const before = `{"mine": {"a" : 1},
	"questions": [ {"answer": 7, "question": "One?", "x": [null], "answer": null},
		{"question": "Two?", "options": ["a", "1"], "multiSelect": true },{"question":"Three?"}], "z": "answer"}`
	require.NoError(t, os.WriteFile(name, []byte(before), 0o644))
	f := acptest.Must(s.Open(""))
	require.NoError(t, f.Err)
	answers := []convert.Answer{{Text: "uno"}, {Selected: []string{"a"}, Text: "1"}, {Text: "tres", Note: "n"}}
	require.NoError(t, s.Answer(f, answers, "me"))
	require.Equal(t, `{"mine": {"a" : 1},
	"questions": [ {"answer": 7, "question": "One?", "x": [null], "answer": "uno"},
		{"answer": {"selected":["a"],"text":"1"}, "question": "Two?", "options": ["a", "1"], "multiSelect": true },{"answer": {"text":"tres","note":"n"}, "question":"Three?"}], "z": "answer"}`, read(t, name))
	f = acptest.Must(s.Open(name))
	require.Equal(t, answers, f.Answers)

	require.Error(t, s.Answer(f, answers[:1], "me"))
	require.NoError(t, os.WriteFile(name, []byte(`{"questions":[{"question":"Else?"}]}`), 0o644))
	require.ErrorIs(t, s.Answer(f, answers, "me"), pending.ErrGone)
	require.NoError(t, s.Remove(f))
	require.FileExists(t, name, "it holds other questions now")
	require.NoError(t, os.Remove(name))
	require.ErrorIs(t, s.Answer(f, answers, "me"), pending.ErrGone)
	require.NoFileExists(t, name, "what was removed does not come back")
}

func TestOpen(t *testing.T) {
	s := newStore(t)
	all := acptest.Must(s.List())
	require.Empty(t, all)
	require.EqualError(t, acptest.Err(s.Open("")), "no open questions")
	require.NoDirExists(t, filepath.Join(s.Dir, pending.Folder), "looking makes nothing")

	first := acptest.Must(post(s, service))
	f := acptest.Must(s.Open(""))
	require.Equal(t, first, f, "all of the questions is in the file")
	second := acptest.Must(post(s, other))
	_, err := s.Open("")
	require.ErrorIs(t, err, pending.ErrAmbiguous)
	require.ErrorContains(t, err, first.ID)
	_, err = s.Open(second.ID[:7])
	require.ErrorIs(t, err, pending.ErrNotFound, "it may be how another begins")
	f = acptest.Must(s.Open(second.ID[:8]))
	require.Equal(t, other.Questions, f.Questions)
	var others []string // no file of ours, and it may be changed or removed
	for _, name := range []string{"package.json", "pending-questions.txt"} {
		others = append(others, filepath.Join(filepath.Dir(first.Path), name))
		require.NoError(t, os.WriteFile(others[len(others)-1], []byte("{}"), 0o600))
	}
	all = acptest.Must(s.List())
	require.Len(t, all, 2)
	for _, name := range append(others, "0z", "no.json", "/no/such/file") {
		_, err = s.Open(name)
		require.ErrorIs(t, err, pending.ErrNotFound)
		require.ErrorContains(t, err, fmt.Sprintf("%q", name))
	}
}

// A number is the place of an option as the person saw it: in a file whose options were
// put into another order, or described in another way, it is no answer.
func TestReordered(t *testing.T) {
	for _, swap := range [][]string{{`"No"`, `"Yes"`, `"Yes"`, `"No"`}, {"keeps it", "removes it", "removes it", "keeps it"}, {`"removes it"`, `""`}} {
		s := newStore(t)
		f := acptest.Must(post(s, convert.Call{ID: "r", Questions: []convert.Question{{Text: "Delete it?", Options: []convert.Option{{Label: "No", Description: "keeps it"}, {Label: "Yes", Description: "removes it"}}}}}))
		text := strings.NewReplacer(append(swap, `"answer": null`, `"answer": 1`)...).Replace(read(t, f.Path))
		require.NoError(t, os.WriteFile(f.Path, []byte(text), 0o600))
		f = acptest.Must(s.Open(f.ID))
		require.ErrorContains(t, f.Err, "the options of question 1 are not those that were asked, in that order")
		require.Empty(t, f.Answers)
	}
}

// Nothing is written outside the folder, whatever links there are.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "target")
	require.NoError(t, os.WriteFile(target, []byte("precious"), 0o600))

	s := newStore(t)
	if err := os.Symlink(outside, filepath.Join(s.Dir, pending.Folder)); err != nil {
		t.Skip("SKIPPED: no links here:", err)
	}
	require.ErrorContains(t, acptest.Err(post(s, service)), pending.Folder+" cannot be used")

	s = newStore(t)
	s.Report = nil
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, pending.Folder), 0o700))
	require.NoError(t, os.Symlink(target, path(s, "pending-questions.json")))
	f := acptest.Must(post(s, service))
	require.NotEqual(t, path(s, "pending-questions.json"), f.Path)
	all := acptest.Must(s.List())
	require.Len(t, all, 2)
	require.ErrorIs(t, all[0].Err, pending.ErrDamaged)

	posted := path(s, filepath.Base(f.Path))
	require.NoError(t, os.Rename(posted, posted+"~"))
	require.NoError(t, os.Symlink(filepath.Base(posted)+"~", posted))
	edit(t, posted, `"answer": null`, `"answer": 1`, `"answer": null`, `"answer": 1`, `"answer": null`, `"answer": "x"`)
	f, err := find(s, service)
	require.ErrorIs(t, err, pending.ErrNotFound, "one that is a link is not read: %v", f)

	require.Len(t, acptest.Must(os.ReadDir(outside)), 1)
	require.Equal(t, "precious", read(t, target))
}

// Programs that post, answer and clear at once do not lose a question.
func TestManyPrograms(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	const programs = 6
	var cmds []*exec.Cmd
	said := make([]strings.Builder, programs)
	for n := range programs {
		cmd := exec.Command(os.Args[0])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=program %d", asPoster, n), "XDG_STATE_HOME="+state)
		cmd.Stderr = &said[n]
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for n, cmd := range cmds { // all of them, before their folders go
		if err := cmd.Wait(); err != nil {
			t.Errorf("program %d: %v: %s", n, err, &said[n])
		}
	}
	store := &pending.Store{Dir: dir, State: filepath.Join(state, "acp-bridge")}
	all := acptest.Must(store.List())
	got := map[string]string{}
	sharedFiles := 0
	for _, f := range all {
		require.NoError(t, f.Err)
		require.NoError(t, f.Foreign)
		if f.Questions[0].Text == shared.Questions[0].Text {
			sharedFiles++
			continue
		}
		require.True(t, f.Answered())
		got[f.Questions[0].Text] = f.Answers[0].Text
	}
	want := map[string]string{}
	for n := range programs {
		for i := range perPoster {
			if who := fmt.Sprintf("program %d", n); i%4 != 3 {
				want[fmt.Sprintf("%s asks %d", who, i)] = who
			}
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, programs, sharedFiles, "each asks for itself")
}

// A file is replaced at once: whoever reads it finds the old content or the
// new, and nobody else can read it.
func TestFileIsAlwaysWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := acptest.Must(post(s, service))
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 60 && err == nil; i++ {
			long := convert.Answer{Text: strings.Repeat("x", i*400+1)} // up to some pages
			now, openErr := s.Open(f.Path)
			if err = openErr; err == nil {
				err = s.Answer(now, []convert.Answer{{Text: "y"}, {}, long}, "me") // one is left open
			}
		}
		done <- err
	}()
	for reads := 0; ; reads++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			require.NotZero(t, reads)
			return
		default:
		}
		require.True(t, json.Valid([]byte(read(t, f.Path))), "half a file")
		if info, err := os.Stat(f.Path); runtime.GOOS != "windows" {
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		}
	}
}
