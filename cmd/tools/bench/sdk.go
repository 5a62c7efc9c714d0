package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	acp "github.com/coder/acp-go-sdk"
)

// sdkVariable makes this program an agent of the SDK alone that asks that many
// questions a prompt, with no CLI behind it.
const sdkVariable = "ACP_BRIDGE_BENCH_SDK"

func sdkMain() {
	n, err := strconv.Atoi(os.Getenv(sdkVariable))
	if err != nil {
		return
	}
	a := &sdkAgent{questions: n, wired: make(chan struct{})}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	close(a.wired)
	<-a.conn.Done()
	os.Exit(0)
}

type sdkAgent struct {
	acp.Agent // what is not here is not called
	questions int
	conn      *acp.AgentSideConnection
	wired     chan struct{}
}

func (a *sdkAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *sdkAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *sdkAgent) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *sdkAgent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	<-a.wired
	for i := range a.questions {
		var options []acp.PermissionOption
		for _, l := range labels {
			options = append(options, acp.PermissionOption{Kind: acp.PermissionOptionKindAllowOnce, Name: l + " - about " + l, OptionId: acp.PermissionOptionId(l)})
		}
		_, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
			SessionId: r.SessionId,
			ToolCall: acp.ToolCallUpdate{
				ToolCallId: acp.ToolCallId(fmt.Sprintf("toolu_%d", i)), Title: acp.Ptr("Database"),
				Kind: acp.Ptr(acp.ToolKindOther), Status: acp.Ptr(acp.ToolCallStatusPending),
				Content: []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(questionText))},
			},
			Options: options,
		})
		if err != nil {
			return acp.PromptResponse{}, err
		}
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}
