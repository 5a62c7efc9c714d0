package mcp_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
)

// ticketIn is the ticket that a result tells the model.
func ticketIn(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"ticket": "`)
	require.True(t, ok, text)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// A call that waits too long ends with a ticket. The question is not asked again,
// and its answer is there for the next call.
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		delivered := 0
		s := mcp.New(mcp.Options{Resolver: poster{a, func() error { delivered++; return nil }}})
		c := connect(t, s, nil)
		began := time.Now()
		text, isError := call(t, c, questions)
		require.False(t, isError)
		require.Equal(t, mcp.DefaultLimit, time.Since(began))
		ticket := ticketIn(t, text)
		require.Contains(t, text, "look at Database")
		<-a.calls
		require.Zero(t, delivered)
		require.True(t, s.Waits(ticket))
		require.False(t, s.Waits("another"))

		withTicket := strings.TrimSuffix(questions, "}") + `,"ticket":"` + ticket + `"}`
		go func() {
			time.Sleep(10 * time.Second)
			a.answer <- convert.Answer{Text: "DuckDB"}
		}()
		text, _ = call(t, c, withTicket)
		require.Contains(t, text, "DuckDB")
		require.Empty(t, a.calls, "asked once")
		require.Equal(t, 1, delivered)
		require.False(t, s.Waits(ticket), "it was fetched")
	})
}

// A ticket that comes with other questions is neither waited for nor are they asked: the
// model is told, and the ticket stays.
func TestTicketWithOtherQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		c := connect(t, mcp.New(mcp.Options{Resolver: a}), nil)
		text, _ := call(t, c, questions)
		ticket := `"ticket":"` + ticketIn(t, text) + `"`
		asked := <-a.calls
		q, label := asked.Questions[0].Text, asked.Questions[0].Options[0].Label
		for _, other := range []string{
			strings.Replace(questions, q, "Delete the database?", 1),
			strings.Replace(questions, `"`+label+`"`, `"Something else"`, 1),
		} {
			require.NotEqual(t, questions, other)
			text, isError := call(t, c, strings.TrimSuffix(other, "}")+","+ticket+"}")
			require.True(t, isError)
			require.Contains(t, text, "other questions")
			require.Contains(t, text, q)
		}
		require.Empty(t, a.calls)
		go func() { a.answer <- convert.Answer{Text: "DuckDB"} }()
		text, _ = call(t, c, `{"questions":[],`+ticket+`}`) // it says nothing else
		require.Contains(t, text, "DuckDB")
	})
}

// Rule 6: an answer that is gone when it is handed over is not the model's.
func TestRule6NothingToHandOver(t *testing.T) {
	a := newAsks()
	c := connect(t, mcp.New(mcp.Options{Resolver: poster{a, func() error { return convert.ErrCancelled }}}), nil)
	go func() { a.answer <- convert.Answer{Selected: []string{"SQLite"}} }()
	text, isError := call(t, c, questions)
	require.False(t, isError)
	require.Contains(t, text, "dismissed")
}

// poster hands over what its asks got.
type poster struct {
	*asks
	deliver func() error
}

type posted struct {
	ctx  context.Context
	call convert.Call
	poster
}

func (p poster) Post(ctx context.Context, c convert.Call) adapter.Asking { return posted{ctx, c, p} }
func (p posted) Wait() (convert.Outcome, error)                          { return p.Ask(p.ctx, p.call) }
func (p posted) Where() string                                           { return "look at " + p.call.Questions[0].Header }
func (p posted) Deliver(use func() error) error {
	if err := p.deliver(); err != nil {
		return err
	}
	return use()
}

// An answer that came meanwhile is there for its ticket, once. The same words are
// another question: words identify nothing.
func TestAnswerMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		c := connect(t, mcp.New(mcp.Options{Resolver: a, Limit: time.Second}), nil)
		text, _ := call(t, c, questions)
		require.Contains(t, text, "not answered yet")
		<-a.calls
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		synctest.Wait()
		anew, _ := call(t, c, questions)
		require.Contains(t, anew, "not answered yet")
		<-a.calls
		require.NotEqual(t, ticketIn(t, text), ticketIn(t, anew))
		got, _ := call(t, c, `{"ticket":"`+ticketIn(t, text)+`"}`)
		require.Contains(t, got, "SQLite")
		for _, ticket := range []string{ticketIn(t, text), "000000000000"} {
			_, isError := call(t, c, `{"ticket":"`+ticket+`"}`)
			require.True(t, isError)
		}
	})
}

// Rule 1: two calls at once with the same words are two questions, each with its
// own answer.
func TestRule1TwoCallsAreTwoQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		c := connect(t, mcp.New(mcp.Options{Resolver: a, Limit: -1}), nil)
		one := calls(t.Context(), c, questions)
		<-a.calls
		other := calls(t.Context(), c, questions)
		<-a.calls
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		synctest.Wait()
		require.Equal(t, 1, len(one)+len(other), "one has an answer")
		a.answer <- convert.Answer{Selected: []string{"PostgreSQL"}}
		require.NotEqual(t, (<-one).text, (<-other).text)
	})
}

// Rule 4: what belongs to a turn ends with it, waiting with a ticket or answered
// and not fetched. A call that waits outlives it.
func TestRule4TicketsEndWithTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		s := mcp.New(mcp.Options{Resolver: a, Limit: time.Second})
		c := connect(t, s, nil)
		answered, _ := call(t, c, questions)
		<-a.calls
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		open, _ := call(t, c, questions)
		<-a.calls
		waits := calls(t.Context(), c, questions)
		<-a.calls
		s.EndTurn()
		require.Error(t, <-a.ended, "it is no longer asked")
		for _, text := range []string{answered, open} {
			got, isError := call(t, c, `{"ticket":"`+ticketIn(t, text)+`"}`)
			require.True(t, isError)
			require.NotContains(t, got, "SQLite")
		}
		a.answer <- convert.Answer{Selected: []string{"PostgreSQL"}}
		require.Contains(t, (<-waits).text, "PostgreSQL")
		require.Empty(t, a.ended)
	})
}

// A ticket is for the connection that got it.
func TestTicketOfAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		s := mcp.New(mcp.Options{Resolver: a, Limit: time.Second})
		first, second := connect(t, s, nil), connect(t, s, nil)
		text, _ := call(t, first, questions)
		<-a.calls
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		got, isError := call(t, second, `{"ticket":"`+ticketIn(t, text)+`"}`)
		require.True(t, isError)
		require.NotContains(t, got, "SQLite")
		got, _ = call(t, first, `{"ticket":"`+ticketIn(t, text)+`"}`)
		require.Contains(t, got, "SQLite")
	})
}

// Connections have sessions of their own. What one has asked ends with it.
func TestConnectionsAreSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		s := mcp.New(mcp.Options{Resolver: a, Limit: time.Second})
		sessions := map[string]int{}
		var first *sdk.ClientSession
		for range 2 {
			c := connect(t, s, nil)
			for range 2 {
				call(t, c, questions)
				sessions[(<-a.calls).Session]++
			}
			if first == nil {
				first = c
			}
		}
		require.Len(t, sessions, 2)
		require.NotContains(t, sessions, "")
		require.NoError(t, first.Close())
		synctest.Wait()
		require.Len(t, a.ended, 2, "its two questions")
	})
}

// An agent that asks and asks and never comes back: its oldest ends, and nobody else's.
func TestTooManyTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		a.calls = make(chan convert.Call, 200)
		s := mcp.New(mcp.Options{Resolver: a, Limit: time.Second})
		other, c := connect(t, s, nil), connect(t, s, nil)
		text, _ := call(t, other, questions)
		for range 101 {
			call(t, c, questions)
		}
		require.Error(t, <-a.ended)
		synctest.Wait()
		require.Empty(t, a.ended, "one was too many")
		again, isError := call(t, other, `{"ticket":"`+ticketIn(t, text)+`"}`)
		require.False(t, isError, again)
		require.Equal(t, ticketIn(t, text), ticketIn(t, again), "it waits on")
		a.ended = make(chan error, 200)
	})
}

// Of two calls that wait with one ticket, one is taken back: the other one waits
// on.
func TestOneOfTwoCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsks()
		c := connect(t, mcp.New(mcp.Options{Resolver: a, Limit: time.Minute}), nil)
		text, _ := call(t, c, questions)
		<-a.calls
		again := `{"ticket":"` + ticketIn(t, text) + `"}`
		ctx, cancel := context.WithCancel(t.Context())
		first, second := calls(ctx, c, again), calls(t.Context(), c, again)
		synctest.Wait()
		cancel()
		require.Error(t, (<-first).err)
		synctest.Wait()
		require.Empty(t, second, "nobody has answered")
		a.answer <- convert.Answer{Selected: []string{"SQLite"}}
		require.Contains(t, (<-second).text, "SQLite")
		require.Empty(t, a.calls, "asked once")
	})
}

// A question that ended while no call waited has an end for its ticket alone. A
// model that asks anew asks the user.
func TestAskedAnew(t *testing.T) {
	for name, end := range map[string]error{"failed": io.ErrUnexpectedEOF, "cancelled with its turn": convert.ErrCancelled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsks()
				c := connect(t, mcp.New(mcp.Options{Resolver: a, Limit: time.Second}), nil)
				call(t, c, questions)
				<-a.calls
				a.fail <- end
				synctest.Wait()
				go func() {
					<-a.calls
					a.answer <- convert.Answer{Selected: []string{"SQLite"}}
				}()
				text, _ := call(t, c, questions)
				require.Contains(t, text, "SQLite")
			})
		})
	}
}
