package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/life"
)

// A question that is gone because somebody ended it elsewhere says so, also where nobody
// said who.
func TestGoneElsewhere(t *testing.T) {
	for want, why := range map[string]error{
		"This question was answered elsewhere by Ann. It needs no answer here.":  life.Elsewhere{Outcome: "answered", By: "Ann"},
		"This question was dismissed elsewhere by Ann. It needs no answer here.": life.Elsewhere{Outcome: "cancelled", By: "Ann"},
		"This question was answered elsewhere. It needs no answer here.":         life.Elsewhere{Outcome: "answered"},
	} {
		require.Equal(t, "\n\n"+want+"\n\n", GoneRemark(why))
	}
	require.NotContains(t, GoneRemark(life.ErrSettled), "elsewhere", "nobody answered it")
}
