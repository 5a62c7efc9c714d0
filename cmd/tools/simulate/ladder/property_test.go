// Package ladder_test plays clients of all kinds, and their users, against the ladder.
package ladder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// act is what a random client does with one request.
type act struct {
	Do    string
	After time.Duration // of a person
	Twice bool          // the reply is sent again, and another one behind it
}

// What acts there are. All but the first few are nothing that a user did.
var acts = []string{
	"answer", "answer", "answer in one go", "dismiss", "decline",
	"never reply", "automatic first", "automatic last", "automatic cancel",
	"no id", "unknown id", "error", "null", "garbage", "empty",
}

// plan is a random client with its user, drawn as a whole beforehand.
type plan struct {
	Asks    convert.Call
	Wishes  []convert.Answer // what the user wants to say
	Options adapter.Options
	Talks   bool // the client has a conversation
	Acts    []act
	// Ends says what happens to the whole after a while.
	Ends  string
	After time.Duration
}

var (
	oddLabels = []string{"PostgreSQL", "SQLite", "a, b", `say "x"`, "__other__", "__done__", "__option_1__", "Other", "cancel", "done", "Ünïcode", "日本語"}
	ownWords  = []string{"own words", "4 of them, please", "/compact", "ich weiß nicht", "-1", "7", "2-9"}
)

func drawPlan(t *rapid.T) plan {
	millis := func(from, to int, name string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Millisecond
	}
	p := plan{Asks: convert.Call{Session: "s", ID: "q", Name: "AskUserQuestion"}}
	for i := range rapid.IntRange(1, 3).Draw(t, "questions") {
		q := convert.Question{Text: fmt.Sprintf("Question %c?", 'A'+i), Header: "H", MultiSelect: rapid.Bool().Draw(t, "multi")}
		for _, l := range rapid.SliceOfNDistinct(rapid.SampledFrom(oddLabels), 2, 4, rapid.ID[string]).Draw(t, "labels") {
			q.Options = append(q.Options, convert.Option{Label: l})
		}
		p.Asks.Questions = append(p.Asks.Questions, q)
		p.Wishes = append(p.Wishes, drawWish(t, q))
	}
	p.Options = adapter.Options{
		Forms: rapid.Bool().Draw(t, "forms"), Guard: rapid.Bool().Draw(t, "guard"),
		Aware: rapid.Bool().Draw(t, "aware"), Unseen: rapid.IntRange(0, 9).Draw(t, "unseen") == 0,
		First: adapter.Rung(rapid.IntRange(0, 3).Draw(t, "first")),
	}
	p.Talks = rapid.IntRange(0, 3).Draw(t, "talks") > 0
	for range rapid.IntRange(0, 8).Draw(t, "acts") {
		p.Acts = append(p.Acts, act{
			Do:    rapid.SampledFrom(acts).Draw(t, "do"),
			After: millis(int(seen.Person/time.Millisecond), 2000, "after"),
			Twice: rapid.IntRange(0, 3).Draw(t, "twice") == 0,
		})
	}
	p.Ends = rapid.SampledFrom([]string{"", "", "cancel", "disconnect", "from code"}).Draw(t, "ends")
	p.After = millis(0, 5000, "ends after")
	return p
}

func drawWish(t *rapid.T, q convert.Question) (wish convert.Answer) {
	if rapid.IntRange(0, 3).Draw(t, "words") == 0 {
		return convert.Answer{Text: rapid.SampledFrom(ownWords).Draw(t, "text")}
	}
	n := 1
	if q.MultiSelect {
		n = rapid.IntRange(1, len(q.Options)).Draw(t, "picks")
	}
	positions := make([]int, len(q.Options))
	for i := range positions {
		positions[i] = i
	}
	picks := rapid.Permutation(positions).Draw(t, "wish")[:n]
	slices.Sort(picks)
	for _, i := range picks {
		wish.Selected = append(wish.Selected, q.Options[i].Label)
	}
	return wish
}

// Whatever a client does: no answer reaches the agent that its user did not
// give, nothing is blamed on the user that they did not do, and every call
// ends.
func TestNoAnswerIsMadeUp(t *testing.T) {
	ends := map[string]int{}
	check := func(rt *rapid.T) {
		p := drawPlan(rt)
		var seen played
		synctest.Test(t, func(t *testing.T) { seen = p.play(t) })
		if problem := p.judge(seen); problem != "" {
			rt.Fatalf("%s\noutcome: %+v\nwishes: %+v\nhistory:\n%s", problem, seen.outcome, p.Wishes, strings.Join(seen.history, "\n"))
		}
		ends[seen.outcome.Status.String()]++
	}
	for range 10 { // a plan is cheap
		rapid.Check(t, check)
	}
	t.Log(ends)
}

// judge says what is wrong with how a call ended.
func (p plan) judge(seen played) string {
	switch seen.outcome.Status {
	case convert.Answered:
		for i, a := range seen.outcome.Answers {
			switch {
			case !seen.given[i]:
				return fmt.Sprintf("question %d was answered, but not by the user", i+1)
			case fmt.Sprint(a) != fmt.Sprint(seen.said[i]):
				return fmt.Sprintf("question %d: the user said %+v", i+1, seen.said[i])
			}
		}
	case convert.Cancelled:
		if !seen.dismissed && seen.ended != "from code" {
			return "nobody cancelled"
		}
	case convert.Withdrawn:
		if seen.ended != "cancel" {
			return "nobody withdrew it"
		}
	case convert.Declined:
		if !seen.declined {
			return "nobody declined"
		}
	case convert.Disconnected:
		if seen.ended != "disconnect" {
			return "nobody disconnected"
		}
	case convert.Failed:
		if p.Talks {
			return "the user could have been asked in the conversation"
		}
		if strings.Contains(seen.outcome.Reason, conn.ErrClosed.Error()) {
			return "a disconnect is no failure"
		}
	default:
		return "the call has no outcome"
	}
	return ""
}

// played is what happened.
type played struct {
	outcome   convert.Outcome
	said      []convert.Answer // what the user said in the end
	given     []bool
	dismissed bool
	declined  bool
	ended     string
	history   []string
}
