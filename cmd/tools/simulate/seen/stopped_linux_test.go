package seen_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// surfaces are what a child process of TestRule3StoodStill is, by name.
var surfaces = map[string]surface{"serve": serves, "proxy": relays}

// asChild is a process with a surface on its standard streams. What the agent is told
// goes to standard error.
func asChild() {
	name := os.Getenv("SEEN_TEST_SURFACE")
	if name == "" {
		return
	}
	n := nature{guard: true, rung: adapter.Conversation}
	if os.Getenv("SEEN_TEST_RUNG") == "permission" {
		n.rung = adapter.Permission
	}
	surfaces[name](context.Background(), os.Stdin, os.Stdout, n, func(said string) { fmt.Fprintln(os.Stderr, said) })
	os.Exit(0)
}

// A process that stands still for a second behind its question takes nothing for an
// answer that was written in that time. What a person says later counts. If the machine is
// slower than a person, this is tried again.
func TestRule3StoodStill(t *testing.T) {
	t.Parallel()
	for name := range surfaces {
		for _, rung := range []string{"conversation", "permission"} {
			for _, mute := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", rung, " mute ", mute), func(t *testing.T) {
					t.Parallel()
					for !stoodStill(t, name, rung, mute) {
					}
				})
			}
		}
	}
}

func stoodStill(t *testing.T, name, rung string, mute bool) (soon bool) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "SEEN_TEST_SURFACE="+name, "SEEN_TEST_RUNG="+rung)
	in := acptest.Must(cmd.StdinPipe())
	out := acptest.Must(cmd.StdoutPipe())
	var told strings.Builder
	cmd.Stderr = &told
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	send := func(line string) {
		acptest.Must(io.WriteString(in, line+"\n"))
	}
	prompts := 0
	prompt := func(text string) {
		prompts++
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":%q}]}}`, prompts, text))
	}
	// answers replies to a question, in whichever way it was asked.
	answers := func(m gjson.Result, text string) {
		if id := m.Get("id").Raw; m.Get("method").Exists() {
			send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"` + text + `"}}}`)
			return
		}
		prompt(text)
	}
	send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	send(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	prompt("begin")
	stood, before, quick := false, time.Now(), make(chan bool, 1)
	for lines := bufio.NewScanner(out); lines.Scan(); before = time.Now() {
		m := gjson.Parse(lines.Text())
		switch id := m.Get("id").Raw; {
		case m.Get("method").Str == seen.Method && !mute:
			send(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found"}}`)
		case m.Get("method").Str == "session/request_permission", m.Get(`result._meta.acp-bridge.waitingFor`).Exists():
			if stood {
				go func() {
					time.Sleep(time.Second) // a person reads
					answers(m, "second")
				}()
				continue
			}
			stood = true
			go func(before time.Time) {
				time.Sleep(20 * time.Millisecond) // the evidence is there
				_ = cmd.Process.Signal(syscall.SIGSTOP)
				answers(m, "first")
				quick <- time.Since(before) < seen.Person
				time.Sleep(time.Second)
				_ = cmd.Process.Signal(syscall.SIGCONT)
			}(before)
		case m.Get("result.stopReason").Exists():
			_ = in.Close()
		}
	}
	require.NoError(t, cmd.Wait())
	soon = acptest.Next(t, quick)
	require.True(t, !soon || told.String() == "second\n", told.String())
	return soon
}
