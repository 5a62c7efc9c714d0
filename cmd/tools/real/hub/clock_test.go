package hub_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withClock makes the wall clock of a process that a test starts a wrong one, by
// this much.
const withClock = "ACP_BRIDGE_CLOCK_TEST"

// playClock sets the clock that the environment says, before anything reads it.
func playClock() {
	by, err := time.ParseDuration(os.Getenv(withClock))
	if err == nil {
		err = setClock(by)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// asClock makes the hub's test binary tell the time.
const asClock = "ACP_BRIDGE_TELL_TIME_TEST"

// clockEnv is the environment of a process whose clock is wrong.
func clockEnv(by time.Duration) []string {
	if by == 0 {
		return nil
	}
	return []string{withClock + "=" + by.String()}
}

// canSetClock reports why clocks cannot be wrong here, or nil.
func canSetClock(t *testing.T) error {
	cmd := exec.Command(program(t))
	cmd.Env = append(append(os.Environ(), asClock+"=1"), clockEnv(-100*time.Hour)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	said, err := time.Parse(time.RFC3339, strings.TrimSpace(string(out)))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-100*time.Hour), said, time.Hour, "the clock was not set")
	return nil
}

// A clock that jumps while the hub is down, ahead or back, by more than answers are
// kept for, takes nothing away: not what waits, and not an answer that no agent has
// fetched. What is answered then is kept.
func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	if err := canSetClock(t); err != nil {
		t.Skip("SKIPPED: this hub cannot be given a clock of its own:", err)
	}
	dir := t.TempDir()
	p := startHub(t, dir, "127.0.0.1:0")
	state := func(id string) string { return string(p.get("/conversations/c/questions/" + id)) }
	answer := func(id string) int {
		return p.post("/conversations/c/respond?question="+id, `{"answers":{"Go on?":"Yes"}}`)
	}
	for _, id := range []string{"waits", "settled", "later-0", "later-1"} {
		require.Equal(t, http.StatusAccepted, p.post("/conversations/c/ask", askBody(id)))
	}
	require.Equal(t, http.StatusOK, answer("settled"))
	for i, by := range []time.Duration{2000 * time.Hour, -2000 * time.Hour, 0} {
		p.kill()
		p = startHubIn(t, clockEnv(by), dir, "127.0.0.1:0")
		require.Contains(t, state("waits"), "awaiting_user_response")
		require.Contains(t, state("settled"), `"Go on?":"Yes"`)
		for j := range i {
			require.Contains(t, state(fmt.Sprint("later-", j)), `"Go on?":"Yes"`)
		}
		if by != 0 {
			require.Equal(t, http.StatusOK, answer(fmt.Sprint("later-", i)))
		}
	}
	require.Equal(t, http.StatusOK, p.post("/conversations/c/ask?wait=1m", askBody("settled")), "the agent gets it")
}
