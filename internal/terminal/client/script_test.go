//go:build unix

package client_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// TestScripts plays each file of each testdata/scripts/*.txtar: a window, its user and its agent.
// A line is a command; one that begins with # is a comment. 'x y' and "x\n" are one word.
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
	files, err := filepath.Glob("testdata/scripts/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, script := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+script.Name, func(t *testing.T) {
				t.Parallel()
				p := &played{t: t, replies: map[string]<-chan string{}, withdraw: map[string]context.CancelFunc{}}
				for line := range strings.Lines(string(script.Data)) {
					if a := scriptWords(t, strings.TrimRight(line, "\n")); len(a) > 0 && a[0][0] != '#' {
						p.line = line
						p.play(a[0], a[1:])
					}
				}
			})
		}
	}
}

var scriptWord = regexp.MustCompile(`'[^']*'|"(?:[^"\\]|\\.)*"|\S+`)

func scriptWords(t *testing.T, line string) (list []string) {
	for _, w := range scriptWord.FindAllString(line, -1) {
		switch w[0] {
		case '\'':
			w = strings.Trim(w, "'")
		case '"':
			text, err := strconv.Unquote(w)
			require.NoError(t, err, line)
			w = text
		}
		list = append(list, w)
	}
	return list
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
var literals = strings.NewReplacer("$permission", permission, "$clean", strings.ReplaceAll(permission, "make test", "make clean"),
	"$bare", barePermission, "$ofsub", strings.Replace(barePermission, `"s"`, `"sub"`, 1), "$form", form, "$two", twoFields)

var methods = map[string]string{"permission": acp.ClientMethodSessionRequestPermission, "form": acp.ClientMethodElicitationCreate}

func (p *played) play(command string, a []string) {
	p.t.Helper()
	for i := range a {
		a[i] = literals.Replace(a[i])
	}
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
		require.JSONEq(p.t, a[1], await(p.t, p.replies[a[0]]), p.line)
	case "refused":
		require.Contains(p.t, await(p.t, p.replies[a[0]]), a[1], p.line)
	case "insists":
		require.JSONEq(p.t, a[2], p.insists(a[0], p.replies[a[1]]), p.line)
	case "updates":
		p.updates(a...)
	case "updatesin":
		p.updatesIn(a[0], a[1:]...)
	case "prompted":
		one := await(p.t, p.window.prompts)
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
		await(p.t, p.cancels)
	case "hangs": // up: the agent is gone
		p.hang()
	case "leaves":
		require.NoError(p.t, p.leaves())
	case "quits":
		p.quits()
	case "done":
		if err := await(p.t, p.done); len(a) > 0 {
			require.EqualError(p.t, err, a[0])
		} else {
			require.NoError(p.t, err)
		}
	default:
		require.Fail(p.t, "no such command", p.line)
	}
}
