//go:build unix

package hub_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// In CI everything is broken once. The long form:
//
//	go -C cmd/tools test ./real/hub -run TestFaultsOfACluster -v -timeout 60m \
//		-faults.rounds 10 -faults.kills 30 -faults.hubs 3 -faults.agents 200 -faults.questions 100000
var (
	faultRounds    = flag.Int("faults.rounds", 0, "how often everything is broken that can be (0: TestFaultsOfACluster is skipped)")
	faultHubs      = flag.Int("faults.hubs", 2, "how many hubs there are")
	faultAgents    = flag.Int("faults.agents", 20, "how many agents ask")
	faultQuestions = flag.Int("faults.questions", 0, "how many questions are asked at least")
	faultKills     = flag.Int("faults.kills", 0, "how often the leading server is killed beside that")
	faultSeed      = flag.Uint64("faults.seed", 1, "what is broken when")
)

// TestFaultsOfACluster breaks servers and hubs while agents ask and people answer.
// After each fault the others go on; when all is mended, every question has been
// answered once, everybody was told the same, every accepted answer has reached
// its agent, once, and whoever watched sees what became of each question.
func TestFaultsOfACluster(t *testing.T) {
	if *faultRounds == 0 {
		t.Skip("it takes a minute: it is run with -faults.rounds 1, as .ci/run does")
	}
	f := newFleet(t, 3, *faultHubs)
	c := newCrowd(f)
	c.watchAll(t)
	c.join(*faultSeed, *faultAgents)
	rnd := rand.New(rand.NewPCG(*faultSeed, 0))
	gaps := map[string][]time.Duration{}
	count := 0
	goesOn := func(what string) {
		gap := c.await(t, *faultAgents/2, what)
		gaps[what] = append(gaps[what], gap)
		t.Logf("%8s without an outcome: %s", gap.Round(time.Millisecond), what)
	}
	breaks := func(list []fault) {
		for _, one := range list {
			count++
			one.begin()
			goesOn(one.kind)
			one.mend()
			goesOn("mended: " + one.kind)
		}
	}
	goesOn("nothing broken")
	for range *faultRounds {
		breaks(f.round(rnd))
		f.restartAll(func(what string) { count++; goesOn(what) })
	}
	for range *faultKills {
		breaks([]fault{f.killOfLeader()})
	}
	c.mu.Lock()
	left := *faultQuestions - len(c.got)
	c.mu.Unlock()
	if left > 0 {
		c.await(t, left, "all questions")
	}
	c.end(t)
	t.Logf("seed %d: %d faults, %d questions of %d agents at %d hubs, %d agents resumed", *faultSeed, count, len(c.questions), *faultAgents, *faultHubs, c.resumed.Load())
	for _, what := range slices.Sorted(maps.Keys(gaps)) {
		if list := slices.Sorted(slices.Values(gaps[what])); len(list) > 1 {
			t.Logf("%s to %s without an outcome, median %s of %d: %s", list[0].Round(time.Millisecond), list[len(list)-1].Round(time.Millisecond),
				list[len(list)/2].Round(time.Millisecond), len(list), what)
		}
	}
}
