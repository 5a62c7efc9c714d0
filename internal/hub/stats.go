package hub

import (
	"context"
	"errors"
	"maps"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// Stats counts what was done by this board since it was opened. Boards that share
// a store count each their own: the sum is what happened.
type Stats struct {
	Asked uint64
	// Ended counts questions by outcome and by who ended them.
	Ended map[Ending]uint64
	// Waited counts the answers that took no longer than each of [WaitBounds],
	// and all of them in the end; WaitedSeconds is their sum.
	Waited        []uint64
	WaitedSeconds float64
	// Failed counts what the store did not take.
	Failed uint64
}

// Ending is how a question ended, and by whom, see [End].
type Ending struct {
	Outcome, By string
	Elsewhere   bool
}

// WaitBounds are the seconds of [Stats.Waited].
func WaitBounds() []float64 { return []float64{1, 5, 15, 60, 300, 900, 3600, 14400, 86400, 604800} }

// Others stands for who is not counted alone: names come from askers, too, and
// are bounded in number.
const Others = "(others)"

const maxEndings = 1000

func (c *Stats) ended(r *Record) {
	if c.Ended == nil {
		c.Ended, c.Waited = map[Ending]uint64{}, make([]uint64, len(WaitBounds())+1)
	}
	e := Ending{r.End.Outcome, r.End.By, r.End.Elsewhere && r.End.By != ""}
	if c.Ended[e] == 0 && len(c.Ended) >= maxEndings {
		e.By = Others
	}
	c.Ended[e]++
	if r.End.Status() != convert.Answered {
		return
	}
	seconds := max(0, r.End.At.Sub(r.Asked).Seconds())
	c.WaitedSeconds += seconds
	for i, bound := range WaitBounds() {
		if seconds <= bound {
			c.Waited[i]++
		}
	}
	c.Waited[len(c.Waited)-1]++
}

// Stats returns what was counted so far.
func (b *Board) Stats() (s Stats) {
	b.count.Step(func(now *Stats) {
		s = *now
		s.Ended = maps.Clone(s.Ended)
		s.Waited = append(make([]uint64, 0, len(WaitBounds())+1), s.Waited...)
	})
	return s
}

// Engine tells of what keeps the questions.
func (b *Board) Engine(ctx context.Context) (hubstore.Engine, error) { return b.store.Engine(ctx) }

// Ready says why the board cannot be used now, or nil.
func (b *Board) Ready() error {
	select {
	case <-b.ended:
		return errors.New("the questions are no longer followed")
	default:
	}
	if !b.store.Connected() {
		return errors.New("there is no connection to NATS")
	}
	if b.refuses() {
		return errStore
	}
	return nil
}
