//go:build linux

package proxy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// TestRealPermission has real agents ask for permission to run a command. Nobody
// answers in the editor; at the desk there is all of the command, and the agent's own
// options.
func TestRealPermission(t *testing.T) {
	command := "touch marker; " + strings.Repeat("echo one two three; ", 10) + "echo the end"
	for _, a := range []struct {
		name, tool, mode, allow, reject string
	}{
		{"goose", "shell", "approve", "allow_once", "reject_once"},
		{"kimi", "Bash", "", "Approve once", "Reject"},
		{"opencode", "bash", "", "Allow once", "Reject"},
		{"kilo", "bash", "", "Allow once", "Reject"},
	} {
		t.Run(a.name, func(t *testing.T) {
			agent := findReal(t, a.name)
			t.Parallel()
			r := realAgent{name: a.name}.start(t, agent, noForms)
			r.user.leaves()
			entries := make(chan desk.Entry, 100)
			defer r.desk.Watch(func(e desk.Entry) { entries <- e })()
			for _, label := range []string{a.reject, a.allow} {
				r.openWith(t, []any{}, modeltest.Use("call_perm0001", a.tool, object{"command": command}), modeltest.Say("Thank you."))
				if a.mode != "" {
					r.call(t, "session/set_mode", object{"sessionId": r.session, "modeId": a.mode})
				}
				done := r.promptSoon(r.task)
				e := atTheDesk(t, r, entries, command, convert.Answer{Selected: []string{label}})
				require.Equal(t, r.dir, e.Dir)
				require.NotEmpty(t, e.Agent)
				r.await(t, done)
				_, err := os.Stat(filepath.Join(r.dir, "marker"))
				require.Equal(t, label == a.allow, err == nil, "%s: %v", label, err)
			}
			if a.tool == "bash" {
				t.Run("of a sub-agent", func(t *testing.T) { realSubAgentPermission(t, r, entries) })
				t.Run("rejected with a reason", func(t *testing.T) { realReason(t, r, entries) })
			}
		})
	}
}

func awaitState(t *testing.T, entries <-chan desk.Entry, state desk.State) desk.Entry {
	t.Helper()
	for {
		select {
		case e := <-entries:
			if e.State == state {
				return e
			}
		case <-time.After(realPatience):
			require.Fail(t, "nothing happens at the desk")
		}
	}
}

func awaitPermit(t *testing.T, r *realRun) gjson.Result {
	t.Helper()
	return acptest.Next(t, r.user.permits)
}

// allowed and rejected are answers to a permission of OpenCode or Kilo.
var (
	allowed  = convert.Answer{Selected: []string{"Allow once"}}
	rejected = convert.Answer{Selected: []string{"Reject"}, Note: "use printf"}
)

// atTheDesk answers the next permission, which is for a command, at the desk. OpenCode
// shows more of its call a millisecond after it has asked: that is another permission.
func atTheDesk(t *testing.T, r *realRun, entries <-chan desk.Entry, command string, a convert.Answer) desk.Entry {
	t.Helper()
	for {
		e := awaitState(t, entries, desk.Asking)
		require.Equal(t, desk.Permission, e.Kind)
		require.Equal(t, r.session, e.Call.Session, "in the conversation")
		require.Equal(t, command, gjson.GetBytes(e.Call.Input, "command").Str)
		err := r.desk.Answer(e.Name, []convert.Answer{a}, "phone")
		if errors.Is(err, desk.ErrSettled) {
			continue
		}
		require.NoError(t, err)
		require.True(t, awaitPermit(t, r).Exists(), "the editor was asked")
		require.False(t, awaitPermit(t, r).Exists(), "and it was taken back there")
		return e
	}
}

func bashCall(id, command string) modeltest.Reply {
	return modeltest.Use(id, "bash", object{"command": command, "description": "does it"})
}

// realSubAgentPermission has a sub-agent wait for permission. It is at the desk, in the
// conversation, and the sub-agent's model gets the reason of a rejection.
func realSubAgentPermission(t *testing.T, r *realRun, entries <-chan desk.Entry) {
	for _, answer := range []convert.Answer{allowed, rejected} {
		r.openWith(t, []any{}, modeltest.Use("call_task0001", "task", object{"description": "Look around", "prompt": "look around", "subagent_type": "general"}),
			bashCall("call_sub0001", "touch delegated"), modeltest.Say("Looked."), modeltest.Say("Thank you."))
		os.Remove(filepath.Join(r.dir, "delegated"))
		done := r.promptSoon(r.task)
		atTheDesk(t, r, entries, "touch delegated", answer)
		r.await(t, done)
		if answer.Note == "" {
			require.FileExists(t, filepath.Join(r.dir, "delegated"))
			continue
		}
		require.NoFileExists(t, filepath.Join(r.dir, "delegated"))
		require.Contains(t, r.resultIn(t, 2), answer.Note)
	}
}

// realReason rejects a permission with a reason. It reaches the model at the agent's API,
// because ACP has no place for it.
func realReason(t *testing.T, r *realRun, entries <-chan desk.Entry) {
	r.openWith(t, []any{}, bashCall("call_own0001", "touch never"), modeltest.Say("Thank you."))
	done := r.promptSoon(r.task)
	atTheDesk(t, r, entries, "touch never", rejected)
	r.await(t, done)
	require.NoFileExists(t, filepath.Join(r.dir, "never"))
	require.Contains(t, r.result(t), rejected.Note)
}
