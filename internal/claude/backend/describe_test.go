package backend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// A card says which model asks: the one that is set, by the name that people know.
func TestDescribe(t *testing.T) {
	s := &conversation{setup: setup{cwd: "/src"}}
	s.chosen.Store(&choices{model: "opus"})
	var it desk.Item
	s.Describe(&it)
	require.Empty(t, it.About.Model, "it has not said what it has")
	s.info.Store(&claude.InitInfo{Models: []claude.Model{{Value: "default", DisplayName: "Sonnet 5"}, {Value: "opus", DisplayName: "Opus 5"}}})
	s.Describe(&it)
	require.Equal(t, "Claude Code", it.Agent)
	require.Equal(t, "/src", it.Dir)
	require.Equal(t, "Opus 5", it.About.Model)
}
