//go:build unix

package main

import (
	"flag"
	"os"
	"testing"
)

var faultRounds = flag.Int("faults.rounds", 0, "how often everything is broken that can be (0: these tests are skipped)")

// One server of three is killed, the one that leads. The hubs go on with the
// others, and nothing is lost.
func TestLeaderKilled(t *testing.T) {
	if *faultRounds == 0 {
		t.Skip("-faults.rounds is 0")
	}
	f := newFleet(t, 3, 2)
	c := newCrowd(f)
	c.join(1, 5)
	c.await(t, 20, "at first")
	leader := f.leader()
	leader.end(os.Kill)
	gap := c.await(t, 20, "after a kill")
	leader.start()
	c.await(t, 20, "with the server back")
	c.end(t)
	t.Logf("%d questions, %d agents resumed; %s without an answer after the kill", len(c.questions), c.resumed.Load(), gap)
}
