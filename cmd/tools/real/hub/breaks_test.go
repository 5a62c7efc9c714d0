//go:build unix

package hub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// fault is something that breaks, and how it is mended.
type fault struct {
	kind        string
	begin, mend func()
}

// round is every kind of fault once, each of something that the seed picks, in an
// order that it picks. A kill is the leader's, and so is one other of the servers'
// faults.
func (f *fleet) round(rnd *rand.Rand) (list []fault) {
	list = append(list, f.killOfLeader())
	kinds := f.nodes[0].faults()
	leading := rnd.IntN(len(kinds))
	for i, one := range kinds {
		n := f.nodes[rnd.IntN(len(f.nodes))]
		begin := func() {
			f.isWhole()
			if i == leading {
				n = f.leader()
			}
			n.faults()[i].begin()
		}
		list = append(list, fault{one.kind, begin, func() { n.faults()[i].mend() }})
	}
	for i := range f.hubs[0].faults() {
		list = append(list, f.hubs[rnd.IntN(len(f.hubs))].faults()[i])
	}
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// killOfLeader kills the server that leads the questions: the others have to elect
// another one.
func (f *fleet) killOfLeader() fault {
	var n *node
	var elected chan time.Duration
	begin := func() {
		f.isWhole()
		n, elected = f.leader(), make(chan time.Duration, 1)
		killed := time.Now()
		n.end(os.Kill)
		go func() {
			for !f.writes() {
				time.Sleep(10 * time.Millisecond) // nobody tells
			}
			elected <- time.Since(killed)
		}()
	}
	return fault{"kill of the leading server", begin, func() {
		f.t.Logf("%8s of it until the servers took a write from anybody", (<-elected).Round(time.Millisecond))
		n.start()
	}}
}

// writes reports whether the servers take a write now: a note, which is no question.
func (f *fleet) writes() bool {
	ctx, cancel := context.WithTimeout(f.t.Context(), requestTime/4)
	defer cancel()
	m := nats.NewMsg("$KV.questions.mark-observer")
	m.Header.Set("KV-Operation", "DEL")
	_, err := f.observer.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err == nil || f.t.Context().Err() != nil
}

func (n *node) faults() []fault {
	list := []fault{
		{"stop of a server", func() { n.signal(syscall.SIGSTOP) }, func() { n.signal(syscall.SIGCONT) }},
		{"partition of a server", func() { n.cut(netfault.LoseAll) }, func() { n.cut(netfault.Pass) }},
	}
	if n.disk != "" {
		list = append(list, fault{"full disk of a server", n.fill, n.empty})
	}
	return list
}

func (n *node) signal(s os.Signal) { require.NoError(n.t, n.cmd.Process.Signal(s)) }

// diskSize is that of a server's disk, with room for all questions: they are kept.
// A tmpfs takes no memory for what is empty.
func diskSize() string { return fmt.Sprintf("%dm", 64+*faultQuestions/200) }

// ownDisk gives the node a disk of its own, which can be full, if the system lets
// us.
func (n *node) ownDisk() {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+diskSize(), "tmpfs", n.dir).CombinedOutput(); err != nil {
		n.t.Logf("!! NO DISK IS FULL IN THIS TEST: a tmpfs cannot be mounted: %v %s", err, out)
		return
	}
	n.disk = n.dir
	n.t.Cleanup(func() { // nodes have ended by then
		if out, err := exec.Command("umount", n.disk).CombinedOutput(); err != nil {
			n.t.Errorf("umount: %v %s", err, out)
		}
	})
}

// fill leaves no room on the node's disk.
func (n *node) fill() {
	file, err := os.Create(filepath.Join(n.disk, "filler"))
	require.NoError(n.t, err)
	defer file.Close()
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(block[:size])
		}
		require.ErrorIs(n.t, err, syscall.ENOSPC)
	}
}

// empty makes room again. A server whose disk was full has given up its store
// until it is started anew.
func (n *node) empty() {
	require.NoError(n.t, os.Remove(filepath.Join(n.disk, "filler")))
	n.end(os.Kill)
	n.start()
}

func (s *station) faults() []fault {
	signal := func(sig os.Signal) func() {
		return func() { require.NoError(s.t, s.hub.cmd.Process.Signal(sig)) }
	}
	cut := func(m netfault.Mode, proxies ...*netfault.Proxy) func() {
		return func() {
			for _, p := range proxies {
				p.Set(m)
			}
		}
	}
	return []fault{
		{"kill of a hub", func() { s.end(os.Kill) }, s.start},
		{"stop of a hub", signal(syscall.SIGSTOP), signal(syscall.SIGCONT)},
		{"partition of a hub from the servers", cut(netfault.LoseAll, s.nodes...), cut(netfault.Pass, s.nodes...)},
		{"partition of a hub from agents and people", cut(netfault.LoseAll, s.door), cut(netfault.Pass, s.door)},
		{"lost replies of a hub", cut(netfault.LoseReplies, s.door), cut(netfault.Pass, s.door)},
	}
}

// restartAll starts all servers and hubs anew, one after another, as an upgrade
// does. Meanwhile the others go on.
func (f *fleet) restartAll(goesOn func(what string)) {
	for i, n := range f.nodes {
		f.isWhole()
		n.end(syscall.SIGTERM)
		n.start()
		goesOn(fmt.Sprint("server ", i, " of a rolling restart"))
	}
	for i, s := range f.hubs {
		s.end(syscall.SIGTERM)
		s.start()
		goesOn(fmt.Sprint("hub ", i, " of a rolling restart"))
	}
}
