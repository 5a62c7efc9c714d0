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
