//go:build linux

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A small fleet goes down every path: hubs are started, agents ask, people see
// and answer, and every answer arrives. It builds a hub: .ci/run does that once.
func TestFleet(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_FLEET") == "" {
		t.Skip("SKIPPED: builds a hub and starts a fleet; set ACP_BRIDGE_FLEET, as .ci/run does")
	}
	var out, errOut bytes.Buffer
	require.Equal(t, 0, run([]string{"fleet", "--agents", "5,20", "--watchers", "6", "--groups", "3", "--rate", "100", "--time", "2s"}, &out, &errOut), errOut.String())
	for _, name := range []string{"5, floor", "5, acp-bridge-hub", "20, floor", "20, acp-bridge-hub"} {
		require.Contains(t, out.String(), name)
	}
	for line := range strings.Lines(out.String()) {
		if name, cells, ok := strings.Cut(line, "  "); ok && name != "agents" {
			require.Len(t, strings.FieldsFunc(strings.ReplaceAll(cells, " / ", "/"), func(r rune) bool { return r == ' ' || r == '\n' }), 4, line)
			require.NotContains(t, line, "–")
		}
	}
}

func TestFleetUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--agents many":         `expected numbers with commas between them, got "many"`,
		"--agents 0":            `expected numbers with commas between them, got "0"`,
		"--watchers 1":          "a watcher for each",
		"--rate 0":              "one question a second",
		"--time 0s":             "some time",
		"--agents 10 something": `unexpected argument "something"`,
	} {
		var out, errOut bytes.Buffer
		require.Equal(t, 2, run(append([]string{"fleet"}, strings.Fields(args)...), &out, &errOut), args)
		require.Contains(t, errOut.String(), want)
		require.Empty(t, out.String())
	}
}

// What a stream says is read whatever pieces it comes in.
func TestSightings(t *testing.T) {
	events := "retry: 1000\n\n" +
		`id: 3` + "\n" + `data: {"conversation":"agent-1","question":"q0","type":"awaiting_user_response","tool_use_id":"q0","revision":3}` + "\n\n" +
		`id: 4` + "\n" + `data: {"conversation":"agent-1","question":"q0","type":"working"}` + "\n\n" +
		`id: 4` + "\n" + `data: {"conversation":"agent-0","question":"q0","type":"awaiting_user_response","tool_use_id":"q1","revision":5,"outcome":"answered"}` + "\n\n" +
		`id: 5` + "\n" + `data: {"conversation":"agent-0","question":"q1","type":"awaiting_user_response","tool_use_id":"q1","revision":5}` + "\n\n"
	for size := 1; size < len(events); size++ {
		c := newCrowd("", make([]fleetGroup, 1), 2, 1)
		c.counted.Store(true)
		c.agents[1].asked[0].Store(time.Now().UnixNano())
		require.Error(t, c.read(&pieces{strings.NewReader(events), size}, c.saw)) // its end
		require.Equal(t, sighting{1, "q0", "3"}, <-c.seen)
		require.Equal(t, sighting{0, "q1", "5"}, <-c.seen)
		require.Empty(t, c.seen)
		require.Len(t, c.toSeen, 2)
	}
}

type pieces struct {
	*strings.Reader
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }
