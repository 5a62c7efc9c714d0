package hub_test

import (
	"fmt"
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
