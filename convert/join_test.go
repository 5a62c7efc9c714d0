package convert_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/calltest"
)

func TestJoinSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(calltest.Labels, 1, 5).Draw(t, "items")
		require.Equal(t, items, convert.Split(convert.Join(items)))
	})
}
