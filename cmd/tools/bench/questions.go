package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const questionText = "Which database should the service use for its records?"

var labels = []string{"PostgreSQL", "SQLite", "MySQL", "Other database"}

func question(i int) claudetest.Block {
	return claudetest.Question(fmt.Sprintf("toolu_%06d", i), claudetest.Q(questionText, "Database", false, labels...))
}

// questions measures question out and answer back: from the answer to one
// question to the arrival of the next, the CLI's own time included.
func (b *bench) questions() error {
	defer b.table.endStep()
	times, over, cpu := samples{}, samples{}, samples{}
	for range b.sizes.rounds {
		path, err := b.asker()
		if err != nil {
			return err
		}
		floor, err := b.askDirect(path)
		if err != nil {
			return fmt.Errorf("the stand-in: %w", err)
		}
		times.add(direct, floor...)
		base := percentile(floor, 50)
		err = b.each(func(ctx context.Context, s subject) error {
			m, err := b.askAll(ctx, s)
			if err != nil {
				return err
			}
			times.add(s.name, m.times...)
			over.add(s.name, percentile(m.times, 50)-base)
			cpu.add(s.name, m.cpu)
			return nil
		})
		if err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		m, err := b.askAgent(b.ctx, subject{command: []string{self}}, environment(b.dir, fmt.Sprintf("%s=%d", sdkVariable, b.sizes.questions)))
		if err != nil {
			return fmt.Errorf("the SDK: %w", err)
		}
		times.add(sdk, m.times...)
		cpu.add(sdk, m.cpu)
	}
	b.table.add("question out + answer back", "µs", minimal, times, timesAtMost(1.5, minimal))
	b.table.add("… over driving the stand-in directly", "µs", minimal, over, atMost(500))
	b.table.add("CPU per question", "µs", minimal, cpu, timesAtMost(2, minimal))
	return nil
}

// forms measures the same in an editor with forms, where other adapters ask
// their questions, too.
func (b *bench) forms() error {
	defer b.table.endStep()
	times, cpu := samples{}, samples{}
	for range b.sizes.rounds {
		err := b.each(func(ctx context.Context, s subject) error {
			if s.name == minimal { // has none
				return nil
			}
			s.forms = true
			m, err := b.askAll(ctx, s)
			if err != nil {
				return err
			}
			times.add(s.name, m.times...)
			cpu.add(s.name, m.cpu)
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.table.add("question as a form, out + answer back", "µs", "", times)
	b.table.add("… CPU per question", "µs", "", cpu)
	return nil
}

// asker installs a stand-in that asks one question after the other.
func (b *bench) asker() (string, error) {
	var steps []claudetest.Step
	for i := range b.sizes.questions {
		steps = append(steps, claudetest.Message(question(i)))
	}
	return b.script(claudetest.Script{Turns: []claudetest.Turn{{Steps: steps}, {Steps: steps}}})
}

// askAll answers all questions of a stand-in through an agent.
func (b *bench) askAll(ctx context.Context, s subject) (m asked, err error) {
	path, err := b.asker()
	if err != nil {
		return m, err
	}
	m, err = b.askAgent(ctx, s, b.env(path))
	if err == nil {
		if got := answersIn(path); got != b.sizes.questions {
			err = fmt.Errorf("%d of %d answers reached the CLI", got, b.sizes.questions)
		}
	}
	return m, err
}

// warmUp is how many questions are not counted.
const warmUp = 50

func (b *bench) askDirect(path string) ([]float64, error) {
	c, err := openCLI(b.ctx, path, b.env(path), b.dir)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var times []float64
	var last time.Time
	asked := 0
	err = c.turn(func(line []byte) {
		now := time.Now()
		if asked++; asked > warmUp {
			times = append(times, us(now.Sub(last)))
		}
		last = time.Now()
		_ = c.answer(line)
	}, nil)
	if err == nil && asked != b.sizes.questions {
		err = fmt.Errorf("%d questions of %d", asked, b.sizes.questions)
	}
	return times, err
}

type asked struct {
	times []float64 // µs
	cpu   float64   // µs a question
}

func (b *bench) askAgent(ctx context.Context, s subject, env []string) (m asked, err error) {
	c, err := connect(ctx, s, env)
	if err != nil {
		return m, err
	}
	defer func() {
		if e := c.end(); err == nil {
			err = e
		}
	}()
	session, err := c.newSession(ctx, b.dir)
	if err != nil {
		return m, err
	}
	var last time.Time
	var before time.Duration
	var cpuErr error
	count := 0
	c.handle(func(a ask) {
		now := time.Now()
		switch count++; {
		case count == warmUp:
			before, cpuErr = cpuTime(c.pid())
		case count > warmUp:
			m.times = append(m.times, us(now.Sub(last)))
		}
		last = time.Now()
		_ = c.answer(a)
	}, nil)
	done, err := c.prompt(session)
	if err != nil {
		return m, err
	}
	if _, err := await(ctx, "session/prompt", done); err != nil {
		return m, err
	}
	if count != b.sizes.questions {
		return m, fmt.Errorf("%d questions of %d were shown", count, b.sizes.questions)
	}
	if cpuErr != nil {
		return m, cpuErr
	}
	after, err := cpuTime(c.pid())
	m.cpu = us(after-before) / float64(count-warmUp)
	return m, err
}

// answersIn counts the answers that a stand-in got.
func answersIn(path string) int {
	data, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "received.ndjson"))
	return bytes.Count(data, []byte(`"answers":{"`))
}
