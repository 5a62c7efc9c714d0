// Package models_test plays MCP clients, and the people whom they ask.
package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Clients ask in the same and in other words, several at a time; they come back with
// their tickets, with those of others, and with other questions, give up and die; turns
// end meanwhile. Whatever a model is told that a person said, that person said it to what
// this call asked; a person's no is told of what they said no to, and of nothing else; and
// what is said to be used has reached a model.
func TestWhatEachModelGets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 23))) })
		})
	}
}

// room is where people are asked: by the name of the call, which the client mints. Who
// plays has it to themselves, but for the time in which they wait.
type room struct {
	mu    sync.Mutex
	asked map[string]*shown
	order []*shown
}

// shown is a question as a person sees it. They answer it in words that are never said
// again.
type shown struct {
	in      *room
	call    convert.Call
	ctx     context.Context
	said    chan convert.Outcome
	words   string // of the answer, if there is one
	no      bool   // it was dismissed
	settled bool
	used    int
}

// Ask is not called: what is posted is waited for.
func (r *room) Ask(context.Context, convert.Call) (convert.Outcome, error) { panic("not posted") }

func (r *room) Post(ctx context.Context, c convert.Call) adapter.Asking {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &shown{in: r, call: c, ctx: ctx, said: make(chan convert.Outcome, 1)}
	r.asked[c.ID] = s
	r.order = append(r.order, s)
	return s
}

func (s *shown) Wait() (convert.Outcome, error) {
	select {
	case o := <-s.said:
		return o, o.Err()
	case <-s.ctx.Done():
		o := adapter.Withdrawn(s.ctx)
		return o, o.Err()
	}
}

func (s *shown) Deliver(use func() error) error {
	s.in.mu.Lock()
	s.used++
	s.in.mu.Unlock()
	return use()
}

// open are the questions that people can answer.
func (r *room) open() []*shown {
	return slices.DeleteFunc(slices.Clone(r.order), func(s *shown) bool { return s.settled || s.ctx.Err() != nil })
}

// model is one call of the tool, and the calls with its ticket.
type model struct {
	id, text string
	client   *sdk.ClientSession
	cancel   context.CancelFunc

	in      *room
	running int
	ticket  string
	got     []string
	odd     bool // it comes with the ticket of another
	gaveUp  bool // a call of it, its client or its turn
}

func (m *model) calls(id, text, ticket string) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.running++
	input := map[string]any{"questions": []any{map[string]any{"question": text, "header": "H",
		"options": []any{map[string]string{"label": "A", "description": "a"}, map[string]string{"label": "B", "description": "b"}}}}}
	if ticket != "" {
		input["ticket"] = ticket
	}
	raw, _ := json.Marshal(input)
	go func() {
		defer cancel()
		r, err := m.client.CallTool(ctx, &sdk.CallToolParams{Meta: sdk.Meta{"callId": id}, Name: mcp.ToolName, Arguments: json.RawMessage(raw)})
		m.in.mu.Lock()
		defer m.in.mu.Unlock()
		m.running--
		if err != nil {
			return
		}
		text := r.Content[0].(*sdk.TextContent).Text
		m.got = append(m.got, text)
		if _, rest, ok := strings.Cut(text, `"ticket": "`); ok {
			m.ticket, _, _ = strings.Cut(rest, `"`)
		}
	}()
}

// rests lets everything come to rest.
func (r *room) rests(d time.Duration) {
	r.mu.Unlock()
	defer r.mu.Lock()
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

func play(t *testing.T, r *rand.Rand) {
	people := &room{asked: map[string]*shown{}}
	server := mcp.New(mcp.Options{Resolver: people})
	var clients []*sdk.ClientSession
	defer server.Close()
	for range 3 {
		asked, asks := io.Pipe()
		hears, tells := io.Pipe()
		defer tells.Close()
		defer asks.Close()
		go func() { _ = server.Serve(context.Background(), asked, tells) }()
		client := acptest.Must(sdk.NewClient(&sdk.Implementation{Name: "a model's"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: hears, Writer: asks}, nil))
		defer client.Close()
		clients = append(clients, client)
	}
	people.mu.Lock()
	defer people.mu.Unlock()
	dead := map[*sdk.ClientSession]bool{}
	var models []*model
	words := []string{"Which one?", "Which other?"}
	one := func() *model { return models[r.IntN(len(models))] }
	for n := range 60 {
		client := clients[r.IntN(len(clients))]
		switch at := r.IntN(20); {
		case len(models) == 0 || at < 6: // a new question
			if dead[client] {
				continue
			}
			m := &model{id: fmt.Sprintf("call-%d", n), text: words[r.IntN(2)], client: client, in: people}
			models = append(models, m)
			m.calls(m.id, m.text, "")
		case at < 10: // it comes back
			if m := one(); m.ticket != "" && !dead[m.client] {
				m.calls(fmt.Sprintf("again-%d", n), m.text, m.ticket)
			}
		case at == 10: // with other questions
			if m := one(); m.ticket != "" && !dead[m.client] {
				mixed := &model{id: fmt.Sprintf("other-%d", n), text: "Delete everything?", client: m.client, in: people, odd: true}
				models = append(models, mixed)
				mixed.calls(mixed.id, mixed.text, m.ticket)
			}
		case at == 11: // with the ticket of another client
			if m, of := one(), one(); of.ticket != "" && m.client != of.client && !dead[m.client] {
				thief := &model{id: fmt.Sprintf("stolen-%d", n), text: of.text, client: m.client, in: people, odd: true}
				models = append(models, thief)
				thief.calls(thief.id, of.text, of.ticket)
			}
		case at == 12: // it gives up
			if m := one(); m.running > 0 {
				m.gaveUp = true
				m.cancel()
			}
		case at == 13 && r.IntN(4) == 0: // its client dies
			dead[client] = true
			for _, m := range models {
				m.gaveUp = m.gaveUp || m.client == client
			}
			go client.Close()
		case at == 14: // the turn is over
			for _, m := range models {
				m.gaveUp = m.gaveUp || m.running == 0
			}
			server.EndTurn()
			for _, m := range models {
				s := people.asked[m.id]
				switch {
				case s == nil:
				case m.running == 0:
					require.Error(t, s.ctx.Err(), "%s outlives its turn", m.id)
				case !s.settled && !m.gaveUp:
					require.NoError(t, s.ctx.Err(), "%s is still waited for", m.id)
				}
			}
		default: // somebody says something
			if open := people.open(); len(open) > 0 {
				s := open[r.IntN(len(open))]
				s.settled = true
				switch r.IntN(5) {
				case 0:
					s.no = true
					s.said <- convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
				case 1: // to something else
					s.said <- life.WithAnother
				default:
					s.words = fmt.Sprintf("said-%d.", n)
					s.said <- convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: s.words}}}
				}
			}
		}
		people.rests([]time.Duration{0, time.Second, mcp.DefaultLimit}[r.IntN(3)])
	}
	for _, m := range models { // what is answered and was not given up is there for its model
		if s := people.asked[m.id]; s != nil && s.settled && !m.gaveUp && !dead[m.client] && len(m.got) > 0 && s.used == 0 && m.running == 0 {
			m.calls("last-"+m.id, m.text, m.ticket)
			people.rests(0)
			require.NotZero(t, s.used, "%s was answered, and its model cannot have it: %q", m.id, m.got)
		}
	}
	judge(t, people, models)
}

// judge compares what models got with what people said.
func judge(t *testing.T, people *room, models []*model) {
	for _, m := range models {
		s := people.asked[m.id]
		heard := false
		for _, text := range m.got {
			if _, said, ok := strings.Cut(text, "said-"); ok {
				number, _, _ := strings.Cut(said, ".")
				require.NotNil(t, s, "%s: %q is nobody's answer", m.id, text)
				require.Equal(t, s.words, "said-"+number+".", "%s got what was said to another", m.id)
				heard = true
			}
			if strings.Contains(text, "The user dismissed") || strings.Contains(text, "declined") {
				require.True(t, s != nil && s.no, "%s: nobody said no: %q", m.id, text)
				heard = true
			}
		}
		if s == nil {
			require.True(t, m.odd, "%s was not asked", m.id)
			continue
		}
		require.LessOrEqual(t, s.used, 1, m.id)
		require.False(t, heard && s.used == 0, "%s has an answer, and nobody knows", m.id)
		require.False(t, s.used == 1 && (s.words != "" || s.no) && !heard && !m.gaveUp, "%s: what is told as used reached no model: %q", m.id, m.got)
	}
	for _, s := range people.order {
		require.NotEqual(t, "Delete everything?", s.call.Questions[0].Text)
	}
}
