//go:build unix

// Package soak_test plays editors, users and Claude Codes that come and go for as long as
// somebody says, and looks at the memory.
package soak_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/served"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

var (
	soakSeed = flag.Uint64("soak.seed", 0, "what TestSoak's first life does; 0 chooses")
	soakTime = flag.Duration("soak", 0, "how long TestSoak runs (default: ACP_BRIDGE_SOAK, or one short round)")
	soakMany = flag.Int("soak.questions", 0, "TestSoak runs until that many questions were asked, however long that takes")
)

const (
	soakWorkers = 12 // lives at a time
	soakRound   = 6  // lives of a worker between two looks at the memory
	soakShort   = 1  // lives of a worker if nobody says how long
	// soakGrowth is what the heap may be larger after the last round than after
	// the first.
	soakGrowth = 8 << 20
)

func TestMain(m *testing.M) { served.Main(m, runtime.GOMAXPROCS(0)) }

// tally counts questions: those that the agent put, as they passed on its wire,
// and how they ended, as judged by what its user did.
type tally struct {
	sync.Mutex
	asked  int
	ends   map[string]int
	rungs  map[string]int
	faults map[string]int
	calls  int
	lives  int
	turns  int
}

func (a *tally) String() string {
	a.Lock()
	defer a.Unlock()
	return fmt.Sprintf("%d lives, %d turns, %d calls with %d questions: %v; first asked by %v; faults %v",
		a.lives, a.turns, a.calls, a.asked, a.ends, a.rungs, a.faults)
}

// enough reports whether the soak is long enough.
func (a *tally) enough(since time.Time, duration time.Duration) bool {
	if *soakMany == 0 {
		return time.Since(since) >= duration
	}
	a.Lock()
	defer a.Unlock()
	return a.asked >= *soakMany
}

// Editors come and go, with users who answer, type, refuse, stop, send
// nonsense and leave; CLIs die, freeze and close a pipe, and the wire carries
// garbage, replies that nobody gave, torn lines and stalls. Every question ends
// in one known way, no answer is one that was not given, and nothing is left
// behind.
//
// A life does what its seed says, as far as time lets it: who is first of two
// that race is not in the seed. To see one again:
// go -C cmd/tools test ./measure/soak -run TestSoak -soak.seed N
func TestSoak(t *testing.T) { testSoak(t, backend.Serve) }

// The same with the proxy between the editors and the agent.
func TestSoakProxied(t *testing.T) { testSoak(t, served.Proxied) }

func testSoak(t *testing.T, serve served.By) {
	duration := soakDuration(t)
	short := duration == 0 && *soakMany == 0
	if short {
		t.Parallel() // what is left behind shows when all tests have ended
	}
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("-soak %s -soak.questions %d -soak.seed %d", duration, *soakMany, seed)
	before := goleak.IgnoreCurrent()
	all := &tally{ends: map[string]int{}, rungs: map[string]int{}, faults: map[string]int{}}
	lives := uint64(soakRound)
	if short {
		lives = soakShort
	}
	var heaps []uint64
	start := time.Now()
	told := start
	for rounds := uint64(0); rounds == 0 || !all.enough(start, duration); rounds++ {
		var workers sync.WaitGroup
		for w := range uint64(soakWorkers) {
			workers.Go(func() {
				for i := range lives {
					if t.Failed() || rounds > 0 && all.enough(start, duration) {
						return
					}
					live(t, seed+(rounds*lives+i)*soakWorkers+w, all, serve)
				}
			})
		}
		workers.Wait()
		if t.Failed() {
			return
		}
		if !short {
			require.NoError(t, leaktest.Find(before), "round %d", rounds)
		}
		heaps = append(heaps, heap())
		if time.Since(told) > time.Minute {
			told = time.Now()
			t.Logf("%s: %s; heap %d kB", time.Since(start).Round(time.Second), all, heaps[len(heaps)-1]>>10)
		}
	}
	t.Logf("%s: %s; %d rounds, heap after some of them: %s", time.Since(start).Round(time.Second), all, len(heaps), curve(heaps))
	require.Less(t, heaps[len(heaps)-1], heaps[0]+soakGrowth, "the heap grows")
	ended := 0
	for _, n := range all.ends {
		ended += n
	}
	require.Equal(t, all.asked, ended, "every question ends once: %v", all.ends)
}

// curve writes a dozen of the sizes.
func curve(sizes []uint64) string {
	var list []string
	for i := range min(12, len(sizes)) {
		n := i * (len(sizes) - 1) / max(1, min(12, len(sizes))-1)
		list = append(list, fmt.Sprintf("%d: %d kB", n+1, sizes[n]>>10))
	}
	return strings.Join(list, ", ")
}

func soakDuration(t *testing.T) time.Duration {
	if *soakTime > 0 {
		return *soakTime
	}
	text := os.Getenv("ACP_BRIDGE_SOAK")
	if text == "" {
		return 0
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
