package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// settle is how long an agent is left alone before its memory is read.
const settle = 300 * time.Millisecond

// memory measures the memory of an agent with one idle session, and
// with many that each wait on an open question, of CLIs that say as much of
// themselves as the real one.
func (b *bench) memory() error {
	defer b.table.endStep()
	steps := []claudetest.Step{claudetest.Message(question(1))}
	path, err := b.script(claudetest.Script{Turns: []claudetest.Turn{{Match: "go", Steps: steps}}})
	if err != nil {
		return err
	}
	idle := newFootprints()
	err = b.each(func(ctx context.Context, s subject) error {
		f, err := b.idleMemory(ctx, s, path)
		idle.add(s.name, f)
		return err
	})
	if err != nil {
		return err
	}
	idle.rows(b.table, "1 idle session, the hub's link not used", atMost(16))
	path, err = b.script(claudetest.Script{Init: fullInit(), Turns: []claudetest.Turn{{Match: "go", Steps: steps}}})
	if err != nil {
		return err
	}
	limits := map[int]float64{50: 26, 100: 32}
	first, most := samples{}, samples{}
	for i, n := range b.sizes.waiting {
		waiting := newFootprints()
		err := b.each(func(ctx context.Context, s subject) error {
			f, err := b.waitingMemory(ctx, s, path, n)
			waiting.add(s.name, f)
			return err
		})
		if err != nil {
			return err
		}
		var rules []rule
		if limits[n] > 0 {
			rules = append(rules, atMost(limits[n]))
		}
		waiting.rows(b.table, fmt.Sprintf("%d sessions wait on a question", n), rules...)
		if i == 0 {
			first = waiting.resident
		}
		most = waiting.resident
	}
	each := samples{}
	sizes := b.sizes.waiting
	for name, v := range most {
		if len(first[name]) > 0 && len(sizes) > 1 {
			each.add(name, (v[0]-first[name][0])*1000/float64(sizes[len(sizes)-1]-sizes[0]))
		}
	}
	b.table.add("… each further session", "kB", minimal, each)
	return nil
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

func (b *bench) idleMemory(ctx context.Context, s subject, path string) (f footprint, err error) {
	c, err := connect(ctx, s, b.env(path))
	if err != nil {
		return f, err
	}
	defer func() {
		if e := c.end(); err == nil {
			err = e
		}
	}()
	if _, err := c.newSession(ctx, b.dir); err != nil {
		return f, err
	}
	time.Sleep(settle)
	return footprintOf(c.pid())
}

func (b *bench) waitingMemory(ctx context.Context, s subject, path string, n int) (f footprint, err error) {
	l, err := b.open(ctx, s, path, n)
	if err != nil {
		return f, err
	}
	defer func() {
		if e := l.end(); err == nil {
			err = e
		}
	}()
	open := make(chan ask, n)
	l.handle(func(a ask) { open <- a }, nil)
	if err := l.promptAll(); err != nil {
		return f, err
	}
	var asks []ask
	for len(asks) < n {
		select {
		case a := <-open:
			asks = append(asks, a)
		case <-ctx.Done():
			return f, fmt.Errorf("%d of %d questions were shown", len(asks), n)
		}
	}
	time.Sleep(settle)
	if f, err = footprintOf(l.pid()); err != nil {
		return f, err
	}
	for _, a := range asks {
		if err := l.answer(a); err != nil {
			return f, err
		}
	}
	return f, l.awaitAll(ctx)
}

// many asks many questions over few and many sessions: ten calls are open in
// each session at a time, and answered as soon as they are shown.
func (b *bench) many() error {
	defer b.table.endStep()
	const together = 10
	shown, resolved := samples{}, samples{}
	each, cpu := map[int]samples{}, map[int]samples{}
	for _, n := range b.sizes.spread {
		each[n], cpu[n] = samples{}, samples{}
		var steps []claudetest.Step
		for i := 0; i < b.sizes.open/n; i += together {
			var blocks []claudetest.Block
			for j := range min(together, b.sizes.open/n-i) {
				blocks = append(blocks, question(i+j))
			}
			steps = append(steps, claudetest.Message(blocks...))
		}
		path, err := b.script(claudetest.Script{Turns: []claudetest.Turn{{Match: "go", Steps: steps}}})
		if err != nil {
			return err
		}
		last := n == b.sizes.spread[len(b.sizes.spread)-1]
		for range b.sizes.long() {
			err = b.each(func(ctx context.Context, s subject) error {
				m, err := b.askMany(ctx, s, path, n)
				if err != nil {
					return err
				}
				if last {
					shown.add(s.name, ms(m.shown))
					resolved.add(s.name, ms(m.resolved))
				}
				each[n].add(s.name, us(m.resolved)/float64(b.sizes.open))
				cpu[n].add(s.name, us(m.cpu)/float64(b.sizes.open))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	name := fmt.Sprintf("%d questions over %d sessions", b.sizes.open, b.sizes.spread[len(b.sizes.spread)-1])
	b.table.add(name+": all shown", "ms", minimal, shown)
	b.table.add("… all resolved", "ms", minimal, resolved)
	for _, n := range b.sizes.spread {
		b.table.add(fmt.Sprintf("… per question with %s", count(n)), "µs", minimal, each[n])
	}
	for _, n := range b.sizes.spread {
		b.table.add(fmt.Sprintf("… CPU per question with %s", count(n)), "µs", minimal, cpu[n])
	}
	b.growth("growth per question", each)
	b.growth("growth of CPU per question", cpu, timesAtMost(1.25, minimal))
	return nil
}

// growth compares what a question costs with many sessions and with the next
// fewer: 1 is linear. More processes cost the machine more by themselves, which
// the floor shows; from one session to several other things are measured.
func (b *bench) growth(name string, cost map[int]samples, rules ...rule) {
	n := b.sizes.spread
	many, fewer := n[len(n)-1], n[len(n)-2]
	growth := samples{}
	for column, v := range cost[many] {
		if base := cost[fewer][column]; len(base) > 0 {
			growth.add(column, percentile(v, 50)/percentile(base, 50))
		}
	}
	b.table.add(fmt.Sprintf("%s, %d → %d sessions", name, fewer, many), "×", minimal, growth, rules...)
}

func count(sessions int) string {
	if sessions == 1 {
		return "1 session"
	}
	return strconv.Itoa(sessions) + " sessions"
}

type asks struct{ shown, resolved, cpu time.Duration }

func (b *bench) askMany(ctx context.Context, s subject, path string, n int) (m asks, err error) {
	before := answersIn(path)
	l, err := b.open(ctx, s, path, n)
	if err != nil {
		return m, err
	}
	defer func() {
		if e := l.end(); err == nil {
			err = e
		}
	}()
	spent, err := cpuTime(l.pid())
	if err != nil {
		return m, err
	}
	count := 0
	begin := time.Now()
	allShown := make(chan time.Duration, 1)
	l.handle(func(a ask) {
		if count++; count == b.sizes.open {
			allShown <- time.Since(begin)
		}
		_ = l.answer(a)
	}, nil)
	if err := l.promptAll(); err != nil {
		return m, err
	}
	if err := l.awaitAll(ctx); err != nil {
		return m, err
	}
	m.resolved = time.Since(begin)
	select {
	case m.shown = <-allShown:
	default:
		return m, fmt.Errorf("not all of %d questions were shown", b.sizes.open)
	}
	after, err := cpuTime(l.pid())
	if err != nil {
		return m, err
	}
	m.cpu = after - spent
	if got := answersIn(path) - before; got != b.sizes.open {
		return m, fmt.Errorf("%d of %d answers reached the CLI", got, b.sizes.open)
	}
	return m, nil
}

// loaded is an agent with sessions.
type loaded struct {
	*client
	sessions []string
	prompts  []<-chan reply
}

// open starts an agent with n sessions, a few at a time.
func (b *bench) open(ctx context.Context, s subject, path string, n int) (*loaded, error) {
	c, err := connect(ctx, s, b.env(path))
	if err != nil {
		return nil, err
	}
	l := &loaded{client: c, sessions: make([]string, n)}
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			l.sessions[i], errs[i] = c.newSession(ctx, b.dir)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			_ = c.end()
			return nil, err
		}
	}
	return l, nil
}

func (l *loaded) promptAll() error {
	for _, s := range l.sessions {
		done, err := l.prompt(s)
		if err != nil {
			return err
		}
		l.prompts = append(l.prompts, done)
	}
	return nil
}

func (l *loaded) awaitAll(ctx context.Context) error {
	for _, done := range l.prompts {
		if _, err := await(ctx, "session/prompt", done); err != nil {
			return err
		}
	}
	return nil
}

// fullInit is for [claudetest.Script].Init: a reply of the size that the real CLI's has
// without plugins, 17 kB with 44 commands.
func fullInit() map[string]any {
	words := func(n int) string { return strings.Repeat("does what it says and then some; ", n/33+1)[:n] }
	var commands, agents, models []any
	for i := range 44 {
		commands = append(commands, map[string]any{
			"name": fmt.Sprintf("command-%d", i+1), "description": fmt.Sprintf("%d ", i) + words(190),
			"argumentHint": "[<target>]", "aliases": []string{fmt.Sprintf("c%d", i+1)}, "builtin": true,
		})
	}
	for i := range 6 {
		agents = append(agents, map[string]any{"name": fmt.Sprintf("agent-%d", i+1), "description": words(200)})
	}
	for i := range 5 {
		models = append(models, map[string]any{
			"value": fmt.Sprintf("model-%d", i+1), "resolvedModel": fmt.Sprintf("claude-model-%d", i+1),
			"displayName": fmt.Sprintf("Model %d", i+1), "description": words(80), "supportsEffort": true,
			"supportedEffortLevels": []string{"low", "medium", "high"}, "supportsFastMode": true,
		})
	}
	return map[string]any{"commands": commands, "agents": agents, "models": models}
}
