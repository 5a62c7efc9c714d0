package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// burst measures deltas that come as fast as they can, some letters each.
func (b *bench) burst() error {
	return b.deltas(fmt.Sprintf("burst of %d deltas, in order", b.sizes.deltas), b.sizes.deltas, "")
}

// large is burst of deltas of 1 kB.
func (b *bench) large() error {
	pad := strings.Repeat("A line of prose, as a model writes it, with an end after 64 letters\n", 15)
	return b.deltas(fmt.Sprintf("burst of %d deltas of 1 kB", b.sizes.large), b.sizes.large, pad)
}

func (b *bench) deltas(name string, n int, pad string) error {
	defer b.table.endStep()
	path, err := b.script(claudetest.Script{Turns: []claudetest.Turn{{Match: "go", Steps: []claudetest.Step{claudetest.Message(claudetest.Block{Type: "text", Repeat: n, Pad: pad})}}}})
	if err != nil {
		return err
	}
	text := deltaText(n, pad)
	rate, cpu := samples{}, samples{}
	for range b.sizes.rounds {
		took, err := b.directDeltas(path, text)
		if err != nil {
			return fmt.Errorf("the stand-in: %w", err)
		}
		rate.add(direct, float64(n)/took.Seconds())
		err = b.each(func(ctx context.Context, s subject) error {
			took, spent, err := b.agentDeltas(ctx, s, path, text)
			rate.add(s.name, float64(n)/took.Seconds())
			cpu.add(s.name, ms(spent)*1000/float64(n))
			return err
		})
		if err != nil {
			return err
		}
	}
	b.table.add(name, "per s", minimal, rate, timesAtLeast(1.0/3, minimal))
	b.table.add("… CPU per 1,000 deltas", "ms", minimal, cpu, timesAtMost(1.5, minimal))
	return nil
}

// steady measures deltas at a rate that a fast model has.
func (b *bench) steady() error {
	defer b.table.endStep()
	n := int(b.sizes.steady.Seconds() * float64(b.sizes.rate))
	path, err := b.script(claudetest.Script{Turns: []claudetest.Turn{{Match: "go", Steps: []claudetest.Step{claudetest.Message(claudetest.Block{Type: "text", Repeat: n, Every: time.Second / time.Duration(b.sizes.rate)})}}}})
	if err != nil {
		return err
	}
	text := deltaText(n, "")
	cpu := samples{}
	for range b.sizes.long() {
		err := b.each(func(ctx context.Context, s subject) error {
			_, spent, err := b.agentDeltas(ctx, s, path, text)
			cpu.add(s.name, ms(spent)*1000/float64(n))
			return err
		})
		if err != nil {
			return err
		}
	}
	b.table.add(fmt.Sprintf("%d deltas a second, CPU per 1,000", b.sizes.rate), "ms", minimal, cpu, atMost(20), timesAtMost(1.5, minimal))
	return nil
}

func (b *bench) directDeltas(path, text string) (time.Duration, error) {
	c, err := openCLI(b.ctx, path, b.env(path), b.dir)
	if err != nil {
		return 0, err
	}
	defer c.close()
	check := sequence{left: text}
	begin := time.Now()
	if err := c.turn(nil, check.take); err != nil {
		return 0, err
	}
	return time.Since(begin), check.complete()
}

// agentDeltas returns how long a prompt took and what CPU time the agent used.
func (b *bench) agentDeltas(ctx context.Context, s subject, path, text string) (took, spent time.Duration, err error) {
	c, err := connect(ctx, s, b.env(path))
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if e := c.end(); err == nil {
			err = e
		}
	}()
	session, err := c.newSession(ctx, b.dir)
	if err != nil {
		return 0, 0, err
	}
	before, err := cpuTime(c.pid())
	if err != nil {
		return 0, 0, err
	}
	check := sequence{left: text}
	c.handle(nil, func(_, text string) { check.take(text) })
	begin := time.Now()
	done, err := c.prompt(session)
	if err != nil {
		return 0, 0, err
	}
	if _, err := await(ctx, "session/prompt", done); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	after, err := cpuTime(c.pid())
	if err != nil {
		return 0, 0, err
	}
	return took, after - before, check.complete()
}

// sequence checks that a text arrives complete, once and in order, however it
// is cut.
type sequence struct {
	left  string
	wrong string
}

// deltaText is what the stand-in says: "0 1 2 … ", with the pad behind each.
func deltaText(n int, pad string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i) + " " + pad)
	}
	return b.String()
}

func (s *sequence) take(text string) {
	rest, ok := strings.CutPrefix(s.left, text)
	if !ok && s.wrong == "" {
		s.wrong = fmt.Sprintf("got %.40q where %.40q was next", text, s.left)
	}
	s.left = rest
}

func (s *sequence) complete() error {
	switch {
	case s.wrong != "":
		return fmt.Errorf("the text is not what was sent: %s", s.wrong)
	case s.left != "":
		return fmt.Errorf("the text is incomplete: %.40q is next", s.left)
	}
	return nil
}
