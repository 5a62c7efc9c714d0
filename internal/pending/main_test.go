package pending_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// asPoster makes the test binary a program that posts many questions, asHolder
// one that posts the shared one and stays.
const (
	asPoster = "PENDING_TEST_POST"
	asHolder = "PENDING_TEST_HOLD"
)

func TestMain(m *testing.M) {
	if who := os.Getenv(asPoster); who != "" {
		os.Exit(poster(who))
	}
	if os.Getenv(asHolder) != "" {
		if _, err := (&pending.Store{}).Asker("a test").Post(shared, again); err != nil {
			panic(err)
		}
		fmt.Print("x")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	leaktest.Parallel(16)
	leaktest.Main(m)
}

// perPoster is how many calls each program posts.
const perPoster = 20

// shared is a call that all of them make.
var shared = convert.Call{Questions: []convert.Question{{Text: "All ask this"}}}

func poster(who string) int {
	store := &pending.Store{}
	asker := store.Asker(who)
	defer asker.Close()
	if _, err := asker.Post(shared); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for n := range perPoster {
		c := convert.Call{Questions: []convert.Question{{Text: fmt.Sprintf("%s asks %d", who, n)}}}
		f, err := asker.Post(c)
		if err == nil {
			err = store.Answer(f, []convert.Answer{{Text: who}}, who)
		}
		if err == nil && n%4 == 3 { // some are delivered meanwhile
			err = asker.Deliver(f, func() error { return nil })
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
