// Package askuserquestion is the AskUserQuestion tool as a fantasy.AgentTool,
// beside all names of adapter/askuserquestion. It is a module of its own, so
// that only those who use fantasy depend on it.
//
//	tool := askuserquestion.NewTool(resolver)
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tool))
package askuserquestion

import (
	"context"
	"encoding/json"

	"charm.land/fantasy"

	base "github.com/acp-bridge/acp-bridge/adapter/askuserquestion"
)

// NewTool makes a tool with the name [ToolName] that asks with r.
//
// What is wrong with a call is a response with IsError set, for the model to
// correct itself. A user who cancels is no error: the response then reads
// [cancelled by user]. An error is returned only when the context has ended.
func NewTool(r Resolver) fantasy.AgentTool { return NewToolNamed(ToolName, r) }

// NewToolNamed makes a tool with another name, such as [SDKToolName].
func NewToolNamed(name string, r Resolver) fantasy.AgentTool {
	return &tool{Tool: base.NewToolNamed(name, r)}
}

type tool struct {
	*base.Tool
	options fantasy.ProviderOptions
}

// Info implements [fantasy.AgentTool].
func (t *tool) Info() fantasy.ToolInfo {
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(t.Schema(), &schema); err != nil {
		panic(err) // the schema is a constant of ours
	}
	return fantasy.ToolInfo{Name: t.Name(), Description: t.Description(), Parameters: schema.Properties, Required: schema.Required}
}

// Run implements [fantasy.AgentTool].
func (t *tool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	text, isError := t.Tool.Run(ctx, call.ID, []byte(call.Input))
	switch {
	case isError && ctx.Err() != nil:
		return fantasy.ToolResponse{}, context.Cause(ctx)
	case isError:
		return fantasy.NewTextErrorResponse(text), nil
	}
	return fantasy.NewTextResponse(text), nil
}

// ProviderOptions implements [fantasy.AgentTool].
func (t *tool) ProviderOptions() fantasy.ProviderOptions { return t.options }

// SetProviderOptions implements [fantasy.AgentTool].
func (t *tool) SetProviderOptions(o fantasy.ProviderOptions) { t.options = o }
