package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/mcp"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// hubDesk asks at a hub, for commands that have no editor.
type hubDesk struct {
	desk  desk.Desk
	link  *hublink.Link
	agent string
	dir   string
	calls atomic.Int64
	// leaves reports whether a question whose context has ended stays open at the
	// hub, for whoever asks it again; nil means that it does.
	leaves func(context.Context) bool
}

// open joins a command to the hub, until close is called. It returns nil if there
// is none.
func (h *hubFlags) open(agent string, s streams) *hubDesk {
	if h.url == nil {
		return nil
	}
	d := &hubDesk{agent: agent}
	d.dir, _ = os.Getwd()
	d.link = h.start(&d.desk, agent, hubLogger(s))
	return d
}

// close ends the link. What is open at the hub stays open.
func (h *hubDesk) close() {
	if h != nil {
		h.link.Close()
	}
}

// ask asks at the hub and, if local is not nil, here at the same time. The first
// answer wins; here says that it was not the hub's. When ctx ends, the question
// stays open at the hub, see leaves, and is found there when it is asked again.
func (h *hubDesk) ask(ctx context.Context, kind desk.Kind, c convert.Call, local func(context.Context, convert.Call) (convert.Outcome, error)) (o convert.Outcome, here bool) {
	c.Session = h.session(c.Session)
	if c.ID == "" {
		c.ID = "call-" + strconv.FormatInt(h.calls.Add(1), 10)
	}
	ticket, err := h.desk.Post(ctx, desk.Item{Kind: kind, Call: c, Agent: h.agent, Dir: h.dir})
	if err != nil {
		return convert.Outcome{Status: convert.Failed, Reason: err.Error()}, true
	}
	defer ticket.Leave()
	if err := ticket.Turn(); err == nil && local != nil {
		ticket.Asking(0, "terminal")
		o, err = local(ticket.Context(), c)
		if ctx.Err() == nil && ticket.Context().Err() == nil && !errors.Is(err, terminal.ErrNoTerminal) {
			return ticket.Settle(o, whoAmI())
		}
	}
	<-ticket.Context().Done()
	var given *mcp.Given
	if errors.As(context.Cause(ctx), &given) {
		return ticket.Settle(given.Outcome, "a form of the client")
	}
	if h.leaves != nil && !h.leaves(ctx) {
		return ticket.Settle(convert.Outcome{Status: convert.Cancelled, Reason: "The question was withdrawn"}, "")
	}
	return ticket.Settle(convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, "")
}

// Ask implements [adapter.Resolver]: it asks at the hub alone.
func (h *hubDesk) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	o, _ := h.ask(ctx, desk.Question, c, nil)
	return o, o.Err()
}

// used tells the hub that whoever asked has what was answered.
func (h *hubDesk) used(session string) {
	if h != nil {
		h.link.Used(h.session(session))
	}
}

// session is where a question belongs that says nothing of that: the folder, so
// that the same command again finds its question.
func (h *hubDesk) session(session string) string {
	if session != "" {
		return session
	}
	machine, _ := os.Hostname()
	sum := sha256.Sum256([]byte(machine + "\x00" + h.dir))
	return "folder-" + hex.EncodeToString(sum[:8])
}
