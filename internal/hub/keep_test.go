package hub

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What a device has settled is bounded, by bytes as by count: the oldest make room, those
// of others and what still waits stay, and the operator is told.
func TestSettledQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := openBounded(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	over := func(device, id string) *Record {
		t.Helper()
		a := askingOf(device, id, "p")
		a.Call.Questions = []convert.Question{{Text: id + strings.Repeat("x", 900_000)}}
		ref := acptest.Must(b.Ask(t.Context(), a)).Ref()
		ref.Asker = "p"
		return acptest.Must(b.TakeBack(t.Context(), ref, convert.Outcome{Status: convert.Failed}, ""))
	}
	others := over("another", "q")
	waits := acptest.Must(b.Ask(t.Context(), other(askingOf("bot", "waits", "p"))))
	answered := acptest.Must(b.Ask(t.Context(), other(askingOf("bot", "answered", "p"))))
	acptest.Must(b.Answer(t.Context(), answered.Ref(), sayYes, "phone"))
	settled := func(n, size int) { // so many more, which nobody has to write for that
		b.step(func(s *state) { s.loads["bot"] = s.loads["bot"].add(&Record{End: &End{}, size: size}, n) })
	}
	settled(1, maxSettledBytes*7/8-4*900_000) // when there is too much, four of the others stay
	const many = maxSettledBytes/8/900_000 + 6
	for i := range many {
		over("bot", fmt.Sprint("q", i))
	}
	require.LessOrEqual(t, b.loads["bot"].settledBytes, maxSettledBytes+1<<20)
	require.Nil(t, b.get(keyOf(talk{"", "c"}, "q0", 0)), "the oldest is gone")
	require.NotNil(t, b.get(keyOf(talk{"", "c"}, fmt.Sprint("q", many-2), 0)), "it was there, too")
	require.NotNil(t, b.get(others.key))
	require.True(t, b.get(waits.key).Open())
	require.NotNil(t, b.get(answered.key), "its agent has not had it")
	require.Contains(t, log.String(), "the oldest were removed")

	// By count it is the same.
	settled(maxSettled, 0)
	over("bot", "one more")
	require.NotNil(t, b.get(keyOf(talk{"", "c"}, "one more", 0)))
	require.Nil(t, b.get(keyOf(talk{"", "c"}, fmt.Sprint("q", many-1), 0)))
}

// Nothing more becomes of what was used, or never can be. A caller of the API whose process
// has no name never says that it used an outcome: what it was given makes room.
func TestWhatMakesRoom(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		asker string
		end   *End
		want  bool
	}{
		"open":                     {"", nil, false},
		"answered":                 {"p", &End{Outcome: "answered", By: "phone"}, false},
		"has it":                   {"p", &End{Outcome: "answered", By: "phone", Delivered: now}, false},
		"used it":                  {"p", &End{Outcome: "answered", By: "phone", Consumed: now}, true},
		"can never have it":        {"p", &End{Outcome: "answered", By: "phone", Undelivered: "gone"}, true},
		"nobody has ended it":      {"p", &End{Outcome: "failed"}, true},
		"a caller, answered":       {"", &End{Outcome: "answered", By: "phone"}, false},
		"a caller, which was told": {"", &End{Outcome: "answered", By: "phone", Delivered: now}, true},
	} {
		require.Equal(t, c.want, (&Record{Asker: c.asker, End: c.end}).makesRoom(), name)
	}
}
