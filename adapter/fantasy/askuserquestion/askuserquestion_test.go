package askuserquestion_test

import (
	"context"
	"errors"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/fantasy/askuserquestion"
)

// The quick start of the library's document, with nothing changed but the
// import path.
type myResolver struct {
	answers []askuserquestion.Answer
	err     error
}

func (r *myResolver) Ask(ctx context.Context, req askuserquestion.Request) ([]askuserquestion.Answer, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r.answers, r.err
}

const input = `{"questions":[{"question":"Which auth method?","header":"Auth","multiSelect":false,
	"options":[{"label":"OAuth (Recommended)","description":"Browser flow"},{"label":"API key","description":"Static token"}]}]}`

func TestRun(t *testing.T) {
	pick := &myResolver{answers: []askuserquestion.Answer{{Selected: []string{"API key"}}}}
	for name, test := range map[string]struct {
		resolver askuserquestion.Resolver
		input    string
		want     fantasy.ToolResponse
	}{
		"answered":  {pick, input, fantasy.NewTextResponse("Which auth method?\nAPI key")},
		"cancelled": {&myResolver{err: askuserquestion.ErrResolverCancelled}, input, fantasy.NewTextResponse("[cancelled by user]")},
		"failed":    {&myResolver{err: errors.New("no screen")}, input, fantasy.NewTextErrorResponse("no screen")},
		"bad input": {pick, `{"questions":[]}`, fantasy.NewTextErrorResponse("askuserquestion: questions must be a non-empty array (at least one question is required)")},
	} {
		t.Run(name, func(t *testing.T) {
			tool := askuserquestion.NewTool(test.resolver)
			got, err := tool.Run(t.Context(), fantasy.ToolCall{ID: "call-1", Name: "ask_user_question", Input: test.input})
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// A session that was closed is not the user's answer, and no result either.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := errors.New("the session was closed")
	cancel(closed)
	_, err := askuserquestion.NewTool(&myResolver{}).Run(ctx, fantasy.ToolCall{Input: input})
	require.ErrorIs(t, err, closed)
}

func TestInfo(t *testing.T) {
	tool := askuserquestion.NewToolNamed(askuserquestion.SDKToolName, &myResolver{})
	info := tool.Info()
	require.Equal(t, "AskUserQuestion", info.Name)
	require.Equal(t, askuserquestion.Description(), info.Description)
	require.Equal(t, []string{"questions"}, info.Required)
	require.Contains(t, info.Parameters, "questions")
	require.False(t, info.Parallel, "one question at a time")
	require.Equal(t, "ask_user_question", askuserquestion.NewTool(&myResolver{}).Info().Name)
	options := fantasy.ProviderOptions{}
	tool.SetProviderOptions(options)
	require.Equal(t, options, tool.ProviderOptions())
}

// The names are one and the same in both packages.
func TestNames(t *testing.T) {
	err := askuserquestion.Validate(askuserquestion.Params{})
	require.ErrorIs(t, err, askuserquestion.ErrNoQuestions)
	req := askuserquestion.Request{Questions: []askuserquestion.Question{{Question: "Name?"}}}
	require.Equal(t, "Name?\nVincent", askuserquestion.Format(req, []askuserquestion.Answer{{Other: "Vincent"}}))
}
