//go:build unix

package client_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// TestScripts plays each script of testdata/scripts: a window, its user and its agent. Of lines
// see [acptest.Script].
//
//	open                          a window, whose agent answers initialize and session/new
//	working                       one with a prompt that runs
//	sees '2. Reject'              waits until something new holds this
//	types "go\r"                  keys, at once; presses: as fingers do, when hands have rested
//	asks one permission PARAMS    a request of the agent, which is called one: of permission, or a form
//	insists 2 one '{"outcome":…}' a key, until there is the reply; reply: without a key
//	updates JSON...               what the agent does; updatesin SESSION JSON...
//	prompted go                   the agent has the next prompt, which is that
//	ends end_turn                 it ends the oldest one; endslast: the newest; fails
//	leaves                        the user leaves; quits; done: the window has ended
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range acptest.Scripts(t, "testdata/scripts/*.txtar") {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			maps.Copy(script.Vars, literals)
			p := &played{t: t, replies: map[string]<-chan string{}, withdraw: map[string]context.CancelFunc{}}
			for _, p.line = range script.Lines {
				a := script.Command(t, p.line)
				p.play(a[0], a[1:])
			}
		})
	}
}

// played is a script that is played.
type played struct {
	*window
	t        *testing.T
	line     string
	prompts  []*prompt // that run
	replies  map[string]<-chan string
	withdraw map[string]context.CancelFunc
}

// literals are requests of the agent that scripts know by name.
var literals = map[string]string{
	"permission": permission, "clean": strings.ReplaceAll(permission, "make test", "make clean"),
	"bare": barePermission, "ofsub": strings.Replace(barePermission, `"s"`, `"sub"`, 1), "form": form, "two": twoFields,
}

var methods = map[string]string{"permission": acp.ClientMethodSessionRequestPermission, "form": acp.ClientMethodElicitationCreate}

func (p *played) play(command string, a []string) {
	p.t.Helper()
	switch command {
	case "open":
		o := client.Options{Dir: "/srv/shop"}
		if len(a) > 0 { // the program around it has a command of its own
			o.Commands = []client.Command{{Name: a[0], Description: a[1], Run: func(args string) string { return a[2] + args + a[3] }}}
		}
		p.window = openWindow(p.t, o)
	case "working":
		p.window = openWindow(p.t, client.Options{})
		p.sees(">")
		p.prompts = append(p.prompts, p.prompted())
	case "at": // a desk, with an agent of that name
		p.window, _, _ = atADesk(p.t, a[0])
	case "sees":
		p.sees(a[0])
	case "types":
		p.types(a[0])
	case "presses":
		p.presses(a...)
	case "asks":
		ctx, withdraw := context.WithCancel(p.t.Context())
		p.t.Cleanup(withdraw)
		p.replies[a[0]], p.withdraw[a[0]] = p.asks(ctx, methods[a[1]], a[2]), withdraw
	case "withdraws":
		p.withdraw[a[0]]()
	case "reply":
		require.JSONEq(p.t, a[1], acptest.Next(p.t, p.replies[a[0]]), p.line)
	case "refused":
		require.Contains(p.t, acptest.Next(p.t, p.replies[a[0]]), a[1], p.line)
	case "insists":
		require.JSONEq(p.t, a[2], p.insists(a[0], p.replies[a[1]]), p.line)
	case "updates":
		p.updates(a...)
	case "updatesin":
		p.updatesIn(a[0], a[1:]...)
	case "prompted":
		one := acptest.Next(p.t, p.window.prompts)
		require.Equal(p.t, a[0], one.words, p.line)
		p.prompts = append(p.prompts, one)
	case "ends":
		p.prompts[0].answer <- a[0]
		p.prompts = p.prompts[1:]
	case "endslast":
		p.prompts[len(p.prompts)-1].answer <- a[0]
		p.prompts = p.prompts[:len(p.prompts)-1]
	case "fails":
		p.prompts[0].answer <- &acp.RequestError{Code: -32000, Message: a[0]}
		p.prompts = p.prompts[1:]
	case "cancels": // the agent is told of a cancel
		acptest.Next(p.t, p.cancels)
	case "hangs": // up: the agent is gone
		p.hang()
	case "leaves":
		require.NoError(p.t, p.leaves())
	case "quits":
		p.quits()
	case "done":
		if err := acptest.Next(p.t, p.done); len(a) > 0 {
			require.EqualError(p.t, err, a[0])
		} else {
			require.NoError(p.t, err)
		}
	default:
		require.Fail(p.t, "no such command", p.line)
	}
}
