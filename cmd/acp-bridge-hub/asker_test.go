package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// asAsker makes the test binary be a bridge that asks one question.
const asAsker = "ACP_BRIDGE_ASKER_TEST"

// playAsker asks the question that the environment names, at the hub, until it has
// the answer. It says so and lives on.
func playAsker() {
	hubs, err := hublink.ParseURLs(os.Getenv("ACP_BRIDGE_HUB"))
	if err != nil {
		panic(err)
	}
	d := new(desk.Desk)
	hublink.Start(d, hublink.Options{URL: hubs[0], Others: hubs[1:], Token: func() (string, error) { return os.Getenv("ACP_BRIDGE_HUB_TOKEN"), nil }})
	id := os.Getenv(asAsker)
	ticket := d.Post(context.Background(), desk.Item{Kind: desk.Question, Call: convert.Call{Session: "c" + id, ID: id, Questions: []convert.Question{
		{Text: "Go on?", Header: "Go", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}})
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	fmt.Println("got " + strings.Join(o.Answers[0].Selected, ","))
	select {}
}

type asker struct {
	cmd *exec.Cmd
	got chan string // closed when it has ended
}

func (p *process) startAsker(id string) *asker {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asAsker+"="+id, "ACP_BRIDGE_HUB="+p.address, "ACP_BRIDGE_HUB_TOKEN="+p.token)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	a := &asker{cmd, make(chan string, 1)}
	go func() {
		defer close(a.got)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if label, ok := strings.CutPrefix(lines.Text(), "got "); ok {
				a.got <- label
			}
		}
	}()
	p.t.Cleanup(a.kill)
	return a
}

func (a *asker) kill() {
	_ = a.cmd.Process.Kill()
	for range a.got {
	}
	_ = a.cmd.Wait()
}

// TestBridgeKilled kills bridges while their questions wait, some at a time, and now and
// then the hub, too. A bridge that asks the same again gets the answer that was accepted,
// and no other.
func TestBridgeKilled(t *testing.T) {
	t.Parallel()
	const atOnce = 5 // who died with an answer is waited for by its successor: all wait together
	dir := t.TempDir()
	p := startHub(t, dir, "127.0.0.1:0")
	listen := strings.TrimPrefix(p.address, "http://")
	moment := func(most int) { time.Sleep(time.Duration(rand.IntN(most*1000)) * time.Microsecond) } // a random moment is the point
	for round := range (killCount() + atOnce - 1) / atOnce {
		var ids, labels [atOnce]string
		var askers [atOnce]*asker
		var given sync.WaitGroup
		for i := range askers {
			ids[i], labels[i] = fmt.Sprintf("toolu_%d_%d", round, i), []string{"Yes", "No"}[rand.IntN(2)]
			askers[i] = p.startAsker(ids[i])
			given.Go(func() {
				for { // the hub may be gone, or the question not there yet
					status := p.post("/conversations/c"+ids[i]+"/respond", `{"answers":{"Go on?":"`+labels[i]+`"}}`)
					if status == http.StatusOK || status == http.StatusConflict {
						return
					}
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
		for _, a := range askers {
			moment(40)
			a.kill()
		}
		if rand.IntN(2) == 0 {
			p.kill()
			next := startHub(t, dir, listen)
			p.cmd = next.cmd
		}
		moment(20)
		for i, id := range ids {
			askers[i] = p.startAsker(id)
		}
		for i, a := range askers {
			select {
			case got := <-a.got:
				require.Equal(t, labels[i], got)
			case <-time.After(patience):
				t.Fatalf("%s: the answer never came", ids[i])
			}
		}
		given.Wait()
		for _, a := range askers {
			a.kill()
		}
	}
}
