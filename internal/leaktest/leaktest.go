// Package leaktest looks for goroutines that outlive their tests, on a busy machine, too:
// goleak gives them two seconds, in which one that ends may not even have run. It also knows
// whether the race detector runs, how many tests wait at once, and how often one repeats.
package leaktest

import (
	"time"

	"go.uber.org/goleak"
)

const patience = time.Minute

// Find is [goleak.Find] with more patience.
func Find(options ...goleak.Option) (err error) {
	for end := time.Now().Add(patience); ; {
		if err = goleak.Find(options...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// Main is [goleak.VerifyTestMain] with more patience. The options are those that ignore
// something.
func Main(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(Patient(m, options...), options...)
}

// Patient is for a VerifyTestMain with other options: the tests, and then the time that
// what is about to end needs for it.
func Patient(m goleak.TestingM, options ...goleak.Option) goleak.TestingM {
	return patient{m, options}
}

type patient struct {
	goleak.TestingM
	options []goleak.Option
}

func (p patient) Run() int {
	code := p.TestingM.Run()
	if code == 0 {
		_ = Find(p.options...) // VerifyTestMain tells
	}
	return code
}
