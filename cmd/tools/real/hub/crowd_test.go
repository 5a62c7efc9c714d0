//go:build unix

package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// requestTime is how long a person waits for a hub before trying another one.
const requestTime = time.Second

// crowd is agents that ask one question after another, and people who answer.
type crowd struct {
	*fleet
	stop    atomic.Bool
	all     sync.WaitGroup
	resumed atomic.Int64

	left     *asked // which nobody answers
	watchers []*watcher

	mu        sync.Mutex
	questions []*asked
	got       []time.Time // when an agent got an outcome
	more      chan struct{}
}

// asked is a question, with all that was done to it.
type asked struct {
	id   string
	name atomic.Value // which its agent gave it when it posted it first
	history
	lost      map[string]bool // what had no reply, once each
	accepted  []string        // what got a 200, in order
	delivered []string        // what its agent got
}

// path is where hubs have the question.
func (q *asked) path() string { return fmt.Sprint("/questions/", q.name.Load()) }

func (q *asked) conversation() string { return "c-" + q.id }

// label is an answer that fits no other question.
func (q *asked) label(word string) string { return word + " " + q.id }

func newCrowd(f *fleet) *crowd { return &crowd{fleet: f, more: make(chan struct{}, 1)} }

// join starts agents. Each goes on until the crowd stops, and ends what it began.
func (c *crowd) join(seed uint64, agents int) {
	for i := range agents {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		c.all.Go(func() {
			a := c.newAgent(i)
			defer func() { a.link.Close() }()
			for n := 0; !c.stop.Load(); n++ {
				q := &asked{id: fmt.Sprintf("toolu_%d_%d_x", i, n), lost: map[string]bool{}}
				c.mu.Lock()
				c.questions = append(c.questions, q)
				c.mu.Unlock()
				a = c.play(a, q, rnd)
			}
		})
	}
}

// agent is a bridge with a link to all hubs.
type agent struct {
	number int
	desk   *desk.Desk
	link   *hublink.Link
}

func (c *crowd) newAgent(number int) *agent {
	var urls []*url.URL
	for i := range c.hubs {
		urls = append(urls, c.hubs[(number+i)%len(c.hubs)].url)
	}
	a := &agent{number: number, desk: new(desk.Desk)}
	a.link = hublink.Start(a.desk, hublink.Options{URL: urls[0], Others: urls[1:], Wait: requestTime, Token: func() (string, error) { return c.token, nil }})
	return a
}

// play is the life of one question. It returns the agent that lives after it.
func (c *crowd) play(a *agent, q *asked, rnd *rand.Rand) *agent {
	words := []string{"Yes", "No"}
	if rnd.IntN(8) == 0 {
		words = append(words, "cancel")
	}
	dies := rnd.IntN(3) == 0
	var people sync.WaitGroup
	for _, word := range words {
		hub, looks := rnd.IntN(len(c.hubs)), rnd.IntN(3) == 0
		people.Go(func() {
			if looks { // here, and answers elsewhere
				c.look(q, hub)
				hub = (hub + 1) % len(c.hubs)
			}
			c.answer(q, word, hub)
		})
	}
	q.note(porcupine.Operation{Input: "ask", Output: "0", Call: now(), Return: math.MaxInt64})
	if dies { // and is resumed at once, as another process
		c.ask(a, q, q.known)
		a.link.Close()
		a = c.newAgent(a.number)
		c.resumed.Add(1)
	}
	c.ask(a, q, nil)
	people.Wait()
	c.mu.Lock()
	c.got = append(c.got, time.Now())
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return a
}

// known reports whether somebody was told of the question by a hub. A process that
// dies before may have a request under way of which nobody knows: it opens the
// question once more when it is answered by then, for nobody.
func (q *asked) known() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.ops, func(o porcupine.Operation) bool {
		return o.Input == "look" || o.Output == "200" || o.Output == "409"
	})
}

// ask has a bridge ask until it has the outcome, or until dies returns true.
func (c *crowd) ask(a *agent, q *asked, dies func() bool) {
	call := convert.Call{Session: q.conversation(), ID: q.id, Questions: []convert.Question{
		{Text: "Go on?", Header: "Go", Options: []convert.Option{{Label: q.label("Yes")}, {Label: q.label("No")}}}}}
	ticket := a.desk.Post(context.Background(), desk.Item{Kind: desk.Question, Again: true, Call: call})
	q.name.CompareAndSwap(nil, ticket.Item().Name) // whoever takes it over has it under this one
	for dies != nil {
		select {
		case <-ticket.Context().Done(): // it dies with the answer in its hands
			return
		case <-time.After(time.Millisecond):
			if dies() {
				return
			}
		}
	}
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	got := "cancel"
	if o.Status == convert.Answered {
		got = strings.Join(o.Answers[0].Selected, ",")
	}
	a.desk.Receipt(ticket.Item().Name, nil)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delivered = append(q.delivered, got)
}

// answer is a person who answers until it is known what came of it.
func (c *crowd) answer(q *asked, word string, hub int) {
	path, body, what := "/cancel", "", word
	if word != "cancel" {
		what = q.label(word)
		path, body = "/respond", `{"answers":{"Go on?":"`+what+`"}}`
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 300*time.Millisecond) {
		begin := now()
		status, _ := c.request(http.MethodPost, hub, q, path, body)
		op := porcupine.Operation{Input: what, Output: fmt.Sprint(status), Call: begin, Return: now()}
		switch status {
		case http.StatusOK, http.StatusConflict:
			q.note(op)
			if status == http.StatusOK {
				q.mu.Lock()
				q.accepted = append(q.accepted, what)
				q.mu.Unlock()
			}
			return
		case http.StatusNotFound:
			q.note(op)
		default:
			q.unsure(what, begin)
		}
		hub = (hub + 1) % len(c.hubs)
		time.Sleep(pause) // nobody tells when it is worth another try
	}
}

// unsure notes what may happen at any time after, or never. Once is enough: the
// same again changes nothing.
func (q *asked) unsure(what string, begin int64) {
	q.mu.Lock()
	known := q.lost[what]
	q.lost[what] = true
	q.mu.Unlock()
	if !known {
		q.note(porcupine.Operation{Input: what, Output: "0", Call: begin, Return: math.MaxInt64})
	}
}

// look is a person who looks until a hub shows the question. What a hub shows may
// be old, but never what is still to come; and what it has shown no hub denies.
func (c *crowd) look(q *asked, hub int) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 300*time.Millisecond) {
		state, ok := q.seen(c.request(http.MethodGet, hub, q, q.path(), ""))
		if ok && state != "" {
			q.note(porcupine.Operation{Input: "look", Output: state, Call: 0, Return: now()})
			return
		}
		hub = (hub + 1) % len(c.hubs)
		time.Sleep(pause) // nobody tells when it is worth another try
	}
}

// seen is the state of the question in the words of the model.
func (q *asked) seen(status int, data []byte) (state string, ok bool) {
	if status == http.StatusNotFound {
		return "", true
	}
	var is struct {
		Outcome string
		Result  json.RawMessage
	}
	if status != http.StatusOK || json.Unmarshal(data, &is) != nil {
		return "", false
	}
	return seenAs(is.Outcome, is.Result, "", q.label("Yes"), q.label("No")), true
}

// request returns the status, 0 if there was no reply.
func (c *crowd) request(method string, hub int, q *asked, path, body string) (int, []byte) {
	req, err := http.NewRequest(method, c.hubs[hub].url.String()+"/conversations/"+q.conversation()+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := c.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, nil
	}
	return reply.StatusCode, data
}

// await waits until agents got so many more outcomes, and returns the longest
// time without one.
func (c *crowd) await(t *testing.T, count int, what string) (gap time.Duration) {
	t.Helper()
	begin := time.Now()
	c.mu.Lock()
	from := len(c.got)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		got := slices.Clone(c.got[from:])
		c.mu.Unlock()
		if len(got) >= count {
			for last := begin; len(got) > 0; got = got[1:] {
				gap, last = max(gap, got[0].Sub(last)), got[0]
			}
			return gap
		}
		select {
		case <-c.more:
		case <-time.After(hangs):
			t.Fatalf("%s: %d of %d outcomes came, and no more for %s", what, len(got), count, hangs)
		}
	}
}

// end lets all agents end what they began, and checks what everybody was told.
func (c *crowd) end(t *testing.T) {
	t.Helper()
	c.stop.Store(true)
	done := make(chan struct{})
	go func() { c.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(hangs):
		t.Fatalf("some questions have no end: %v", c.open())
	}
	for _, q := range c.questions {
		require.Len(t, q.delivered, 1, q.id)
		accepted := slices.Compact(slices.Sorted(slices.Values(q.accepted)))
		require.LessOrEqual(t, len(accepted), 1, "%s: two answers were accepted", q.id)
		if len(accepted) == 1 {
			require.Equal(t, accepted, q.delivered, "%s: another answer than the accepted one was delivered", q.id)
		}
		q.note(porcupine.Operation{Input: "look", Output: q.delivered[0], Call: 0, Return: now()})
		q.check(t, q.id)
	}
	c.seenRight(t)
	left := make(chan *asked, len(c.questions))
	for _, q := range c.questions {
		left <- q
	}
	close(left)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for q := range left {
				for i := range c.hubs {
					c.settled(t, q, i)
				}
			}
		})
	}
	all.Wait()
}

// settled waits until a hub has the outcome that the agent got.
func (c *crowd) settled(t *testing.T, q *asked, hub int) {
	for begin := time.Now(); ; {
		status, data := c.request(http.MethodGet, hub, q, q.path(), "")
		switch state, ok := q.seen(status, data); {
		case state == q.delivered[0]:
			return
		case ok && state != "open", time.Since(begin) > hangs:
			t.Errorf("%s: hub %d has %d %s, its agent got %q", q.id, hub, status, data, q.delivered[0])
			return
		}
		time.Sleep(20 * time.Millisecond) // it is behind, or nobody can be reached
	}
}

func (c *crowd) open() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.questions {
		q.mu.Lock()
		if len(q.delivered) == 0 {
			ids = append(ids, fmt.Sprint(q.id, q.ops))
		}
		q.mu.Unlock()
	}
	return ids
}
