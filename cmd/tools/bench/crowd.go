package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is agents that each have one question open, people who watch, and people
// who answer what they have seen, all at one hub.
type crowd struct {
	host    string
	groups  []fleetGroup
	each    int // people who watch each group
	agents  []fleetAgent
	seen    chan sighting // what is open and was seen, the oldest first
	stop    context.CancelFunc
	wires   sync.WaitGroup
	counted atomic.Bool // times count from now on

	mu        sync.Mutex
	toSeen    []time.Duration
	toLast    []time.Duration
	toAgent   []time.Duration
	delivered int // in all
	err       error
	everSeen  chan struct{} // closed when every agent's first question was seen
	unseen    int
}

// fleetGroup is agents and people who have nothing to do with those of others.
type fleetGroup struct {
	name, asks string
	answers    []string // the tokens of devices with streamsOf streams each
}

// streamsOf is how many people of a group share a device: a hub lets one have so many
// streams.
const streamsOf = 250

type fleetAgent struct {
	group    int
	asked    [8]atomic.Int64 // when, in nanoseconds, by the question's number
	answered atomic.Int64
}

// since is how long ago a question was asked: a stream may be some questions behind.
func (a *fleetAgent) since(question string, now int64) time.Duration {
	n, _ := strconv.Atoi(strings.TrimPrefix(question, "q"))
	return time.Duration(now - a.asked[n%len(a.asked)].Load())
}

// sighting is a question that somebody saw.
type sighting struct {
	agent    int
	question string
	revision string
}

func newCrowd(host string, groups []fleetGroup, agents, watchers int) *crowd {
	c := &crowd{host: host, groups: groups, each: watchers / len(groups), agents: make([]fleetAgent, agents), seen: make(chan sighting, 2*agents), everSeen: make(chan struct{}), unseen: agents}
	for i := range c.agents {
		c.agents[i].group = i % len(groups)
	}
	return c
}

func (c *crowd) fail(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && ctx.Err() == nil {
		c.err = err
		c.stop()
	}
}

// watch opens all streams. The first of each group is read for what there is to answer,
// the last for when it comes there, and the others are taken as they come.
func (c *crowd) watch(ctx context.Context) error {
	for g := range c.groups {
		group := &c.groups[g]
		for i := range c.each {
			w, err := dial(c.host, group.answers[i/streamsOf])
			if err != nil {
				return err
			}
			body, err := w.stream("/events?group=" + group.name)
			if err != nil {
				return err
			}
			context.AfterFunc(ctx, w.close)
			c.wires.Go(func() {
				switch i {
				case 0:
					err = c.read(body, c.saw)
				case c.each - 1:
					err = c.read(body, c.sawLast)
				default: // its chunks are nobody's business
					_, err = io.Copy(io.Discard, w.conn)
				}
				c.fail(ctx, fmt.Errorf("a stream ended: %w", errors.Join(err, io.ErrUnexpectedEOF)))
			})
		}
	}
	return nil
}

// read notes when questions are seen.
func (c *crowd) read(in io.Reader, saw func(s sighting, now int64)) error {
	buf := make([]byte, 0, 256<<10)
	for {
		if len(buf) == cap(buf) {
			return errors.New("an event is longer than expected")
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		buf = buf[:len(buf)+n]
		rest := buf
		for {
			event, after, ok := bytes.Cut(rest, []byte("\n\n"))
			if !ok {
				break
			}
			rest = after
			if bytes.Contains(event, []byte(`"awaiting_user_response"`)) {
				if s, ok := sightingIn(event); ok {
					saw(s, now)
				}
			}
		}
		buf = buf[:copy(buf, rest)]
	}
}

// sightingIn is the question that an event shows. The end of one has the state of its
// conversation, in which the next one may wait already: that has an event of its own.
func sightingIn(event []byte) (s sighting, ok bool) {
	question := member(event, `"question":"`)
	agent, err := strconv.Atoi(strings.TrimPrefix(member(event, `"conversation":"`), "agent-"))
	ok = err == nil && strings.HasPrefix(question, "q") && question == member(event, `"tool_use_id":"`)
	return sighting{agent, question, member(event, `"revision":`)}, ok
}

// saw notes a question that somebody can answer from now on.
func (c *crowd) saw(s sighting, now int64) {
	c.mu.Lock()
	if s.question == "q0" {
		if c.unseen--; c.unseen == 0 {
			close(c.everSeen)
		}
	}
	if c.counted.Load() {
		c.toSeen = append(c.toSeen, c.agents[s.agent].since(s.question, now))
	}
	c.mu.Unlock()
	c.seen <- s
}

// sawLast notes a question that all who watch have seen by now, or nearly.
func (c *crowd) sawLast(s sighting, now int64) {
	if c.counted.Load() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.toLast = append(c.toLast, c.agents[s.agent].since(s.question, now))
	}
}

// arrived waits until so many answers have reached their agents.
func (c *crowd) arrived(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	for {
		c.mu.Lock()
		got := c.delivered
		c.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d answers have arrived: %w", got, n, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// member is the value of the first member of that name.
func member(event []byte, name string) string {
	_, rest, ok := bytes.Cut(event, []byte(name))
	if !ok {
		return ""
	}
	if end := bytes.IndexAny(rest, `",}`); end >= 0 {
		rest = rest[:end]
	}
	return string(rest)
}

// ask has every agent ask one question after another until ctx ends. Connections
// are made a few at a time.
func (c *crowd) ask(ctx context.Context) {
	gate := make(chan struct{}, 64)
	for i := range c.agents {
		c.wires.Go(func() {
			gate <- struct{}{}
			w, err := dial(c.host, c.groups[c.agents[i].group].asks)
			<-gate
			if err == nil {
				context.AfterFunc(ctx, w.close)
				err = c.agent(w, i)
			}
			c.fail(ctx, fmt.Errorf("agent %d: %w", i, err))
		})
	}
}

const fleetAnswer = `{"answers":{"Which database should the service use?":"SQLite"}}`

func (c *crowd) agent(w *wire, i int) error {
	a := &c.agents[i]
	path, group := fmt.Sprintf("/conversations/agent-%d", i), "?group="+c.groups[a.group].name
	for n := 0; ; n++ {
		body := fmt.Sprintf(`{"kind":"question","title":"Service %d","agent":"bench","machine":"host-%d","dir":"/srv/app","asker":"asker-%d","call":{"ID":"q%d","Questions":[{"Text":"Which database should the service use?","Header":"Database","Options":[{"Label":"PostgreSQL","Description":"A server of its own, for many writers"},{"Label":"SQLite","Description":"A file beside the service"},{"Label":"None","Description":"Everything in memory"}]}]}}`, i, i%50, i, n)
		a.asked[n%len(a.asked)].Store(time.Now().UnixNano())
		for {
			status, data, err := w.post(path+"/ask"+group+"&dialect=bridge&wait=25s", body)
			if err != nil {
				return err
			}
			if status == 202 {
				continue // nobody has answered yet
			}
			if status != 200 || !bytes.Contains(data, []byte("SQLite")) {
				return fmt.Errorf("question %d: %d %s", n, status, data)
			}
			break
		}
		took := time.Duration(time.Now().UnixNano() - a.answered.Load())
		c.mu.Lock()
		c.delivered++
		if c.counted.Load() {
			c.toAgent = append(c.toAgent, took)
		}
		c.mu.Unlock()
		if status, data, err := w.post(fmt.Sprintf("%s/questions/q%d/received%s", path, n, group), fmt.Sprintf(`{"consumed":true,"asker":"asker-%d"}`, i)); err != nil || status != 200 {
			return fmt.Errorf("received: %d %s %w", status, data, err)
		}
	}
}

// people is how many answer at a time.
const people = 64

// answer answers what was seen, so many a second, for a while. It returns how
// many that were.
func (c *crowd) answer(ctx context.Context, rate int, period time.Duration) (int, error) {
	work := make(chan sighting)
	var all sync.WaitGroup
	for range people {
		all.Go(func() {
			wires := make([]*wire, len(c.groups))
			for s := range work {
				if err := c.respond(wires, s); err != nil {
					c.fail(ctx, fmt.Errorf("an answer: %w", err))
				}
			}
			for _, w := range wires {
				if w != nil {
					w.close()
				}
			}
		})
	}
	n, begin := 0, time.Now()
	for ; ctx.Err() == nil && time.Since(begin) < period; n++ {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		select {
		case <-ctx.Done():
		case s := <-c.seen:
			select {
			case work <- s:
			case <-ctx.Done():
			}
		case <-time.After(period - time.Since(begin)):
			n--
		}
	}
	close(work)
	all.Wait()
	return n, ctx.Err()
}

// respond answers one question. Connections are made when they are used first.
func (c *crowd) respond(wires []*wire, s sighting) (err error) {
	a := &c.agents[s.agent]
	group := c.groups[a.group]
	if wires[a.group] == nil {
		if wires[a.group], err = dial(c.host, group.answers[0]); err != nil {
			return err
		}
	}
	a.answered.Store(time.Now().UnixNano())
	status, data, err := wires[a.group].post(fmt.Sprintf("/conversations/agent-%d/respond?group=%s&question=%s&revision=%s", s.agent, group.name, s.question, s.revision), fleetAnswer)
	if err == nil && status != 200 {
		err = fmt.Errorf("%d %s", status, data)
	}
	return err
}
