package main

import (
	"fmt"
	"os"
	"time"
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
	if os.Getenv(asClock) != "" {
		fmt.Println(time.Now().Format(time.RFC3339))
		os.Exit(0)
	}
}

// asClock makes the test binary tell the time.
const asClock = "ACP_BRIDGE_TELL_TIME_TEST"
