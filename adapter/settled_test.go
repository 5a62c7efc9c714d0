package adapter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// hears is a client whose user says no to everything, and that takes its time to
// hear how a request ended.
type hears struct {
	log *[]string
	id  string
}

func (h hears) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	*h.log = append(*h.log, "shows "+string(r.ToolCall.ToolCallId))
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func (h hears) Settled(o convert.Outcome) {
	*h.log = append(*h.log, "hears of "+h.id)
	time.Sleep(time.Second)
	*h.log = append(*h.log, "knows of "+h.id+": "+o.Status.String())
}

// Whoever hears how a request ended knows it before the next one is shown: after a
// no it may be that nothing is.
func TestSettledBeforeTheNextIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		a := adapter.New(hears{}, nil)
		named := func(id string) *adapter.Adapter { return a.With(hears{&log, id}) }
		first := named("a").PostPermission(t.Context(), convert.SubAgent{}, mayRun("a"))
		second := named("b").PostPermission(t.Context(), convert.SubAgent{}, mayRun("b"))
		third := named("c").PostForm(t.Context(), formOf(t, "c", size))
		go func() { _, _ = first() }()
		go func() { _, _ = second() }()
		third()
		require.Equal(t, []string{
			"shows a", "hears of a", "knows of a: cancelled",
			"shows b", "hears of b", "knows of b: cancelled",
			"shows c", "hears of c", "knows of c: cancelled",
		}, log)
	})
}

// Of a call that is answered at the desk while its first question is shown, the
// others show in the editor, too.
func TestAllOfACallAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &waits{}
		a := adapter.New(c, nil)
		question := func(text string) convert.Question {
			return convert.Question{Header: "H", Text: text, Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}
		}
		call := convert.Call{Session: "s1", ID: "c1", Questions: []convert.Question{question("One?"), question("Two?")}}
		wait := a.Post(t.Context(), call)
		done := make(chan convert.Outcome, 1)
		go func() {
			o, _ := wait()
			done <- o
		}()
		synctest.Wait()
		yes := convert.Answer{Selected: []string{"Yes"}}
		require.NoError(t, a.Desk().Answer(called(a, "c1"), []convert.Answer{yes, yes}, "phone"))
		require.Equal(t, convert.Answered, (<-done).Status)
		require.Equal(t, []string{"c1 pending", "c1 completed", "c1:2 pending", "c1:2 completed"}, c.shown)
	})
}

// A question that only the hub asks is shown in the editor while it waits, also by a
// client that keeps updates until the next message.
func TestAskedAtTheHubAloneIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &keeps{}
		a := adapter.New(c, &adapter.Options{First: adapter.Elsewhere})
		call := convert.Call{Session: "s1", ID: "c1", Questions: []convert.Question{{Header: "H", Text: "One?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}
		wait := a.Post(t.Context(), call)
		done := make(chan convert.Outcome, 1)
		go func() {
			o, _ := wait()
			done <- o
		}()
		synctest.Wait()
		require.Equal(t, []string{"c1 pending"}, c.shown)
		require.NoError(t, a.Desk().Answer(called(a, "c1"), []convert.Answer{{Selected: []string{"Yes"}}}, "phone"))
		require.Equal(t, convert.Answered, (<-done).Status)
		require.Equal(t, []string{"c1 pending", "c1 completed"}, c.shown)
	})
}

// keeps is a client that keeps what is queued until something else is sent.
type keeps struct {
	waits
	kept []acp.SessionNotification
}

func (k *keeps) QueueUpdate(_ context.Context, n acp.SessionNotification) error {
	k.kept = append(k.kept, n)
	return nil
}

func (k *keeps) SessionUpdate(ctx context.Context, n acp.SessionNotification) error {
	for _, kept := range append(k.kept, n) {
		_ = k.waits.SessionUpdate(ctx, kept)
	}
	k.kept = nil
	return nil
}

// waits is a client whose user does nothing.
type waits struct{ shown []string }

func (w *waits) RequestPermission(ctx context.Context, _ acp.RequestPermissionRequest) (r acp.RequestPermissionResponse, err error) {
	<-ctx.Done()
	return r, context.Cause(ctx)
}

func (w *waits) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	if c := n.Update.ToolCall; c != nil {
		w.shown = append(w.shown, string(c.ToolCallId)+" "+string(c.Status))
	}
	if c := n.Update.ToolCallUpdate; c != nil {
		w.shown = append(w.shown, string(c.ToolCallId)+" "+string(*c.Status))
	}
	return nil
}
