package agent_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var (
	soakTime = flag.Duration("soak", 0, "how long TestSoak runs (default: ACP_BRIDGE_SOAK, or 2s)")
	soakSeed = flag.Uint64("soak.seed", 0, "what TestSoak's first life does; 0 chooses")
)

const (
	soakWorkers = 4 // lives at a time
	soakRound   = 6 // lives of a worker between two looks at the memory
	// soakGrowth is what the heap may be larger after the last round than after
	// the first.
	soakGrowth = 8 << 20
)

// tally counts how questions ended.
type tally struct {
	sync.Mutex
	asked int
	ends  map[string]int
	rungs map[string]int
	lives int
	turns int
}

// Editors come and go, with users who answer, type, refuse, stop, send
// nonsense, leave and kill the CLI. Every question ends in one known way, no
// answer is one that was not given, and nothing is left behind.
//
// A life does what its seed says, as far as time lets it. To see one again:
// go test ./adapter/agent -run TestSoak -soak.seed N
func TestSoak(t *testing.T) {
	duration := soakDuration(t)
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("-soak %s -soak.seed %d", duration, seed)
	before := goleak.IgnoreCurrent()
	all := &tally{ends: map[string]int{}, rungs: map[string]int{}}
	var first, last uint64
	rounds := 0
	for start := time.Now(); rounds == 0 || time.Since(start) < duration; rounds++ {
		var workers sync.WaitGroup
		for w := range uint64(soakWorkers) {
			workers.Go(func() {
				for i := range uint64(soakRound) {
					if t.Failed() || rounds > 0 && time.Since(start) >= duration {
						return
					}
					live(t, seed+(uint64(rounds)*soakRound+i)*soakWorkers+w, all)
				}
			})
		}
		workers.Wait()
		if t.Failed() {
			return
		}
		require.NoError(t, goleak.Find(before), "round %d", rounds)
		last = heap()
		if rounds == 0 {
			first = last
		}
	}
	t.Logf("%d lives, %d turns, %d questions: %v, first asked by %v; heap after the first of %d rounds %d kB, after the last %d kB",
		all.lives, all.turns, all.asked, all.ends, all.rungs, rounds, first>>10, last>>10)
	require.Less(t, last, first+soakGrowth, "the heap grows")
	ended := 0
	for _, n := range all.ends {
		ended += n
	}
	require.Equal(t, all.asked, ended, "every question ends once: %v", all.ends)
}

func soakDuration(t *testing.T) time.Duration {
	if *soakTime > 0 {
		return *soakTime
	}
	text := os.Getenv("ACP_BRIDGE_SOAK")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "ACP_BRIDGE_SOAK")
	return d
}

// heap is what is reachable.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what pools held on to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// lifetime is a test that ends before the one it is part of. It may fail on
// any goroutine, which ends then.
type lifetime struct {
	testing.TB
	seed     uint64
	cleanups []func()
}

func (l *lifetime) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "acp-bridge-soak")
	require.NoError(l, err)
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *lifetime) Errorf(format string, args ...any) {
	l.TB.Errorf("-soak.seed %d: %s", l.seed, fmt.Sprintf(format, args...))
}

func (l *lifetime) Error(args ...any) { l.Errorf("%s", fmt.Sprintln(args...)) }

func (l *lifetime) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	l.FailNow()
}

func (l *lifetime) FailNow() {
	l.Fail()
	runtime.Goexit()
}

func (l *lifetime) end() {
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		l.cleanups[i]()
	}
}
