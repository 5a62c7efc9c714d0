package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// What is asked for as a secret is in no line of the wire, short or full. Another reply
// with the same id is as it was.
func TestTheWireShowsNoSecret(t *testing.T) {
	const form = `{"id":7,"method":"elicitation/create","params":{"mode":"form","message":"%","requestedSchema":{"type":"object","properties":{"value":{"type":"string","title":"%"}}}}}`
	for _, full := range []bool{false, true} {
		w := &wire{full: full}
		for _, asks := range []struct {
			what  string
			shown bool
		}{{"Enter your password", false}, {"What is your name?", true}} {
			w.lines(ndjson.In, strings.ReplaceAll(form, "%", asks.what), 300)
			got := strings.Join(w.lines(ndjson.Out, `{"id":7,"result":{"action":"accept","content":{"value":"hunter2"}}}`, 300), "\n")
			require.Equal(t, asks.shown, strings.Contains(got, "hunter2"), got)
			require.Equal(t, !asks.shown, strings.HasSuffix(got, "elicitation/create result (not shown)"), got)
		}
	}
}
