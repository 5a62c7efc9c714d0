package life_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

var (
	states = []life.State{life.Asked, life.Shown, life.Settled, life.Taken, life.Used, life.Withdrawn}
	events = []life.Event{life.Show, life.Settle, life.Take, life.Use, life.TakeOver, life.Withdraw}
)

// table reads the table of transitions out of the package comment.
func table(t *testing.T) (cells map[string]map[string]string) {
	f := acptest.Must(parser.ParseFile(token.NewFileSet(), "life.go", nil, parser.ParseComments|parser.PackageClauseOnly))
	var head []string
	cells = map[string]map[string]string{}
	for line := range strings.Lines(f.Doc.Text()) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case len(row) < 3 || strings.HasPrefix(row[0], "-"):
		case head == nil:
			head = row
		default:
			cells[row[0]] = map[string]string{}
			for i, cell := range row[1:] {
				cells[row[0]][head[i+1]] = cell
			}
		}
	}
	return cells
}

// The table in the package comment and the code say the same: every cell is what
// Step does, and there is no state and no event that the table lacks.
func TestTableOfTransitions(t *testing.T) {
	refused := map[string]error{"[not yet]": life.ErrNotYet, "[settled]": life.ErrSettled, "[taken]": life.ErrTaken, "[gone]": life.ErrGone}
	cells := table(t)
	require.Len(t, cells, len(states))
	for _, s := range states {
		require.Len(t, cells[s.String()], len(events), s)
		for _, e := range events {
			cell := cells[s.String()][e.String()]
			next, err := s.Step(e)
			if want, ok := refused[cell]; ok {
				require.ErrorIs(t, err, want, "%v: %v", s, e)
				require.Equal(t, s, next, "%v: %v", s, e)
				continue
			}
			require.NoError(t, err, "%v: %v", s, e)
			require.Equal(t, cell, next.String(), "%v: %v", s, e)
		}
	}
	require.Error(t, acptest.Err(life.Asked.Step(life.Withdraw+1)))
	require.Error(t, acptest.Err((life.Withdrawn + 1).Step(life.Show)))
}

// Whatever happens in whatever order: one reply at most stands, nobody takes what
// nobody said, nothing is used twice, and an end is an end.
func TestLifeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s life.State
		var settled, used int
		for _, e := range rapid.SliceOf(rapid.SampledFrom(events)).Draw(t, "events") {
			before := s
			next, err := s.Step(e)
			s = next
			if err != nil {
				require.Equal(t, before, next)
				continue
			}
			switch e {
			case life.Settle:
				settled++
				require.True(t, before.Open())
			case life.Take:
				require.Equal(t, 1, settled)
			case life.Use:
				used++
				require.Equal(t, life.Taken, before)
			}
			require.NotContains(t, []life.State{life.Used, life.Withdrawn}, before, "%v after the end", e)
		}
		require.LessOrEqual(t, settled, 1)
		require.LessOrEqual(t, used, 1)
		require.Equal(t, s == life.Used, used == 1)
	})
}

// Names are made of nothing.
func TestRule1NamesAreMinted(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		name := life.Mint()
		require.GreaterOrEqual(t, len(name), 26)
		require.False(t, seen[name])
		seen[name] = true
	}
}

// What belongs to a turn ends with it, also an answer that nobody has fetched.
// What the asker has stays its own.
func TestRule4TurnsEndWhatIsTheirs(t *testing.T) {
	for _, s := range []life.State{life.Asked, life.Shown, life.Settled} {
		ended := acptest.Must(s.Step(life.Withdraw))
		for _, e := range events {
			require.ErrorIs(t, acptest.Err(ended.Step(e)), life.ErrGone, "%v: %v", s, e)
		}
	}
	for _, s := range []life.State{life.Taken, life.Used} {
		require.ErrorIs(t, acptest.Err(s.Step(life.Withdraw)), life.ErrTaken)
	}
}

func words(texts ...string) life.Words {
	w := life.Words{Kind: "question"}
	for _, text := range texts {
		w.Questions = append(w.Questions, convert.Question{Text: text, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}})
	}
	return w
}

func TestRule5Claim(t *testing.T) {
	left := life.Left{Session: "s1", ID: "a", Gone: true, Words: words("Which?", "Why?")}
	by := life.Claimant{Session: "s1", ID: "a", Again: true, Words: words("Which?", "Why?")}
	for name, c := range map[string]struct {
		change func(*life.Claimant, *life.Left)
		want   int
	}{
		"left by a predecessor":   {func(*life.Claimant, *life.Left) {}, 0},
		"shown":                   {func(_ *life.Claimant, l *life.Left) { l.State = life.Shown }, 0},
		"answered":                {func(_ *life.Claimant, l *life.Left) { l.State = life.Settled }, 0},
		"taken and not used":      {func(_ *life.Claimant, l *life.Left) { l.State = life.Taken }, 0},
		"used":                    {func(_ *life.Claimant, l *life.Left) { l.State = life.Used }, -1},
		"withdrawn":               {func(_ *life.Claimant, l *life.Left) { l.State = life.Withdrawn }, -1},
		"its asker is there":      {func(_ *life.Claimant, l *life.Left) { l.Gone = false }, -1},
		"another session":         {func(_ *life.Claimant, l *life.Left) { l.Session = "s2" }, -1},
		"no session":              {func(c *life.Claimant, l *life.Left) { c.Session, l.Session = "", "" }, -1},
		"the agent's own asking":  {func(c *life.Claimant, _ *life.Left) { c.Again = false }, -1},
		"another id":              {func(c *life.Claimant, _ *life.Left) { c.ID = "b" }, -1},
		"that of a file":          {func(c *life.Claimant, _ *life.Left) { c.ID = "" }, 0},
		"other words":             {func(c *life.Claimant, _ *life.Left) { c.Words = words("Which?", "Who?") }, -1},
		"another order":           {func(c *life.Claimant, _ *life.Left) { c.Words = words("Why?", "Which?") }, -1},
		"fewer":                   {func(c *life.Claimant, _ *life.Left) { c.Words = words("Which?") }, -1},
		"another kind":            {func(c *life.Claimant, _ *life.Left) { c.Kind = "form" }, -1},
		"another server":          {func(c *life.Claimant, _ *life.Left) { c.Server = "db" }, -1},
		"for something else":      {func(c *life.Claimant, _ *life.Left) { c.Detail = "rm" }, -1},
		"other options":           {func(c *life.Claimant, _ *life.Left) { c.Questions[1].Options[0].Description = "sure" }, -1},
		"permission, another id":  {func(c *life.Claimant, l *life.Left) { c.Kind, l.Kind, c.ID = "permission", "permission", "b" }, -1},
		"permission, the same id": {func(c *life.Claimant, l *life.Left) { c.Kind, l.Kind = "permission", "permission" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := left, by
			b.Words = words("Which?", "Why?")
			c.change(&b, &l)
			require.Equal(t, c.want, life.Claim(b, []life.Left{l}))
		})
	}
	first, second, file := left, left, by
	file.ID = ""
	two := []life.Left{first, second}
	require.Equal(t, 1, life.Claim(by, two), "the last of an id")
	require.Equal(t, 0, life.Claim(file, two), "the first of those that ask the same")
	two[1].Gone = false
	require.Equal(t, -1, life.Claim(by, two), "an id was given again")
	two[1].ID = "b"
	require.Equal(t, 0, life.Claim(by, two))
	two[0].Gone, two[1].Gone = false, true // taken over
	require.Equal(t, 1, life.Claim(file, two))
}

// kept is an owner in memory.
type kept struct {
	state life.State
	held  bool
	full  error
}

func (k *kept) Hold() (func(), error) {
	if k.held {
		return nil, life.ErrTaken
	}
	if _, err := k.state.Step(life.Take); err != nil {
		return nil, err
	}
	k.held = true
	return func() { k.held = false }, nil
}

func (k *kept) Keep(e life.Event) (err error) {
	if k.full != nil {
		return k.full
	}
	k.state, err = k.state.Step(e)
	return err
}

func TestRule6Deliver(t *testing.T) {
	none := func() error { return errors.New("called") }
	for _, s := range []life.State{life.Asked, life.Shown, life.Taken, life.Used, life.Withdrawn} {
		k := &kept{state: s}
		require.NotContains(t, life.Deliver(k, none).Error(), "called", "%v is not handed over", s)
		require.Equal(t, s, k.state)
	}
	k := &kept{state: life.Settled}
	broken := errors.New("broken pipe")
	require.ErrorIs(t, life.Deliver(k, func() error { return broken }), broken)
	require.Equal(t, life.Settled, k.state, "it is there as before")
	require.Panics(t, func() { _ = life.Deliver(k, func() error { panic("use") }) })
	require.False(t, k.held)
	require.NoError(t, life.Deliver(k, func() error {
		require.Equal(t, life.Settled, k.state, "to look is not to take")
		require.ErrorIs(t, life.Deliver(k, none), life.ErrTaken, "nobody else takes it meanwhile")
		return nil
	}))
	require.Equal(t, life.Taken, k.state)
	require.ErrorIs(t, life.Deliver(k, none), life.ErrTaken)
	k = &kept{state: life.Settled, full: errors.New("disk full")}
	err := life.Deliver(k, func() error { return nil })
	require.ErrorIs(t, err, life.ErrNotKept)
	require.ErrorIs(t, err, k.full)
}

func TestRule7OnlyAPersonSettles(t *testing.T) {
	for _, status := range []convert.Status{convert.Answered, convert.Declined, convert.Cancelled} {
		require.Equal(t, life.Settle, life.Ends(status))
	}
	for _, status := range []convert.Status{0, convert.Failed, convert.Disconnected, convert.Withdrawn} {
		require.Equal(t, life.Withdraw, life.Ends(status))
	}
}

// A status is read as it was written, also by a version that had no word for what was
// withdrawn: that was cancelled by nobody.
func TestRule7StatusAsItIsKept(t *testing.T) {
	for _, row := range []struct {
		word, by string
		want     convert.Status
	}{
		{"answered", "Ann", convert.Answered},
		{"answered", "", convert.Answered},
		{"declined", "Ann", convert.Declined},
		{"declined", "", convert.Withdrawn},
		{"cancelled", "Ann", convert.Cancelled},
		{"cancelled", "", convert.Withdrawn},
		{"disconnected", "", convert.Disconnected},
		{"failed", "", convert.Failed},
		{"withdrawn", "", convert.Withdrawn},
	} {
		got, ok := life.StatusOf(row.word, row.by)
		require.True(t, ok, row)
		require.Equal(t, row.want, got, row)
	}
	for s := convert.Answered; s <= convert.Withdrawn; s++ {
		got, ok := life.StatusOf(s.String(), "Ann")
		require.True(t, ok)
		require.Equal(t, s, got, "what is written is read")
	}
	for _, word := range []string{"", "unknown", "Cancelled"} {
		_, ok := life.StatusOf(word, "Ann")
		require.False(t, ok, word)
	}
}

// Names that the next process gives again are no session's own.
func TestRule1NamesThatLast(t *testing.T) {
	for _, name := range []string{"", ".", "..", "s", "1", "s1", "session-17", "main", "session_000001", "default", "turn-1-call-2", "1.2", "call:1", "s1/17"} {
		require.False(t, life.Lasting(name), name)
	}
	for _, name := range []string{"0b9c7a3e-6d1f-4f50-9a51-2a9d5c1b7e10", "20261116-1312", "session-1234567", "ses_4f9aB2c", "s1 of build", "aaaaaaaaaaaaaaaa", "my-project-session"} {
		require.True(t, life.Lasting(name), name)
	}
}

// Only what a person was shown is told as what they cancelled.
func TestRule7OnlyWhatWasShownIsCancelled(t *testing.T) {
	cancelled := fmt.Errorf("the turn was cancelled: %w", convert.ErrCancelled)
	o, ok := life.Outcome(cancelled)
	require.True(t, ok)
	require.Equal(t, convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, o)
	for want, why := range map[string]error{
		"Withdrawn: " + cancelled.Error(): life.Along{With: cancelled},
		life.WithAnother.Reason:           life.Along{With: life.ErrWithAnother},
		"The question was withdrawn":      context.Canceled,
	} {
		o, ok := life.Outcome(why)
		require.True(t, ok)
		require.Equal(t, convert.Outcome{Status: convert.Withdrawn, Reason: want}, o)
	}
	for _, why := range []error{nil, life.ErrGone, convert.ErrDisconnected, fmt.Errorf("writing: %w", context.Canceled)} {
		_, ok := life.Outcome(why)
		require.False(t, ok, why)
	}
}
