package seen_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const almost = time.Millisecond

// Rule 3 of the house: a reply counts only if the person can have seen what it
// answers.
func TestRule3Seen(t *testing.T) {
	for name, tc := range map[string]struct {
		reply seen.Reply
		want  seen.Verdict
	}{
		"a pick without evidence":              {seen.Reply{Kind: seen.Pick, After: time.Hour}, seen.Early},
		"a prompt without evidence":            {seen.Reply{Kind: seen.Prompt, After: time.Hour}, seen.Early},
		"a key without evidence":               {seen.Reply{Kind: seen.Key, After: time.Hour}, seen.Early},
		"own words name what they answer":      {seen.Reply{Kind: seen.Words}, seen.Counts},
		"a pick at once":                       {seen.Reply{Kind: seen.Pick, Evidence: seen.Answered}, seen.Early},
		"a pick almost too early":              {seen.Reply{Kind: seen.Pick, Evidence: seen.Answered, After: seen.Person - almost}, seen.Early},
		"a pick by hand":                       {seen.Reply{Kind: seen.Pick, Evidence: seen.Answered, After: seen.Person}, seen.Counts},
		"a pick, only sent":                    {seen.Reply{Kind: seen.Pick, Evidence: seen.Sent, After: seen.Person}, seen.Counts},
		"a pick out of the pipe":               {seen.Reply{Kind: seen.Pick, Evidence: seen.Taken, After: seen.Strict - almost}, seen.Early},
		"a pick out of the pipe, late":         {seen.Reply{Kind: seen.Pick, Evidence: seen.Taken, After: seen.Strict}, seen.Counts},
		"a late pick, the peer may answer":     {seen.Reply{Kind: seen.Pick, Evidence: seen.Taken, After: seen.Strict, Open: true}, seen.Unsure},
		"a late pick, the peer answers":        {seen.Reply{Kind: seen.Pick, Evidence: seen.Taken, After: time.Hour, Open: true, Answers: true}, seen.Early},
		"a prompt at once":                     {seen.Reply{Kind: seen.Prompt, Evidence: seen.Answered}, seen.Early},
		"a prompt by hand":                     {seen.Reply{Kind: seen.Prompt, Evidence: seen.Answered, After: seen.Person}, seen.Counts},
		"a prompt while it is in a buffer":     {seen.Reply{Kind: seen.Prompt, Evidence: seen.Taken, After: seen.Person}, seen.Early},
		"a prompt of a mute peer":              {seen.Reply{Kind: seen.Prompt, Evidence: seen.Taken, After: seen.Strict}, seen.Counts},
		"a key at once":                        {seen.Reply{Kind: seen.Key, Evidence: seen.Drawn}, seen.Early},
		"a key that rested less than hands do": {seen.Reply{Kind: seen.Key, Evidence: seen.Drawn, After: seen.Hands - almost}, seen.Early},
		"a key after a rest":                   {seen.Reply{Kind: seen.Key, Evidence: seen.Drawn, After: seen.Hands}, seen.Counts},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, seen.Judge(tc.reply)) })
	}
}

// A peer that answers behind the pick had not come to the question before. One
// that answers nothing is asked no more.
func TestRule3Unsure(t *testing.T) {
	for name, tc := range map[string]struct {
		answers time.Duration // after the reply, 0 for never
		counts  bool
	}{
		"in order": {10 * time.Millisecond, false},
		"mute":     {0, true},
		"too late": {seen.Person + almost, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var peer seen.Peer
				s := seen.New(nil)
				s.Look().Found(seen.Taken)
				var heard func()
				peer.Ask(s.Look(), func(f func(bool)) { heard = func() { f(false) } })
				time.Sleep(2 * time.Second) // busy
				s.Replied(seen.Pick)
				if tc.answers > 0 {
					time.AfterFunc(tc.answers, heard)
				}
				require.Equal(t, tc.counts, s.Counts(t.Context()))
				asked := false
				peer.Ask(seen.New(nil).Look(), func(func(bool)) { asked = true })
				require.Equal(t, !tc.counts, asked, "asked again")
				time.Sleep(time.Second)
				peer.Ask(seen.New(nil).Look(), func(func(bool)) { asked = true })
				require.Equal(t, tc.answers > 0, asked, "a peer that answers late is not mute")
			})
		})
	}
}

// A peer that may tell its user of what it does not know is asked until it says that. Then
// a reply needs as long as with one that answers nothing.
func TestRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, once := range []bool{true, false} {
			var peer seen.Peer
			peer.Once.Store(once)
			ask := func(refused bool) (s *seen.Showing, asked bool) {
				s = seen.New(nil)
				peer.Ask(s.Look(), func(heard func(bool)) { asked = true; heard(refused) })
				return s, asked
			}
			for _, refused := range []bool{false, true} {
				s, asked := ask(refused)
				require.True(t, asked)
				require.Equal(t, seen.Answered, s.Evidence())
			}
			s, asked := ask(true)
			require.Equal(t, !once, asked)
			s.Look().Found(seen.Taken)
			time.Sleep(seen.Strict)
			s.Replied(seen.Prompt)
			require.True(t, s.Counts(t.Context()))
		}
	})
}

// What was known of a showing says nothing of the next one.
func TestRule2Anew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seen.New(nil)
		old := s.Look()
		old.Found(seen.Answered)
		time.Sleep(time.Second)
		s.Replied(seen.Prompt)
		require.True(t, s.Counts(t.Context()))
		s.Anew()
		old.Found(seen.Answered)
		time.Sleep(time.Second)
		s.Replied(seen.Prompt)
		require.False(t, s.Counts(t.Context()))
	})
}

// The first reply is judged when it comes, whoever asks later.
func TestRepliedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seen.New(nil)
		s.Replied(seen.Prompt)
		s.Look().Found(seen.Answered)
		time.Sleep(time.Second)
		s.Replied(seen.Prompt)
		require.False(t, s.Counts(t.Context()))
		var nobody *seen.Showing
		nobody.Replied(seen.Pick)
		require.True(t, nobody.Counts(t.Context()))
	})
}
