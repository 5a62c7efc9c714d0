package hub_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Lives are drawn: processes that come and go in one session, whose agents count their
// questions from 0 again and again and have few words, users who prompt, people who answer
// with a word that is said once, hubs that are started anew. No agent ever gets a word that
// was said to something else than what it asks: to another question, or to the same one
// before the user's last prompt, of which the hub hears nothing. None gets it twice. And what
// a process was killed with has the record of before where its successor asks it again.
func TestGeneratedLives(t *testing.T) {
	t.Parallel()
	var store *hubstore.Store
	sessions := 0
	parent := t
	rapid.Check(t, func(t *rapid.T) {
		if sessions++; sessions%3 == 1 { // a hub that starts reads all that was left before
			store = acptest.Must(hubstore.Open(parent.Context(), hubstore.Options{Dir: parent.TempDir()}))
			parent.Cleanup(store.Close)
		}
		l := &lives{T: t, store: store, session: fmt.Sprint("session", sessions), said: map[string]*hub.Record{}, epochs: map[string]int{}}
		l.start()
		defer func() { l.board.Close() }()
		t.Repeat(map[string]func(*rapid.T){"ask": l.ask, "again": l.again, "answer": l.answer, "kill": l.kill, "prompt": l.prompt, "restart": l.restart})
	})
}

// lives are the processes of one session at a board. What they ask is asked one after
// another: the session has one user.
type lives struct {
	*rapid.T
	store   *hubstore.Store
	session string
	board   *hub.Board
	process int // the one that is there
	ids     int // of the agent, counted anew by each process
	names   int
	epoch   int            // what was asked since the user's last prompt
	epochs  map[string]int // of records, by key
	open    *asked
	left    *asked                 // what a process was killed with, if the user has not prompted since
	said    map[string]*hub.Record // by the word
	words   int
}

// asked is what the process asks now.
type asked struct {
	hub.Asking
	epoch int
	key   string // of its record
}

func (l *lives) start() {
	l.board = acptest.Must(hub.Open(context.Background(), l.store, hub.Options{Lease: 20 * time.Millisecond}))
}

func (l *lives) restart(*rapid.T) {
	l.board.Close()
	l.start()
}

// ask has the agent ask something, under the next of its ids, if it is not asking.
func (l *lives) ask(t *rapid.T) {
	if l.open != nil {
		t.Skip("it is asking")
	}
	l.names++
	a := asking(l.session, fmt.Sprint("ask:", l.ids), rapid.SampledFrom([]string{"Deploy?", "Go on?"}).Draw(t, "text"))
	l.open = &asked{Asking: a, epoch: l.epoch}
	if l.open.Again = l.left != nil && rapid.Bool().Draw(t, "again"); l.open.Again {
		l.open, l.left = l.left, nil
	} else {
		l.left = nil // its history goes on
		l.ids++
	}
	l.open.Name, l.open.Asker = fmt.Sprint("name", l.names), fmt.Sprint("p", l.process)
	l.again(t)
}

// again has the process make its request again, and use what it gets.
func (l *lives) again(t *rapid.T) {
	if l.open == nil {
		t.Skip("it is not asking")
	}
	r := acptest.Must(l.board.Ask(context.Background(), l.open.Asking))
	if _, known := l.epochs[r.Key()]; !known {
		l.epochs[r.Key()] = l.open.epoch
	}
	require.Equal(t, l.epochs[r.Key()], l.open.epoch, "the user has prompted since that was asked")
	require.Contains(t, []string{"", r.Key()}, l.open.key)
	l.open.key = r.Key()
	if r.Open() {
		return
	}
	ref := r.Ref()
	ref.Asker = l.open.Asker
	require.True(t, acptest.Must(l.board.Take(context.Background(), r, ref)))
	word := r.End.Answers[0].Text
	require.NotNil(t, l.said[word], "it was used before")
	require.Equal(t, l.open.Call.Questions[0].Text, l.said[word].Call.Questions[0].Text)
	require.Equal(t, r.Key(), l.said[word].Key())
	acptest.Must(l.board.Consumed(context.Background(), ref))
	delete(l.said, word)
	l.open = nil
}

// answer has a person answer one of the cards.
func (l *lives) answer(t *rapid.T) {
	all, _ := l.board.Waiting(math.MaxInt)
	cards := slices.DeleteFunc(all, func(r *hub.Record) bool { return r.Conversation != l.session })
	if len(cards) == 0 {
		t.Skip("nothing is open")
	}
	r := cards[rapid.IntRange(0, len(cards)-1).Draw(t, "card")]
	l.words++
	word := fmt.Sprint("word", l.words)
	l.said[word] = r
	acptest.Must(l.board.Answer(context.Background(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Text: word}}, nil
	}, "phone"))
}

// kill ends the process; the next one resumes the session.
func (l *lives) kill(*rapid.T) {
	if l.open != nil {
		l.left = l.open
		l.left.Again = true
	}
	l.open, l.ids = nil, 0
	l.process++
}

// prompt has the user prompt the agent: what it asks ends with its turn, of which the hub
// may not hear.
func (l *lives) prompt(t *rapid.T) {
	l.epoch, l.left = l.epoch+1, nil
	if l.open == nil || rapid.Bool().Draw(t, "unheard") {
		l.open = nil
		return
	}
	ref := hub.Ref{Conversation: l.session, ID: l.open.Name, Asker: l.open.Asker}
	if _, err := l.board.TakeBack(context.Background(), ref, convert.Outcome{Status: convert.Cancelled}, ""); err != nil {
		require.ErrorIs(t, err, hub.ErrSettled)
	}
	l.open = nil
}
