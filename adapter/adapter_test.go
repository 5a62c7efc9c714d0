package adapter_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

var _ adapter.Client = (*acp.AgentSideConnection)(nil) // the SDK's own connection will do

func TestQuestionsOfASessionTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(e.conn, nil)
		first := begin(t.Context(), a, callOf("one", pick, multi))
		req := e.request()
		second := begin(t.Context(), a, callOf("two", pick))
		synctest.Wait()
		var permission acp.RequestPermissionResponse
		permitted := make(chan struct{})
		go func() {
			defer close(permitted)
			permission, _ = a.RequestPermission(t.Context(), acp.RequestPermissionRequest{SessionId: "s1", ToolCall: acp.ToolCallUpdate{ToolCallId: "bash"}})
		}()
		synctest.Wait()

		require.Equal(t, "one", req.Get("params.toolCall.toolCallId").Str)
		e.selects(req, "PostgreSQL")
		req = e.request()
		require.Equal(t, "one:2", req.Get("params.toolCall.toolCallId").Str)
		e.selects(req, "Cache")
		req = e.request()
		require.Equal(t, "__done__", req.Get("params.options.0.optionId").Str)
		e.selects(req, "__done__")
		req = e.request()
		require.Equal(t, "two", req.Get("params.toolCall.toolCallId").Str)
		e.selects(req, "SQLite")
		req = e.request()
		require.Equal(t, "bash", req.Get("params.toolCall.toolCallId").Str)
		e.selects(req, "allow")

		<-permitted
		require.Equal(t, acp.PermissionOptionId("allow"), permission.Outcome.Selected.OptionId)
		require.Equal(t, []convert.Answer{{Selected: []string{"PostgreSQL"}}, {Selected: []string{"Cache"}}}, first.wait().Answers)
		require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, second.wait().Answers)
		require.Equal(t, []string{
			"one pending Which database?\n\nQuestion 1 of 2.",
			"one completed Which database? → PostgreSQL",
			"one:2 pending Which features?\n\nQuestion 2 of 2.",
			"one:2 completed Which features? → Cache",
			"two pending Which database?",
			"two completed Which database? → SQLite",
		}, e.updates)
		e.leave()
	})
}

func TestSessionsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(permissionOnly{e.conn}, nil)
		var calls []*asked
		for i := range 50 {
			c := callOf("q", pick)
			c.Session = fmt.Sprint("s", i)
			calls = append(calls, begin(t.Context(), a, c))
		}
		var requests []gjson.Result
		for range calls { // all are open before the first is answered
			requests = append(requests, e.request())
		}
		require.Len(t, a.Desk().List(), len(calls))
		for _, r := range requests {
			e.selects(r, "SQLite")
		}
		for _, c := range calls {
			require.Equal(t, one("SQLite"), c.wait().Answers)
		}
		e.leave()
	})
}

// A call that is dismissed ends, with the answers that it had. Whether another one of
// its session goes with it is for whoever knows the turns: it has its turn here.
func TestCancelEndsTheCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(e.conn, nil)
		first := begin(t.Context(), a, callOf("one", pick, pick, pick))
		req := e.request()
		second := begin(t.Context(), a, callOf("two", pick))
		synctest.Wait()
		e.selects(req, "SQLite")
		e.cancels(e.request())
		e.selects(e.request(), "SQLite")
		leave := e.drain()
		o := first.wait()
		require.Equal(t, convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, o)
		require.ErrorIs(t, first.err, convert.ErrCancelled)
		require.Equal(t, one("SQLite"), second.wait().Answers)
		require.Empty(t, a.Desk().List())
		leave()
		require.Equal(t, []string{
			"one pending Which database?\n\nQuestion 1 of 3.",
			"one completed Which database? → SQLite",
			"one:2 pending Which database?\n\nQuestion 2 of 3.",
			"one:2 failed Which database? → User cancelled the question",
			"two pending Which database?",
			"two completed Which database? → SQLite",
		}, e.updates)
	})
}

func TestContextWithdrawsTheQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  convert.Status
	}{
		"cancelled":           {context.Canceled, convert.Withdrawn},
		"cancelled by a user": {convert.ErrCancelled, convert.Cancelled},
		"deadline":            {context.DeadlineExceeded, convert.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEditor(t)
				a := adapter.New(e.conn, nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				call := begin(ctx, a, callOf("q", pick))
				req := e.request()
				waiting := begin(ctx, a, callOf("behind", pick))
				synctest.Wait()
				cancel(test.cause)
				withdrawn := e.notification("$/cancel_request")
				require.Equal(t, req.Get("id").Raw, withdrawn.Get("params.requestId").Raw)
				leave := e.drain()
				require.Equal(t, test.want, call.wait().Status)
				require.Equal(t, test.want, waiting.wait().Status)
				e.selects(req, "SQLite") // too late, and harmless
				synctest.Wait()
				require.Empty(t, a.Desk().List())
				leave()
				require.Len(t, e.updates, 2)
				require.True(t, strings.HasPrefix(e.updates[1], "q failed "), e.updates[1])
			})
		})
	}
}

func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(e.conn, nil)
		call := begin(t.Context(), a, callOf("q", pick))
		e.request()
		behind := begin(t.Context(), a, callOf("behind", pick))
		e.leave()
		require.Equal(t, convert.Disconnected, call.wait().Status)
		require.ErrorIs(t, call.err, convert.ErrDisconnected)
		o := behind.wait()
		require.Equal(t, convert.Disconnected, o.Status, o.Reason)
	})
}

func TestOpenQuestionsCanBeAnsweredFromCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		e := newEditor(t)
		a := adapter.New(e.conn, nil)
		a.Desk().Watch(func(c desk.Entry) {
			mu.Lock()
			defer mu.Unlock()
			line := fmt.Sprint(c.Call.ID, " ", c.State)
			switch c.State {
			case desk.Asking:
				line += fmt.Sprint(" ", c.Question, " ", c.Rung)
			case desk.Settled:
				line += " " + c.Outcome.Status.String()
			}
			seen = append(seen, line)
		})
		one := begin(t.Context(), a, callOf("one", pick, multi))
		e.selects(e.request(), "PostgreSQL")
		e.request()
		two := begin(t.Context(), a, callOf("two", pick))
		synctest.Wait()

		open := a.Desk().List()
		require.Len(t, open, 2)
		require.Equal(t, "one", open[0].Call.ID)
		require.Equal(t, desk.Asking, open[0].State)
		require.Equal(t, 1, open[0].Question)
		require.Equal(t, desk.Queued, open[1].State)

		require.ErrorIs(t, a.Desk().Answer("one", nil, "code"), desk.ErrNotOpen)
		require.ErrorIs(t, a.Desk().Answer(called(a, "one"), []convert.Answer{{Selected: []string{"Oracle"}}}, "code"), convert.ErrFailed)
		answers := []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth", "Logs"}}}
		require.NoError(t, a.Desk().Answer(called(a, "one"), answers, "code"))
		require.ErrorIs(t, a.Desk().Answer(open[0].Name, answers, "code"), desk.ErrSettled, "answered twice")
		e.notification("$/cancel_request")
		require.Equal(t, "two", e.request().Get("params.toolCall.toolCallId").Str)
		require.Equal(t, answers, one.wait().Answers)
		require.NoError(t, one.err)

		require.NoError(t, a.Desk().Cancel(called(a, "two"), "code"))
		leave := e.drain()
		require.Equal(t, convert.Cancelled, two.wait().Status)
		require.ErrorIs(t, a.Desk().Cancel(open[1].Name, "code"), desk.ErrSettled)
		require.Equal(t, []string{
			"one queued", "one asking 0 permission", "one asking 1 permission",
			"two queued", "one settled answered", "two asking 0 permission", "two settled cancelled",
		}, seen)
		leave()
		require.Contains(t, e.updates, "one:2 completed Which features? → Auth, Logs")
	})
}

func TestCallsThatCannotBeAsked(t *testing.T) {
	a := adapter.New(permissionOnly{nil}, nil)
	for name, c := range map[string]convert.Call{
		"no questions":    {},
		"empty label":     {Questions: []convert.Question{{Text: "a?", Options: []convert.Option{{}}}}},
		"duplicate label": {Questions: []convert.Question{{Text: "a?", Options: []convert.Option{{Label: "x"}, {Label: "x"}}}}},
	} {
		o, err := a.Ask(t.Context(), c)
		require.Equal(t, convert.Failed, o.Status, name)
		require.ErrorIs(t, err, convert.ErrFailed, name)
	}
}

// Two sub-agents whose models count alike ask at once under one id: both are asked, each as
// a tool call of its own.
func TestSameIDTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(permissionOnly{e.conn}, nil)
		first := begin(t.Context(), a, callOf("ask:0", pick))
		req := e.request()
		second := begin(t.Context(), a, callOf("ask:0", pick))
		synctest.Wait()
		e.selects(req, "SQLite")
		require.Equal(t, "SQLite", first.wait().Answers[0].Selected[0])
		next := e.request()
		require.NotEqual(t, req.Get("params.toolCall.toolCallId").Str, next.Get("params.toolCall.toolCallId").Str)
		e.selects(next, "PostgreSQL")
		require.Equal(t, "PostgreSQL", second.wait().Answers[0].Selected[0])
		e.leave()
	})
}

// The guard distrusts a first reply that comes at once, of whatever kind, and
// believes words.
func TestGuard(t *testing.T) {
	const selected = `{"outcome":{"outcome":"selected","optionId":"SQLite"}}`
	for name, test := range map[string]struct {
		reply string
		after time.Duration
		guard bool
		want  convert.Status
	}{
		"at once":             {selected, 24 * time.Millisecond, true, convert.Failed},
		"just too fast":       {selected, seen.Person - time.Millisecond, true, convert.Failed},
		"slow enough":         {selected, seen.Person, true, convert.Answered},
		"without the guard":   {selected, 0, false, convert.Answered},
		"cancelled at once":   {`{"outcome":{"outcome":"cancelled"}}`, 20 * time.Millisecond, true, convert.Failed},
		"cancelled by a hand": {`{"outcome":{"outcome":"cancelled"}}`, time.Second, true, convert.Cancelled},
		"words at once":       {`{"outcome":{"outcome":"selected","optionId":"__other__","_meta":{"customText":"Redis"}}}`, 0, true, convert.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEditor(t)
				a := adapter.New(permissionOnly{e.conn}, &adapter.Options{Guard: test.guard})
				call := begin(t.Context(), a, callOf("q", pick))
				req := e.request()
				time.Sleep(test.after)
				e.result(req, test.reply)
				require.Equal(t, test.want, call.wait().Status)
				e.leave()
			})
		})
	}
}

// 1,000 sessions with a question each: little memory, and nothing left after.
func TestManySessions(t *testing.T) {
	const sessions = 1000
	e := newEditor(t)
	a := adapter.New(permissionOnly{e.conn}, nil)
	goroutines, before := runtime.NumGoroutine(), heap()
	calls := make([]*asked, sessions)
	for i := range calls {
		c := callOf("q", pick)
		c.Session = fmt.Sprint("s", i)
		calls[i] = begin(t.Context(), a, c)
	}
	ids := make([]string, 0, sessions)
	for range sessions {
		ids = append(ids, e.request().Get("id").Raw)
	}
	require.Len(t, a.Desk().List(), sessions)
	per := int(heap()-before) / sessions
	t.Logf("%d bytes of heap a session", per)
	require.Less(t, per, 64<<10)
	for _, id := range ids {
		acptest.Must(fmt.Fprintf(e.out, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"SQLite"}}}`+"\n", id))
	}
	for _, c := range calls {
		require.Equal(t, convert.Answered, c.wait().Status)
	}
	for deadline := time.Now().Add(5 * time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.Empty(t, a.Desk().List())
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Many questions are open when the client goes: none of them failed.
func TestDisconnectWithManyOpen(t *testing.T) {
	for range 20 {
		e := newEditor(t)
		a := adapter.New(permissionOnly{e.conn}, nil)
		var calls []*asked
		for i := range 20 {
			c := callOf("q", pick)
			c.Session = fmt.Sprint("s", i)
			calls = append(calls, begin(t.Context(), a, c))
		}
		for range calls {
			e.request()
		}
		e.leave()
		for _, c := range calls {
			require.Equal(t, convert.Disconnected, c.wait().Status, c.outcome.Reason)
		}
	}
}

// The end of a tool call says for which sub-agent the question was, if it was for one.
func TestTheEndSaysForWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t)
		a := adapter.New(e.conn, nil)
		for _, parent := range []string{"", "toolu_task"} {
			c := callOf("q"+parent, pick)
			c.SubAgent.Parent = parent
			asked := begin(t.Context(), a, c)
			e.selects(e.request(), "SQLite")
			end := e.notification("session/update").Get("params.update")
			require.Equal(t, "completed", end.Get("status").Str)
			require.Equal(t, parent != "", end.Get("_meta.claudeCode").Exists())
			require.Equal(t, parent, end.Get("_meta.claudeCode.parentToolUseId").Str)
			asked.wait()
		}
		e.leave()
	})
}

// called is the name at the desk of what is open there under an id of the agent.
func called(a *adapter.Adapter, id string) (name string) {
	for _, e := range a.Desk().List() {
		if e.Call.ID == id {
			name = e.Name
		}
	}
	return name
}
