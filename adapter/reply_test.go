package adapter_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Every shape that was tried on the SDK. None becomes an answer or a refusal
// that it is not, and none hangs: a test that waits for ever deadlocks its
// bubble and fails.
func TestReplyShapes(t *testing.T) {
	const selected = `{"outcome":{"outcome":"selected","optionId":"SQLite"}}`
	ok := func(result string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + result + `}` }
	fail := func(err string) string { return `{"jsonrpc":"2.0","id":ID,"error":` + err + `}` }
	tests := []struct {
		name, response string
		want           convert.Status
	}{
		{"selected", ok(selected), convert.Answered},
		{"cancelled", ok(`{"outcome":{"outcome":"cancelled"}}`), convert.Cancelled},
		{"cancelled with _meta", ok(`{"outcome":{"outcome":"cancelled","_meta":{"a":1}}}`), convert.Cancelled},
		{"deferred", ok(`{"outcome":{"outcome":"deferred"}}`), convert.Failed},
		{"wrong case", ok(`{"outcome":{"outcome":"Selected","optionId":"SQLite"}}`), convert.Failed},
		{"empty outcome", ok(`{"outcome":{}}`), convert.Failed},
		{"optionId alone", ok(`{"outcome":{"optionId":"SQLite"}}`), convert.Failed},
		{"flat", ok(`{"outcome":"selected","optionId":"SQLite"}`), convert.Failed},
		{"outcome null", ok(`{"outcome":null}`), convert.Failed},
		{"outcome missing", ok(`{}`), convert.Failed},
		{"result null", ok(`null`), convert.Failed},
		{"result missing", `{"jsonrpc":"2.0","id":ID}`, convert.Failed},
		{"result an array", ok(`[]`), convert.Failed},
		{"no optionId", ok(`{"outcome":{"outcome":"selected"}}`), convert.Failed},
		{"optionId a number", ok(`{"outcome":{"outcome":"selected","optionId":1}}`), convert.Failed},
		{"optionId null", ok(`{"outcome":{"outcome":"selected","optionId":null}}`), convert.Failed},
		{"no optionId, text", ok(`{"outcome":{"outcome":"selected","_meta":{"customText":"SQLite"}}}`), convert.Failed},
		{"no optionId, ids a string", ok(`{"outcome":{"outcome":"selected","_meta":{"selectedOptionIds":"SQLite"}}}`), convert.Failed},
		{"optionId empty, notes", ok(`{"outcome":{"outcome":"selected","optionId":"","_meta":{"notes":"SQLite"}}}`), convert.Failed},
		{"_meta a string", ok(`{"outcome":{"outcome":"selected","optionId":"SQLite","_meta":"x"}}`), convert.Failed},
		{"_meta null", ok(`{"outcome":{"outcome":"selected","optionId":"SQLite","_meta":null},"_meta":null}`), convert.Answered},
		{"duplicate optionId", ok(`{"outcome":{"outcome":"selected","optionId":"PostgreSQL","optionId":"SQLite"}}`), convert.Failed},
		{"optionID", ok(`{"outcome":{"outcome":"selected","optionID":"SQLite"}}`), convert.Failed},
		{"never offered", ok(`{"outcome":{"outcome":"selected","optionId":"Oracle"}}`), convert.Failed},
		{"error -32601", fail(`{"code":-32601,"message":"Method not found"}`), convert.Failed},
		{"error -32800", fail(`{"code":-32800,"message":"Request cancelled"}`), convert.Failed},
		{"error a string", fail(`"boom"`), convert.Failed},
		{"error null with result", `{"jsonrpc":"2.0","id":ID,"error":null,"result":` + selected + `}`, convert.Answered},
		{"error and result", `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"x"},"result":` + selected + `}`, convert.Failed},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":ID,"result":` + selected + `}`, convert.Answered},
		{"id echoed as a string", `{"jsonrpc":"2.0","id":"ID","result":` + selected + `}`, convert.Answered},
		{"the same response twice", ok(selected) + "\n" + ok(selected), convert.Answered},
		{"garbage first", "nonsense\n" + ok(selected), convert.Answered},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEditor(t)
				a := begin(t.Context(), adapter.New(permissionOnly{e.conn}, nil), callOf("q", pick))
				e.reply(e.request(), test.response)
				leave := e.drain()
				o := a.wait()
				require.Equal(t, test.want, o.Status, o.Reason)
				switch test.want {
				case convert.Answered:
					require.NoError(t, a.err)
					require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, o.Answers)
				default:
					require.Error(t, a.err)
					require.Empty(t, o.Answers)
					require.NotEmpty(t, o.Reason)
				}
				leave()
			})
		})
	}
}

// An answer that is followed by the end of the connection counts.
func TestAnswerThenEOF(t *testing.T) {
	for range 3000 {
		e := newEditor(t)
		a := begin(t.Context(), adapter.New(permissionOnly{e.conn}, nil), callOf("q", pick))
		e.selects(e.request(), "SQLite")
		e.out.Close()
		o := a.wait()
		require.Equal(t, convert.Answered, o.Status, o.Reason)
	}
}
