package watch

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// What the hub said to a dialog that has ended is told late. By then the agent may have
// asked something else under its id, which is not answered with it.
func TestLateAnswerToAnother(t *testing.T) {
	w := Start(hublink.Options{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Token: func() (string, error) { return "none", nil }})
	defer w.Close()
	answered := make(chan string, 2)
	ask := func(text string) desk.Entry {
		w.Ask(Dialog{
			Item: desk.Item{Kind: desk.Question, Call: convert.Call{Session: "s", ID: "1", Questions: []convert.Question{{Text: text}}}},
			Answer: func(_ context.Context, o convert.Outcome) error {
				answered <- text + " " + o.Answers[0].Text
				return nil
			},
		})
		return w.desk.List()[0]
	}
	tell := func(e desk.Entry, words string) {
		e.State, e.Outcome = desk.Settled, convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: words}}}
		w.changed(e)
	}
	first := ask("Red or blue?")
	w.End("s", "1", Over("it was answered in the terminal"), "")
	second := ask("Delete it?")
	tell(first, "Red")
	tell(second, "No")
	require.Equal(t, "Delete it? No", <-answered)
}

// What needs the user is told once, and not looked at every two seconds.
func TestTerminalsAreLookedFor(t *testing.T) {
	for err, looks := range map[error]int{Problem("another version"): 20, errors.New("nobody is there"): 300} {
		synctest.Test(t, func(t *testing.T) {
			var looked int
			var said []string
			terminals := Terminals{Agent: "OpenCode", Serve: func(context.Context, *Watch) error { looked++; return err }}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute-time.Second)
			defer cancel()
			terminals.Run(ctx, &Watch{}, func(text string) { said = append(said, text) })
			require.Equal(t, looks, looked)
			if errors.As(err, new(Problem)) {
				require.Equal(t, []string{"OpenCode's terminals are not watched: another version"}, said)
			} else {
				require.Empty(t, said)
			}
		})
	}
}
