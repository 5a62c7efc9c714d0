package client

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// typist is somebody at a terminal who types lines of words that are never said again,
// whatever is on the screen, and knows what was there when.
type typist struct {
	mu    sync.Mutex
	shown []time.Time // of each question, when it came onto the screen
	said  map[string]typedLine
}

type typedLine struct {
	at      time.Time
	seeing  int           // the last question on the screen, from 1
	resting time.Duration // since that came, or the line before it
}

// Write is what comes onto the screen.
func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := fmt.Sprintf("Which %d?", len(p.shown)+1); strings.Contains(string(b), next) {
		p.shown = append(p.shown, time.Now())
	}
	return len(b), nil
}

// says notes a line that is about to be typed.
func (p *typist) says(last time.Time) (text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	l := typedLine{at: now, seeing: len(p.shown), resting: now.Sub(last)}
	if len(p.shown) > 0 {
		l.resting = min(l.resting, now.Sub(p.shown[len(p.shown)-1]))
	}
	text = fmt.Sprintf("said-%d", len(p.said))
	p.said[text] = l
	return text
}

func (p *typist) knows(text string) (typedLine, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.said[text]
	return l, ok
}

// Questions are asked in lines, one after another, some withdrawn, while a person types
// at all times. Whatever the agent gets as an answer, the person has typed it with this
// question in front of them, and with rested hands.
func TestWhatIsTypedIsForWhatIsSeen(t *testing.T) {
	answered, withdrawn := 0, 0
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			pause := func() time.Duration {
				return []time.Duration{0, time.Millisecond, seen.Hands - 1, seen.Hands, seen.Hands + 1, time.Duration(r.IntN(2000)) * time.Millisecond}[r.IntN(6)]
			}
			ctx, stop := context.WithCancel(t.Context())
			in, keys := io.Pipe()
			who := &typist{said: map[string]typedLine{}}
			p := &plain{ctx: ctx, o: &Options{In: in, Out: who}, typed: true}
			p.in = newSource(ctx, in, false)
			p.reader = p.answers(false)
			pauses := make([]time.Duration, 200)
			for i := range pauses {
				pauses[i] = pause()
			}
			typing := make(chan struct{})
			go func() {
				defer close(typing)
				last := time.Now()
				for _, d := range pauses {
					if time.Sleep(d); ctx.Err() != nil {
						return
					}
					text := who.says(last)
					last = time.Now()
					_, _ = io.WriteString(keys, text+"\n")
				}
			}()
			buf := make([]byte, 100)
			for n := 1; n <= 6; n++ {
				time.Sleep(pause())
				open, withdraw := context.WithCancel(ctx)
				if r.IntN(3) == 0 { // the agent gives it up, or it is answered elsewhere
					time.AfterFunc(pause(), withdraw)
				}
				_, _ = fmt.Fprintf(who, "Which %d?\n> ", n)
				p.reader.ask(open)
				got, err := p.reader.Read(buf)
				if withdraw(); err != nil {
					withdrawn++
					continue
				}
				text := strings.TrimSpace(string(buf[:got]))
				l, ok := who.knows(text)
				require.True(t, ok, "seed %d: nobody said %q", seed, text)
				require.Equal(t, n, l.seeing, "seed %d: %s", seed, text)
				require.GreaterOrEqual(t, l.resting, seen.Hands, "seed %d: %s", seed, text)
				answered++
			}
			stop()
			_ = in.Close()
			_ = keys.Close()
			<-typing
			synctest.Wait()
		})
	}
	require.Greater(t, answered, 100, "%d were withdrawn", withdrawn)
}
