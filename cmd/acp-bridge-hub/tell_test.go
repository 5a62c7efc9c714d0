package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What is asked once more is told once more, and each address has its own turn.
func TestNamesOfNotices(t *testing.T) {
	r := hub.Record{Conversation: "c", ID: "q", Asked: time.Unix(1000, 1)}
	again := r
	again.Asked = time.Unix(1000, 2)
	require.NotEqual(t, noticeID(&r), noticeID(&again))
	require.NotEqual(t, turnKey("https://one.example", "x"), turnKey("https://two.example", "x"))
}
