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
type hears struct{ log *[]string }

func (h hears) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	*h.log = append(*h.log, "shows "+string(r.ToolCall.ToolCallId))
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func (h hears) Settled(ctx context.Context, o convert.Outcome) {
	id := ctx.Value(hears{}).(string)
	*h.log = append(*h.log, "hears of "+id)
	time.Sleep(time.Second)
	*h.log = append(*h.log, "knows of "+id+": "+o.Status.String())
}

// Whoever hears how a request ended knows it before the next one is shown: after a
// no it may be that nothing is.
func TestSettledBeforeTheNextIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		a := adapter.New(hears{&log}, nil)
		named := func(id string) context.Context { return context.WithValue(t.Context(), hears{}, id) }
		first := a.PostPermission(named("a"), convert.SubAgent{}, mayRun("a"))
		second := a.PostPermission(named("b"), convert.SubAgent{}, mayRun("b"))
		third := a.PostForm(named("c"), formOf(t, "c", size))
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
