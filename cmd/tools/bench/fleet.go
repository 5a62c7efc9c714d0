package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
)

// fleetOptions say how large a fleet is.
type fleetOptions struct {
	agents, groups, watchers, rate int
	period                         time.Duration
	nats                           string
}

// fleetResult is what was measured of one hub.
type fleetResult struct {
	hub      string // "floor" or "acp-bridge-hub"
	options  fleetOptions
	before   int64 // resident memory without streams and agents
	alone    int64 // with all streams
	waiting  int64 // and all agents
	after    int64
	answered float64 // a second
	toSeen   []time.Duration
	toLast   []time.Duration
	toAgent  []time.Duration
	idle     time.Duration // CPU a second while all wait
	cpu      time.Duration // for a question
	stolen   float64       // of all CPU time, by what else the host does
	disk     []time.Duration
}

// parseFleet reads the flags of fleet. sizes are how many agents there are.
func parseFleet(args []string, errOut io.Writer) (o fleetOptions, sizes []int, floor bool, err error) {
	fs := flag.NewFlagSet("bench fleet", flag.ContinueOnError)
	fs.SetOutput(errOut)
	agents := fs.String("agents", "1000,10000", "how many agents wait with a question each: `N[,N…]`, measured one after the other")
	fs.IntVar(&o.watchers, "watchers", 200, "how many people watch, over all groups; in one group (-groups 1) each watches everything")
	fs.IntVar(&o.groups, "groups", 20, "of how many groups agents and people are")
	fs.IntVar(&o.rate, "rate", 2000, "how many questions a second are answered")
	fs.DurationVar(&o.period, "time", 5*time.Minute, "for how long")
	fs.StringVar(&o.nats, "nats", "", "the NATS `SERVERS` that keep the questions, three copies each; without it the hub has its own")
	fs.BoolVar(&floor, "floor", true, "measure a hub that does as little as one can, too, for a tenth of the time")
	if err := fs.Parse(args); err != nil {
		return o, nil, false, err
	}
	if fs.NArg() > 0 {
		return o, nil, false, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	for v := range strings.SplitSeq(*agents, ",") {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return o, nil, false, fmt.Errorf("--agents: expected numbers with commas between them, got %q", *agents)
		}
		sizes = append(sizes, n)
	}
	if o.groups < 1 || o.watchers < o.groups || o.rate < 1 || o.period <= 0 {
		return o, nil, false, errors.New("expected at least one group, a watcher for each, one question a second and some time")
	}
	return o, sizes, floor, nil
}

// runFleet measures a hub with many agents.
func runFleet(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, sizes, floor, err := parseFleet(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errOut, "bench:", err)
		return 2
	}
	results, err := measureFleets(ctx, o, sizes, floor, errOut)
	if err == nil {
		err = printFleet(out, results)
	}
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	return 0
}

func measureFleets(ctx context.Context, o fleetOptions, sizes []int, floor bool, progress io.Writer) ([]fleetResult, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("CPU time and memory are read from /proc: this needs Linux")
	}
	dir, err := os.MkdirTemp("", "acp-bridge-fleet-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := repository.Build(dir, "acp-bridge-hub"); err != nil {
		return nil, err
	}
	var results []fleetResult
	for _, n := range sizes {
		o.agents = n
		for _, name := range []string{"floor", "acp-bridge-hub"} {
			one := o
			if name == "floor" {
				if !floor {
					continue
				}
				one.period = o.period / 10
			}
			fmt.Fprintf(progress, "bench: %s with %d agents, %s\n", name, n, one.period)
			r, err := measureFleet(ctx, filepath.Join(dir, fmt.Sprint(name, n)), filepath.Join(dir, "acp-bridge-hub"), name, one)
			if err != nil {
				return nil, fmt.Errorf("%s with %d agents: %w", name, n, err)
			}
			results = append(results, r)
		}
	}
	return results, nil
}

func printFleet(out io.Writer, results []fleetResult) error {
	fmt.Fprintf(out, "%s, %s, %d CPUs, %s, load %s\n\n", time.Now().UTC().Format(time.RFC3339), cpuModel(), runtime.NumCPU(), runtime.Version(), load())
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(fleetResult) string) {
		cells := []string{name}
		for _, r := range results {
			cells = append(cells, cell(r))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	times := func(pick func(fleetResult) []time.Duration) func(fleetResult) string {
		return func(r fleetResult) string {
			all := slices.Sorted(slices.Values(pick(r)))
			if len(all) == 0 {
				return "–"
			}
			return fmt.Sprintf("%s / %s", number(ms(all[len(all)/2])), number(ms(all[len(all)*99/100])))
		}
	}
	row("agents", func(r fleetResult) string { return fmt.Sprintf("%d, %s", r.options.agents, r.hub) })
	row("answered a second", func(r fleetResult) string { return number(r.answered) })
	row("ask → seen, p50 / p99, ms", times(func(r fleetResult) []time.Duration { return r.toSeen }))
	row("… by the last who came, p50 / p99, ms", times(func(r fleetResult) []time.Duration { return r.toLast }))
	row("answer → delivered, p50 / p99, ms", times(func(r fleetResult) []time.Duration { return r.toAgent }))
	row("CPU for a question, µs", func(r fleetResult) string { return number(us(r.cpu)) })
	row("CPU a second while all wait, ms", func(r fleetResult) string { return number(ms(r.idle)) })
	row("memory before, MB", func(r fleetResult) string { return number(mb(r.before)) })
	row("memory a stream, kB", func(r fleetResult) string {
		return number(float64(r.alone-r.before) / 1000 / float64(r.options.watchers))
	})
	row("memory a waiting agent, kB", func(r fleetResult) string {
		return number(float64(r.waiting-r.alone) / 1000 / float64(r.options.agents))
	})
	row("memory after, MB", func(r fleetResult) string { return number(mb(r.after)) })
	row("the disk keeps a write, p50 / p99, ms", times(func(r fleetResult) []time.Duration { return r.disk }))
	row("CPU that the host took away, %", func(r fleetResult) string { return number(100 * r.stolen) })
	return tw.Flush()
}

// measureFleet starts a hub, has all agents ask, and then people answer.
func measureFleet(ctx context.Context, data, program, name string, o fleetOptions) (r fleetResult, err error) {
	r = fleetResult{hub: name, options: o}
	if r.disk, err = diskTimes(filepath.Dir(data)); err != nil {
		return r, err
	}
	hub, err := startHub(ctx, data, program, name, o)
	if err != nil {
		return r, err
	}
	defer func() { err = cmp.Or(err, hub.end()) }()
	groups, err := hub.groups(ctx, o)
	if err != nil {
		return r, err
	}
	if r.before, err = resident(hub.pid()); err != nil {
		return r, err
	}
	c := newCrowd(hub.host, groups, o.agents, o.watchers)
	ctx, c.stop = context.WithCancel(ctx)
	defer c.wires.Wait()
	defer c.stop()
	if err = c.watch(ctx); err == nil {
		if err = r.wait(ctx, c, hub.pid()); err == nil {
			err = r.work(ctx, c, hub.pid())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.toSeen, r.toLast, r.toAgent = c.toSeen, c.toLast, c.toAgent
	return r, cmp.Or(c.err, err)
}

// wait measures a hub at which every agent waits.
func (r *fleetResult) wait(ctx context.Context, c *crowd, pid int) (err error) {
	if r.alone, err = resident(pid); err != nil {
		return err
	}
	c.ask(ctx)
	select {
	case <-c.everSeen:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(settle)
	if r.waiting, err = resident(pid); err != nil {
		return err
	}
	const quiet = 2 * time.Second
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	time.Sleep(quiet)
	spent, err := cpuTime(pid)
	r.idle = (spent - before) / time.Duration(quiet/time.Second)
	return err
}

// work measures a hub at which people answer.
func (r *fleetResult) work(ctx context.Context, c *crowd, pid int) error {
	first, err := c.answer(ctx, r.options.rate, min(r.options.period/10, 5*time.Second))
	if err != nil {
		return err
	}
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	stolen, all, err := hostTime()
	if err != nil {
		return err
	}
	c.counted.Store(true)
	begin := time.Now()
	n, err := c.answer(ctx, r.options.rate, r.options.period)
	if err == nil {
		err = c.arrived(ctx, first+n)
	}
	if err != nil {
		return err
	}
	took := time.Since(begin)
	c.counted.Store(false)
	spent, err := cpuTime(pid)
	if err != nil {
		return err
	}
	r.answered, r.cpu = float64(n)/took.Seconds(), (spent-before)/time.Duration(max(n, 1))
	if stolenBy, allBy, err := hostTime(); err != nil {
		return err
	} else if allBy > all {
		r.stolen = float64(stolenBy-stolen) / float64(allBy-all)
	}
	r.after, err = resident(pid)
	return err
}

// fleetHub is a process that agents and people talk to.
type fleetHub struct {
	cmd    *exec.Cmd
	host   string
	token  string // of its owner; empty if it knows nobody
	stderr tail
	ended  chan struct{}
}

func startHub(ctx context.Context, data, program, name string, o fleetOptions) (*fleetHub, error) {
	h := &fleetHub{ended: make(chan struct{})}
	var out io.ReadCloser
	var err error
	if name == "floor" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		h.cmd = exec.CommandContext(ctx, self)
		h.cmd.Env = append(os.Environ(), floorVariable+"=1")
		h.cmd.Stderr = &h.stderr
		out, err = h.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
	} else {
		h.cmd = exec.CommandContext(ctx, program, "--data", data, "--listen", "127.0.0.1:0")
		if o.nats != "" { // each size has a bucket of its own
			h.cmd.Args = append(h.cmd.Args, "--nats", o.nats, "--replicas", "3", "--bucket", fmt.Sprint("fleet", o.agents))
		}
		if out, err = h.cmd.StderrPipe(); err != nil {
			return nil, err
		}
	}
	h.cmd.Cancel = func() error { return h.cmd.Process.Signal(syscall.SIGTERM) }
	h.cmd.WaitDelay = time.Minute
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for h.host == "" && lines.Scan() {
		h.host = strings.TrimPrefix(strings.TrimPrefix(lines.Text(), "The hub listens on "), "http://")
	}
	go func() {
		defer close(h.ended)
		_, _ = io.Copy(&h.stderr, out)
	}()
	if name != "floor" {
		token, err := os.ReadFile(filepath.Join(data, "token"))
		if err != nil {
			return nil, errors.Join(err, h.end())
		}
		h.token = strings.TrimSpace(string(token))
	}
	return h, nil
}

func (h *fleetHub) pid() int { return h.cmd.Process.Pid }

func (h *fleetHub) end() error {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	<-h.ended
	err := h.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && h.token == "" {
		return nil // the floor ends by the signal
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, h.stderr.String())
	}
	return nil
}

// groups makes devices that ask and devices that answer.
func (h *fleetHub) groups(ctx context.Context, o fleetOptions) ([]fleetGroup, error) {
	groups := make([]fleetGroup, o.groups)
	for i := range groups {
		g := &groups[i]
		g.name, g.answers = fmt.Sprint("team-", i), make([]string, (o.watchers/o.groups+streamsOf-1)/streamsOf)
		if h.token == "" {
			continue
		}
		var err error
		if g.asks, err = h.device(ctx, fmt.Sprint("bot-", i), "ask", g.name); err != nil {
			return nil, err
		}
		for n := range g.answers {
			if g.answers[n], err = h.device(ctx, fmt.Sprint("person-", i, "-", n), "answer", g.name); err != nil {
				return nil, err
			}
		}
	}
	return groups, nil
}

// device makes a device of a group and returns its token.
func (h *fleetHub) device(ctx context.Context, name, can, group string) (string, error) {
	body, _ := json.Marshal(map[string]any{"name": name, "can": can, "groups": []string{group}})
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+h.host+"/devices", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	var made struct{ Token, Error string }
	if err := json.NewDecoder(reply.Body).Decode(&made); err != nil || made.Token == "" {
		return "", fmt.Errorf("POST /devices: %s %s %w", reply.Status, made.Error, err)
	}
	return made.Token, nil
}
