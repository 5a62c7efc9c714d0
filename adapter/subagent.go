package adapter

import (
	"context"

	"github.com/acp-bridge/acp-bridge/convert"
)

// SubAgent is the resolver for an agent that works for another one. With a
// parent it passes questions on to the parent's resolver; without one it
// refuses them, so that the sub-agent decides by itself or reports back.
func SubAgent(parent Resolver) Resolver { return subAgent{parent} }

type subAgent struct{ parent Resolver }

// Ask implements [Resolver].
func (s subAgent) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	if s.parent != nil {
		return s.parent.Ask(ctx, c)
	}
	name := c.Name
	if name == "" {
		name = ToolName
	}
	return failed(name + " is not available to sub-agents")
}
