package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// A yes to a plan may clear the context first: the model begins anew, with the plan alone.
// The CLI has no request for that. Its turn is broken off, and then it gets /clear, the
// mode in which to go on, and the plan as a prompt. For the editor all of that is one
// prompt.

// clearing is what such a yes still has to do.
type clearing struct {
	call   string  // of the plan
	mode   string  // to go on in
	prompt []block // that the CLI gets next
	plan   []block // the prompt for the new context
	from   string  // the CLI's id of the old one: it gives the new one another
	clear  bool    // the CLI has said that it is
	off    atomic.Bool
}

const clearCommand = "/clear"

// clearChoice is how the ids of such choices begin. The mode follows.
const clearChoice = "clear_"

// withClear has the choices of a plan with one that clears the context. The narrowest
// stays first. Used says how much of the context is used, where that is known.
func withClear(choices []hook.Choice, used string) []hook.Choice {
	if used != "" {
		used = " (" + used + " used)"
	}
	for _, mode := range []string{"auto", "bypassPermissions", "acceptEdits"} {
		if i := slices.IndexFunc(choices, func(c hook.Choice) bool { return c.ID == mode }); i >= 0 {
			c := choices[i]
			c.ID, c.Label, c.Updates = clearChoice+mode, strings.Replace(c.Label, "Yes, ", "Yes, clear context"+used+" ", 1), nil
			return slices.Insert(choices, 1, c)
		}
	}
	return choices
}

// clearingFor is what a choice of that kind has to do. Where the old context is to be read
// is for the model alone.
func (s *conversation) clearingFor(call, choice, plan string) *clearing {
	prompt := []block{text("Implement the following plan:\n\n" + plan)}
	if path, err := transcript.Find(s.agent.configDir(s.env), s.cliID(), s.cwd); err == nil {
		prompt = append(prompt, text("<system-reminder>\nIf you need specific details from before exiting plan mode (like exact code "+
			"snippets, error messages, or content you generated), read the full transcript at: "+path+"\n</system-reminder>"))
	}
	return &clearing{call: call, mode: strings.TrimPrefix(choice, clearChoice), prompt: []block{text(clearCommand)}, plan: prompt, from: s.cliID()}
}

// follows reports whether something follows when the CLI has cleared its context.
func (s *conversation) follows() bool {
	c := s.clearing.Load()
	return c != nil && !c.clear && !c.off.Load()
}

// tellCleared says what became of the context of a plan that is not gone on with: the user
// has cancelled that, or it failed.
func (s *conversation) tellCleared(c *clearing) {
	said := "The plan was not begun: the context was not cleared."
	if c.clear || s.cliID() != c.from {
		said = "The plan was not begun: the context is clear."
	}
	s.out.Notice(false, said, "\n\n"+said+"\n\n")
}

// clears begins to do it. What the user has sent since is given back, and waits with what
// they send now until the plan is the model's. What the CLI says to that is not waited for:
// the end of its turn may come before it, and waits for the reply to the plan's request.
func (p *pump) clears(c *clearing) {
	p.s.picked.Store(nil)
	p.toClear.Store(c)
	p.post(func() { p.painter.planKept = c.call })
	p.s.out.Began(false)
	_ = p.proc.InterruptAll(unheard())
}

// unheard is for what the CLI is told before anything else, and whose reply is not waited for.
func unheard() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}

// cleared goes on when the context is clear, in the mode that the user said last.
func (p *pump) cleared(c *clearing) {
	go func() {
		err := p.proc.SetMode(p.s.ctx, *cmp.Or(p.s.picked.Load(), &c.mode))
		p.asReader(func() {
			if p.s.process() != p.proc || errors.Is(err, claude.ErrExited) {
				return // the prompt ends with the process
			}
			end := editor.TurnEnd{Then: c}
			if err != nil {
				end = editor.TurnEnd{Err: processError(fmt.Errorf("the context is clear, but the plan was not begun, because the mode could not be changed: %w", err))}
			}
			p.s.out.EndTurn(end, func(cancelled bool) {
				p.s.clearing.CompareAndSwap(c, nil)
				if cancelled {
					p.s.tellCleared(c)
				}
				if cancelled && p.s.picked.Load() == nil {
					_ = p.proc.SetMode(unheard(), "plan") // if that fails it stays, and the editor shows it
				}
				p.wrapUp(false)
			})
			p.s.out.Flush() // the reader may have nothing more to read
		})
	}()
}

// planEnds shows the call of a plan as done that is gone on with.
func (p *painter) planEnds(id string) {
	if c := p.calls[id]; c != nil {
		delete(p.calls, id)
		p.finish(id, c, display.Result{})
		p.planLeft(id, c, gjson.Result{})
	}
}
