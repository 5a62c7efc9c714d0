//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	sdkMain()
	floorMain()
	os.Exit(m.Run())
}

// small is enough to go down every path. No time is asserted: those are for
// people to read.
var small = sizes{
	starts: 2, rounds: 1, questions: warmUp + 5, deltas: 300, large: 100, steady: 50 * time.Millisecond, rate: 1000,
	waiting: []int{2, 4}, open: 20, spread: []int{1, 2}, real: 1,
}

// It builds the programs that it compares: .ci/run does that once.
func TestTable(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_FLEET") == "" {
		t.Skip("SKIPPED: builds three programs first; set ACP_BRIDGE_FLEET, as .ci/run does")
	}
	t.Setenv("ACP_BRIDGE_REAL_CLAUDE", "") // CI runs it with the real one
	others := []subject{{name: "broken", command: []string{"false"}, foreign: true}}
	var progress bytes.Buffer
	table, err := measure(t.Context(), small, "", others, &progress)
	require.NoError(t, err)
	require.Contains(t, progress.String(), "broken is left out of this step")

	adapters := []string{minimal, product}
	all := []string{direct, minimal, product}
	rows := []struct {
		name    string
		columns []string
		n       int
	}{
		{"process start → initialize answered", adapters, small.starts},
		{"session/new, stand-in CLI", all, small.starts},
		{"question out + answer back", append(all, sdk), small.questions - warmUp},
		{"… over driving the stand-in directly", adapters, 1},
		{"CPU per question", append(adapters, sdk), 1},
		{"question as a form, out + answer back", []string{product}, small.questions - warmUp},
		{"… CPU per question", []string{product}, 1},
		{"burst of 300 deltas, in order", all, 1},
		{"… CPU per 1,000 deltas", adapters, 1},
		{"burst of 100 deltas of 1 kB", all, 1},
		{"… CPU per 1,000 deltas", adapters, 1},
		{"1000 deltas a second, CPU per 1,000", adapters, 1},
		{"memory, 1 idle session, the hub's link not used", adapters, 1},
		{"… private, 1 idle session, the hub's link not used", adapters, 1},
		{"memory, 2 sessions wait on a question", adapters, 1},
		{"… private, 2 sessions wait on a question", adapters, 1},
		{"memory, 4 sessions wait on a question", adapters, 1},
		{"… private, 4 sessions wait on a question", adapters, 1},
		{"… each further session", adapters, 1},
		{"20 questions over 2 sessions: all shown", adapters, 1},
		{"… all resolved", adapters, 1},
		{"… per question with 1 session", adapters, 1},
		{"… per question with 2 sessions", adapters, 1},
		{"… CPU per question with 1 session", adapters, 1},
		{"… CPU per question with 2 sessions", adapters, 1},
		{"growth per question, 1 → 2 sessions", adapters, 1},
		{"growth of CPU per question, 1 → 2 sessions", adapters, 1},
		{"proxy: process start → initialize answered", all, small.starts},
		{"proxy: 300 deltas, in order", all, 1},
		{"… CPU per 1,000 deltas, proxied", adapters, 1},
		{"memory, proxy, idle", adapters, 1},
		{"… private, proxy, idle", adapters, 1},
	}
	require.Len(t, table.Rows, len(rows))
	var text, js bytes.Buffer
	require.NoError(t, table.print(&text))
	require.NoError(t, table.json(&js))
	require.True(t, json.Valid(js.Bytes()))
	for i, want := range rows {
		row := table.Rows[i]
		require.Equal(t, want.name, row.Name)
		require.Contains(t, text.String(), want.name)
		require.Len(t, row.Values, len(want.columns), want.name)
		for _, c := range want.columns {
			require.Equal(t, want.n, row.Values[c].N, "%s: %s", want.name, c)
		}
	}
}

func TestSequence(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		err    string
	}{
		"as sent":      {[]string{"0 ", "1 ", "2 "}, ""},
		"cut anywhere": {[]string{"0", " 1 2", " "}, ""},
		"lost":         {[]string{"0 ", "2 "}, "is not what was sent"},
		"twice":        {[]string{"0 ", "1 ", "2 ", "2 "}, "is not what was sent"},
		"out of order": {[]string{"0 ", "2 ", "1 "}, "is not what was sent"},
		"incomplete":   {[]string{"0 ", "1 "}, "is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sequence{left: deltaText(3, "")}
			for _, p := range c.pieces {
				s.take(p)
			}
			if c.err == "" {
				require.NoError(t, s.complete())
				return
			}
			require.ErrorContains(t, s.complete(), c.err)
		})
	}
}

func TestPercentile(t *testing.T) {
	var v []float64
	for i := range 200 {
		v = append(v, float64(200-i))
	}
	require.Equal(t, 100.0, percentile(v, 50))
	require.Equal(t, 198.0, percentile(v, 99))
	require.Equal(t, 7.0, percentile([]float64{7}, 99))
}

func TestUsage(t *testing.T) {
	var out, errOut bytes.Buffer
	require.Equal(t, 2, run([]string{"--agent", "nameless"}, &out, &errOut))
	require.Contains(t, errOut.String(), "expected NAME=COMMAND")
	require.Equal(t, 2, run([]string{"--only", "nothing"}, &out, &errOut))
	require.Contains(t, errOut.String(), "must be one of start, ")
	require.Empty(t, strings.TrimSpace(out.String()))
}
