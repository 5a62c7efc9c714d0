package micro_test

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// A burst of updates, to a peer that reads.
func BenchmarkNotify(b *testing.B) {
	r, w := io.Pipe()
	go io.Copy(io.Discard, r)
	in, inEnd := io.Pipe()
	c := conn.New(in, w, nil, nil)
	update := acp.SessionNotification{SessionId: "s", Update: acp.UpdateAgentMessageText("a few words")}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.SessionUpdate(b.Context(), update); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	w.Close()
	inEnd.Close()
}

// Notifications from the peer.
func BenchmarkReceive(b *testing.B) {
	in, inEnd := io.Pipe()
	c := conn.New(in, io.Discard, nil, nil)
	update, _ := json.Marshal(acp.SessionNotification{SessionId: "s", Update: acp.UpdateAgentMessageText("a few words")})
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":%s}`+"\n", update)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		inEnd.Write(line)
	}
	inEnd.Close()
	<-c.Done()
	c.Close()
}

// What a Conn costs before it does anything.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r, w := io.Pipe()
		c := conn.New(r, io.Discard, nil, nil)
		w.Close()
		<-c.Done()
		c.Close()
	}
}

func BenchmarkEncodePermission(b *testing.B) {
	request := acp.RequestPermissionRequest{
		SessionId: "s", Meta: map[string]any{"claudeCode": true},
		ToolCall: acp.ToolCallUpdate{ToolCallId: "t", Content: []acp.ToolCallContent{acp.ToolContent(acp.TextBlock("Which?"))}},
		Options:  []acp.PermissionOption{{Name: "a", OptionId: "a"}, {Name: "b", OptionId: "b"}},
	}
	for name, f := range map[string]func(any) ([]byte, error){"SDK": json.Marshal, "conn": conn.Encode} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := f(request)
				require.NoError(b, err)
			}
		})
	}
}
