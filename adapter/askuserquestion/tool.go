package askuserquestion

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Description is what the model reads about the tool. The words are our own, not
// those of Claude Code or of askuserquestion-go; names, fields and limits are theirs.
func Description() string { return adapter.NewTool(nil).Description }

// Tool is the tool as a host registers it with its model.
type Tool struct {
	name     string
	resolver Resolver
}

// NewTool makes a tool with the name [ToolName] that asks with r.
func NewTool(r Resolver) *Tool { return NewToolNamed(ToolName, r) }

// NewToolNamed makes a tool with another name, such as [SDKToolName].
func NewToolNamed(name string, r Resolver) *Tool { return &Tool{name, r} }

// Name is the name that the tool was made with.
func (t *Tool) Name() string { return t.name }

// Description is [Description].
func (t *Tool) Description() string { return Description() }

// Schema is the JSON schema of [Params].
func (t *Tool) Schema() json.RawMessage { return adapter.NewTool(nil).Schema }

// Run asks the questions of a tool input and returns the result for the model:
// the answers as [Format] writes them, or what is wrong, marked as an error, so
// that the model can correct itself. A user who cancels is no error. The answers
// of the resolver are checked: a label that was not offered is never a result.
func (t *Tool) Run(ctx context.Context, toolCallID string, input []byte) (text string, isError bool) {
	call, err := convert.Parse(input, limits)
	if err != nil {
		return named(err).Error(), true
	}
	call.ID, call.Name = toolCallID, t.name
	outcome, _ := adapter.Post(ctx, adapter.Func(t.ask), call).Wait()
	return convert.TextResult(call, outcome)
}

// ask is the resolver in terms of package adapter.
func (t *Tool) ask(ctx context.Context, c convert.Call) ([]convert.Answer, error) {
	req := requestOf(c)
	answers, err := t.resolver.Ask(ctx, req)
	switch {
	case errors.Is(err, ErrResolverCancelled):
		return nil, convert.ErrCancelled
	case err != nil:
		return nil, err
	}
	return pair(req, answers)
}
