package adapter

import (
	"cmp"
	"context"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
)

// SubAgents is who is asked when an agent that works for another one asks. The
// zero value refuses: the sub-agent decides by itself, or reports back.
type SubAgents struct {
	// Parent answers for its sub-agents, if there is one: it knows the task, or
	// asks the user in its turn.
	Parent Resolver
	// User is asked where there is no parent, by a sub-agent that runs on its
	// own.
	User Resolver
}

// SubAgent passes questions on to the parent's resolver; without one it refuses
// them.
func SubAgent(parent Resolver) Resolver { return SubAgents{Parent: parent} }

// Ask implements [Resolver]. A parent that fails is not passed over: it has been
// asked.
func (s SubAgents) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	switch {
	case s.Parent != nil:
		return s.ask(ctx, c, s.Parent, convert.ParentFailed)
	case s.User != nil:
		return s.ask(ctx, c, s.User, convert.UserFailed)
	}
	return failed(cmp.Or(c.Name, ToolName) + " is not available to sub-agents")
}

// ask says of a failure who failed.
func (s SubAgents) ask(ctx context.Context, c convert.Call, r Resolver, who string) (convert.Outcome, error) {
	o, err := resolve(ctx, r, c)
	o, err = Settle(c, o, err)
	if o.Status == convert.Failed && !strings.HasPrefix(o.Reason, who) {
		return failed(who + o.Reason)
	}
	return o, err
}
