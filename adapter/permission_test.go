package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

func mayRun(id string) acp.RequestPermissionRequest {
	return acp.RequestPermissionRequest{
		SessionId: "s1",
		ToolCall:  acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(id), Title: acp.Ptr("rm -r build"), RawInput: json.RawMessage(`{"command":"rm -r build"}`)},
		Options: []acp.PermissionOption{
			{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "always", Name: "Allow", Kind: acp.PermissionOptionKindAllowAlways},
			{OptionId: "deny", Name: "Deny", Kind: acp.PermissionOptionKindRejectOnce},
		},
	}
}

type permitted struct {
	response acp.RequestPermissionResponse
	err      error
}

func permit(ctx context.Context, a *adapter.Adapter, r acp.RequestPermissionRequest) chan permitted {
	wait, done := a.PostPermission(ctx, convert.SubAgent{}, r), make(chan permitted, 1)
	go func() {
		response, err := wait()
		done <- permitted{response, err}
	}()
	return done
}

// A permission is at the desk like a question: seen, answered with one of its
// options and nothing else, and dismissed.
func TestPermissionAtTheDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		first, second := permit(t.Context(), a, mayRun("bash")), permit(t.Context(), a, mayRun("bash"))
		synctest.Wait()
		list := a.Desk().List()
		require.Len(t, list, 2, "two for one tool call")
		require.Equal(t, desk.Permission, list[0].Kind)
		require.Equal(t, desk.Asking, list[0].State)
		require.Equal(t, desk.Queued, list[1].State)
		require.Equal(t, "rm -r build", list[0].Call.Questions[0].Text)
		require.JSONEq(t, `{"command":"rm -r build"}`, string(list[0].Call.Input))
		require.Equal(t, []convert.Option{{Label: "Allow"}, {Label: "Allow (2)"}, {Label: "Deny"}}, list[0].Call.Questions[0].Options)

		name := list[0].Name
		for _, bad := range [][]convert.Answer{{{Text: "Allow"}}, {{Selected: []string{"Allow", "Deny"}}}, {{Selected: []string{"Yes"}}}, {{Note: "later"}}} {
			require.Error(t, a.Desk().Answer(name, bad, "phone"))
		}
		require.NoError(t, a.Desk().Answer(name, []convert.Answer{{Selected: []string{"Allow (2)"}}}, "phone"))
		got := <-first
		require.NoError(t, got.err)
		require.Equal(t, acp.PermissionOptionId("always"), got.response.Outcome.Selected.OptionId)

		synctest.Wait()
		require.NoError(t, a.Desk().Cancel(list[1].Name, "phone"))
		got = <-second
		require.NoError(t, got.err)
		require.NotNil(t, got.response.Outcome.Cancelled)
	})
}

// What somebody wrote beside the choice goes the way of the client's own words.
// A permission that stands behind a question which somebody dismisses is asked.
func TestPermissionBehindADismissedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		asked := make(chan error, 1)
		wait := a.Post(t.Context(), convert.Call{Session: "s1", ID: "q", Questions: []convert.Question{{Text: "Delete it?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}})
		go func() {
			_, err := wait()
			asked <- err
		}()
		behind := permit(t.Context(), a, mayRun("bash"))
		synctest.Wait()
		require.NoError(t, a.Desk().Cancel(called(a, "q"), "phone"))
		require.ErrorIs(t, <-asked, convert.ErrCancelled)
		require.NoError(t, a.Desk().Answer(called(a, "bash"), []convert.Answer{{Selected: []string{"Allow"}}}, "phone"))
		got := <-behind
		require.NoError(t, got.err)
		require.NotNil(t, got.response.Outcome.Selected)
	})
}

func TestNoteOnAPermissionAtTheDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		done := permit(t.Context(), a, mayRun("bash"))
		synctest.Wait()
		require.NoError(t, a.Desk().Answer(called(a, "bash"), []convert.Answer{{Selected: []string{"Deny"}, Note: "use make clean"}}, "phone"))
		got := <-done
		require.NoError(t, got.err)
		require.Equal(t, map[string]any{"notes": "use make clean"}, got.response.Outcome.Selected.Meta)
	})
}

// The rule for an answer is the permission's own, also where several picks are
// no fault of the question.
func TestPermissionTakesOneOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapter.New(never{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := permit(ctx, a, mayRun("bash"))
		synctest.Wait()
		check := a.Desk().List()[0].Check
		require.NoError(t, check([]convert.Answer{{Selected: []string{"Deny"}}}))
		for _, bad := range [][]convert.Answer{nil, {{}}, {{Text: "Deny"}}, {{Selected: []string{"Deny"}, Text: "and more"}}, {{Selected: []string{"Allow", "Deny"}}}} {
			require.ErrorIs(t, check(bad), convert.ErrBadAnswer)
		}
		cancel()
		require.ErrorIs(t, (<-done).err, context.Canceled)
	})
}

// What goes wrong with a permission is told as it came, and is known at the desk.
func TestPermissionOutcomes(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		reply any
		want  convert.Status
	}{
		"an option": {"deny", convert.Answered},
		"no option": {"frobnicate", convert.Failed},
		"an error":  {broken, convert.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			a := adapter.New(&scripted{buttons: []any{test.reply}}, nil)
			var last desk.Entry
			a.Desk().Watch(func(e desk.Entry) { last = e })
			response, err := a.RequestPermission(t.Context(), mayRun("bash"))
			require.Equal(t, test.want, last.Outcome.Status)
			if test.reply == broken {
				require.ErrorIs(t, err, broken)
			} else {
				require.Equal(t, acp.PermissionOptionId(test.reply.(string)), response.Outcome.Selected.OptionId)
			}
		})
	}
}

// overtaken is a client whose yes comes when the desk has said no.
type overtaken struct {
	a *adapter.Adapter
}

func (c *overtaken) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	err := c.a.Desk().Answer(called(c.a, string(r.ToolCall.ToolCallId)), []convert.Answer{{Selected: []string{"Deny"}}}, "phone")
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("allow")}, err
}

// A no that was given at the desk stands, also if the editor says yes after it.
func TestDeskWinsOverTheEditorsPermission(t *testing.T) {
	client := &overtaken{}
	client.a = adapter.New(client, nil)
	got := <-permit(t.Context(), client.a, mayRun("bash"))
	require.NoError(t, got.err)
	require.Equal(t, acp.PermissionOptionId("deny"), got.response.Outcome.Selected.OptionId)
}

// gone is a client that fails without saying why, and whose Done knows.
type gone struct {
	scripted
	done chan struct{}
}

func (g *gone) Done() <-chan struct{} { return g.done }

// A client that is gone has not failed: Done says so where the error does not.
func TestGoneClientIsNoFailure(t *testing.T) {
	client := &gone{scripted{buttons: []any{errors.New("write failed"), errors.New("write failed")}}, make(chan struct{})}
	a := adapter.New(client, &adapter.Options{First: adapter.Permission})
	client.words = []any{errors.New("nobody")}
	o, _ := a.Ask(t.Context(), callOf("before", pick))
	require.Equal(t, convert.Failed, o.Status)
	close(client.done)
	a.EndSession("s1")
	o, _ = a.Ask(t.Context(), callOf("q", pick))
	require.Equal(t, convert.Disconnected, o.Status)
}

// shown is a client with a form whose updates are kept.
type shown struct {
	racing
	last string
}

func (s *shown) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	if u := n.Update.ToolCallUpdate; u != nil && u.Status != nil {
		s.last = string(*u.Status)
	}
	return nil
}

func (s *shown) CreateElicitation(ctx context.Context, request any) (json.RawMessage, error) {
	reply, err := s.racing.CreateElicitation(ctx, request)
	if err == nil {
		reply = json.RawMessage(`{"action":"cancel"}`)
	}
	return reply, err
}

// The tool call of a form ends as the form did, not as the client says too late.
func TestFormEndsAsItStands(t *testing.T) {
	client := &shown{}
	client.a = adapter.New(client, &adapter.Options{Forms: true})
	reply, o := client.a.AskForm(t.Context(), formOf(t, "f", port))
	require.Equal(t, convert.Answered, o.Status)
	require.JSONEq(t, accepts(`"port":9`), string(reply))
	require.Equal(t, "completed", client.last)
}
