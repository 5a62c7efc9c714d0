package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// start measures from the start of a process to its answer to initialize, and
// from session/new to its answer.
func (b *bench) start() error {
	defer b.table.endStep()
	path, err := b.script(claudetest.Script{})
	if err != nil {
		return err
	}
	initialize, session := samples{}, samples{}
	for range b.sizes.starts {
		if err := b.startOnce(path, func() ([]string, error) { return b.env(path), nil }, initialize, session, nil); err != nil {
			return err
		}
	}
	b.table.add("process start → initialize answered", "ms", minimal, initialize, atMost(15))
	b.table.add("session/new, stand-in CLI", "ms", direct, session)
	return nil
}

// startOnce opens a session with the bare CLI and with each agent, in an
// environment of its own, and lets use do something in it.
func (b *bench) startOnce(path string, newEnv func() ([]string, error), initialize, session samples, use func(ctx context.Context, name string, c *client, session string) error) error {
	env, err := newEnv()
	if err != nil {
		return err
	}
	begin := time.Now()
	c, err := openCLI(b.ctx, path, env, b.dir)
	if err != nil {
		return err
	}
	session.add(direct, ms(time.Since(begin)))
	c.close()
	return b.each(func(ctx context.Context, s subject) error {
		env, err := newEnv()
		if err != nil {
			return err
		}
		begin := time.Now()
		c, err := connect(ctx, s, env)
		if err != nil {
			return err
		}
		initialize.add(s.name, ms(time.Since(begin)))
		begin = time.Now()
		id, err := c.newSession(ctx, b.dir)
		session.add(s.name, ms(time.Since(begin)))
		if err == nil && use != nil {
			err = use(ctx, s.name, c, id)
		}
		return cmp.Or(err, c.end())
	})
}

// real opens sessions with the real CLI, if there is one.
func (b *bench) real() error {
	defer b.table.endStep()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		fmt.Fprintln(b.progress, "bench: skipped: ACP_BRIDGE_REAL_CLAUDE does not name the real CLI")
		return nil
	}
	api := apitest.Start()
	defer api.Close()
	session, whole, next := samples{}, samples{}, samples{}
	turns := func(ctx context.Context, name string, c *client, id string) error {
		first, err := c.turn(ctx, api, id)
		if err != nil {
			return err
		}
		second, err := c.turn(ctx, api, id)
		whole.add(name, ms(first))
		next.add(name, ms(second-first))
		return err
	}
	// The CLI finds more to do in a home that it has been in.
	newEnv := func() ([]string, error) {
		home, err := os.MkdirTemp(b.dir, "home-")
		return append(apitest.Env(api, home), "ACP_BRIDGE_CLAUDE="+path, "CLAUDE_CODE_EXECUTABLE="+path), err
	}
	for range b.sizes.real {
		if err := b.startOnce(path, newEnv, samples{}, session, turns); err != nil {
			return err
		}
	}
	b.table.add("session/new, Claude Code", "ms", direct, session, timesAtMost(1.1, direct))
	b.table.add("… CPU from the start to the end of a turn", "ms", minimal, whole)
	b.table.add("… CPU for the next turn", "ms", minimal, next)
	return nil
}

// turn takes a turn of few words, and returns what CPU time the agent has used so far.
func (c *client) turn(ctx context.Context, api *apitest.Server, session string) (time.Duration, error) {
	api.Script(apitest.Say("Hello", " there."))
	done, err := c.prompt(session)
	if err != nil {
		return 0, err
	}
	if _, err := await(ctx, "session/prompt", done); err != nil {
		return 0, err
	}
	return cpuTime(c.pid())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
