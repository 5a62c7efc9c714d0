package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// Beside a permission stands what is known at the moment: how full the context is, what
// the session has cost, its model and its mode. The CLI tells the first two while the
// request is open, in some 50 ms, without its model. One that does not is not asked again.

// knownTime bounds how long a request waits for that.
const knownTime = 500 * time.Millisecond

const (
	contextUsage = "get_context_usage"
	costUsage    = "get_usage"
)

// inLine is a request of the CLI that is not asked yet, and what asks it.
type inLine struct {
	request string
	ask     func(told)
}

// told is what the CLI says, by what it is asked for.
type told map[string]gjson.Result

// context is how much of the context is used; empty if it does not say.
func (t told) context() string {
	c := t[contextUsage]
	if c.Get("maxTokens").Int() == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", c.Get("percentage").Float())
}

// line has a request asked with what is known. One that comes meanwhile is asked behind
// it, also if it wants to know nothing.
func (p *pump) line(request string, wants bool, ask func(told)) {
	if len(p.asks) == 0 && (!wants || len(p.knows) == 0) {
		ask(nil)
		return
	}
	if p.asks = append(p.asks, inLine{request, ask}); len(p.asks) > 1 {
		return
	}
	knows := maps.Clone(p.knows)
	go func() {
		told, lives := p.told(knows)
		if !lives {
			return // what is in line ends with the process
		}
		p.asReader(func() {
			maps.DeleteFunc(p.knows, func(what string, _ object) bool { return !told[what].Exists() })
			p.askAll(told)
			p.s.out.Flush() // the reader may have nothing more to read
		})
	}()
}

// askAll asks what is in line.
func (p *pump) askAll(told told) {
	asks := p.asks
	p.asks = nil
	for _, a := range asks {
		a.ask(told)
	}
}

// told is what the CLI says in time, if it lives.
func (p *pump) told(knows map[string]object) (all told, lives bool) {
	ctx, cancel := context.WithTimeout(p.s.ctx, knownTime)
	defer cancel()
	type reply struct {
		what string
		gjson.Result
		err error
	}
	replies := make(chan reply)
	for what, fields := range knows {
		go func() {
			raw, err := p.proc.Control(ctx, what, fields) // nil is no answer
			replies <- reply{what, gjson.ParseBytes(raw), err}
		}()
	}
	all, lives = told{}, true
	for range knows {
		r := <-replies
		all[r.what] = r.Result
		lives = lives && !errors.Is(r.err, claude.ErrExited)
	}
	return all, lives
}

// known is what is known, in a line; empty if the CLI tells nothing.
func (s *conversation) known(told told) string {
	var parts []string
	if used := told.context(); used != "" {
		parts = append(parts, used+" of the context used")
	}
	if cost := s.spentBefore + told[costUsage].Get("session.total_cost_usd").Float(); cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", cost))
	}
	if len(parts) == 0 {
		return ""
	}
	if model := s.modelName(); model != "" {
		parts = append(parts, model)
	}
	modes := s.modes()
	i := slices.IndexFunc(modes.AvailableModes, func(m acp.SessionMode) bool { return m.Id == modes.CurrentModeId })
	return clean.Line(strings.Join(append(parts, modes.AvailableModes[i].Name+" mode"), " · "))
}
