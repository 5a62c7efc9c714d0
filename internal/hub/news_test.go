package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// rang reports whether something is closed by now.
func rang(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A reader of one group has the changes of that group alone, and nothing else wakes it.
func TestReadersOfAGroup(t *testing.T) {
	b := open(t, t.TempDir(), hub.Options{})
	inGroup := func(group, conversation string) *hub.Record {
		t.Helper()
		a := asking(conversation, "id", "Go?")
		a.Group = group
		return acptest.Must(b.Ask(t.Context(), a))
	}
	before := inGroup("red", "c0")
	inGroup("blue", "c0")
	red, own, all := b.Read(0).In("red"), b.Read(0).In(""), b.Read(0)
	changes, more := red.Next()
	require.Equal(t, []string{before.Key()}, keys(changes), "what is open begins")
	changes, mine := own.Next()
	require.Empty(t, changes, "the owner's group is one as any other")
	changes, any := all.Next()
	require.Len(t, changes, 2)

	inGroup("blue", "c1")
	require.False(t, rang(more))
	require.False(t, rang(mine))
	require.True(t, rang(any))

	asked := inGroup("red", "c1")
	require.True(t, rang(more))
	require.False(t, rang(mine))
	changes, _ = red.Next()
	require.Equal(t, []string{asked.Key()}, keys(changes), "and not what came of the other group")

	since, _ := b.Read(before.Revision).In("red").Next()
	require.Equal(t, []string{asked.Key()}, keys(since))
}

// Who waits for questions alone is woken by those that are open, of its group.
func TestReadersOfWhatIsAsked(t *testing.T) {
	b := boardBeside(t)
	all, red := b.Read(0), b.Read(0).In("red")
	first := acptest.Must(b.Ask(t.Context(), asking("c", "id", "Go?")))
	all.Next()
	red.Next()
	acptest.Must(b.Cancel(t.Context(), first.Ref(), "you"))
	require.False(t, rang(all.Asked()))
	acptest.Must(b.Ask(t.Context(), asking("c", "other", "Stop?")))
	require.True(t, rang(all.Asked()))
	require.False(t, rang(red.Asked()))
	changes, _ := all.Next()
	require.Len(t, changes, 2)
	require.False(t, rang(all.Asked()))
}

func keys(list []*hub.Record) (all []string) {
	for _, r := range list {
		all = append(all, r.Key())
	}
	return all
}
