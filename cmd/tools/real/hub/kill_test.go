package hub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// killCount is how often something is killed in a test.
func killCount() int {
	if n, err := strconv.Atoi(os.Getenv("ACP_BRIDGE_KILLS")); err == nil {
		return n
	}
	return 5
}

// TestKilledUnderLoad kills the hub at random moments while questions are asked
// and answered. Every question that was accepted is there after it; an answer
// that got a 200 is the answer, and none is there that nobody gave.
func TestKilledUnderLoad(t *testing.T) {
	kills := killCount()
	dir := t.TempDir()
	p := startHub(t, dir, "127.0.0.1:0")
	listen := strings.TrimPrefix(p.address, "http://")
	fates := map[string]*fate{}
	next := 0
	for range kills {
		fresh := map[string]*fate{} // since the last kill
		var mu sync.Mutex
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					mu.Lock()
					next++
					f := &fate{id: fmt.Sprintf("call-%d-x", next), tried: map[string]bool{}}
					mu.Unlock()
					if f.do("ask", func() int { return p.post("/conversations/c"+f.id+"/ask", askBody(f.id)) }) != http.StatusAccepted {
						continue // nobody was told that it is kept
					}
					mu.Lock()
					fates[f.id], fresh[f.id] = f, f
					mu.Unlock()
					if rand.IntN(3) == 0 {
						continue // stays open
					}
					var both sync.WaitGroup
					for _, label := range []string{"Yes", "No"} {
						f.tried[label] = true
						both.Go(func() {
							post := func() int {
								return p.post("/conversations/c"+f.id+"/respond", `{"answers":{"Go on?":"`+label+`"}}`)
							}
							if f.do(label, post) == http.StatusOK {
								mu.Lock()
								defer mu.Unlock()
								require.Empty(t, f.given, "two answers were accepted")
								f.given = label
							}
						})
					}
					if rand.IntN(4) == 0 {
						f.tried["cancel"] = true
						both.Go(func() {
							f.do("cancel", func() int { return p.post("/conversations/c"+f.id+"/cancel", "") })
						})
					}
					both.Wait()
				}
			})
		}
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond) // a random moment is the point
		p.kill()
		close(stop)
		wg.Wait()
		p = startHub(t, dir, listen)
		checkFates(t, p, fresh)
	}
	checkFates(t, p, fates) // also after all the kills that followed
	require.NotEmpty(t, fates)
	for _, f := range fates {
		f.check(t, f.id)
	}
	t.Logf("%d questions over %d kills", len(fates), kills)
}

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
	ticket := d.Post(context.Background(), desk.Item{Kind: desk.Question, Again: true, Call: convert.Call{Session: "c" + id, ID: id, Questions: []convert.Question{
		{Text: "Go on?", Header: "Go", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}})
	<-ticket.Context().Done()
	o, _ := ticket.Settle(convert.Outcome{}, "")
	fmt.Println("got " + strings.Join(o.Answers[0].Selected, ","))
	select {}
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
