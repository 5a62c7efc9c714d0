package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// proxy measures acp-bridge between an editor and another agent, beside a program
// that copies lines, in the minimal adapter's column, and the agent alone.
func (b *bench) proxy() error {
	defer b.table.endStep()
	n := b.sizes.deltas
	copier := filepath.Join(b.dir, "copy")
	agent := []string{copier, "agent", strconv.Itoa(n)}
	subjects := []subject{
		{name: direct, command: agent},
		{name: minimal, command: append([]string{copier, "--"}, agent...)},
		{name: product, command: append([]string{filepath.Join(b.dir, product), "proxy", "--"}, agent...)},
	}
	start, took, cpu, idle := samples{}, samples{}, samples{}, newFootprints()
	for range b.sizes.starts {
		for _, s := range subjects {
			began := time.Now()
			c, err := connect(b.ctx, s, b.env(copier))
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			start.add(s.name, ms(time.Since(began)))
			if err := c.end(); err != nil {
				return err
			}
		}
	}
	for range b.sizes.rounds {
		for _, s := range subjects {
			ctx, cancel := context.WithTimeout(b.ctx, stepLimit)
			t, spent, err := b.agentDeltas(ctx, s, copier, deltaText(n, ""))
			cancel()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			took.add(s.name, ms(t))
			if s.name != direct { // that is the agent itself
				cpu.add(s.name, ms(spent)*1000/float64(n))
			}
		}
	}
	for _, s := range subjects[1:] {
		f, err := b.idleMemory(b.ctx, s, copier)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		idle.add(s.name, f)
	}
	b.table.add("proxy: process start → initialize answered", "ms", direct, start, moreAtMost(3, direct))
	b.table.add(fmt.Sprintf("proxy: %d deltas, in order", n), "ms", minimal, took, timesAtMost(1.5, minimal))
	b.table.add("… CPU per 1,000 deltas, proxied", "ms", minimal, cpu, timesAtMost(1.5, minimal))
	idle.rows(b.table, "proxy, idle", atMost(12.6))
	return nil
}

// moreAtMost bounds what acp-bridge's median is over that of another column.
func moreAtMost(limit float64, base string) rule {
	return func(r *row) target {
		return target{fmt.Sprintf("≤ %g %s over %s", limit, r.Unit, base), r.Values[product].P50 <= r.Values[base].P50+limit}
	}
}
