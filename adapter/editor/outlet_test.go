package editor

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// While a question waits, updates are held up to a bound in number and in bytes;
// then the agent is not read. Nothing is lost, and all is in order.
func TestHeldUpdatesAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ size, count, most int }{
		"in number":                         {10, 2 * maxHeld, maxHeld},
		"in bytes":                          {maxHeldBytes / 4, 10, 4},
		"one is taken, however large it is": {2 * maxHeldBytes, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, updates := joined(t)
				holds(t, s, updates)
				sent, done := 0, make(chan struct{})
				go func() {
					defer close(done)
					for i := range c.count {
						s.Text(MessageChunk, string(rune('a'+i%26))+strings.Repeat(".", c.size))
						sent++
					}
				}()
				synctest.Wait()
				require.Equal(t, c.most, sent, "then the reader of the agent waits")
				select {
				case <-s.Stuck():
				default:
					require.Fail(t, "it is told that the agent is not read")
				}
				require.Empty(t, updates, "nothing goes out")
				s.release()
				for i := range c.count {
					require.Equal(t, string(rune('a'+i%26)), (<-updates)[:1], "in order")
				}
				<-done
				holds(t, s, updates) // what was held counts no more
				s.Text(MessageChunk, "again")
				synctest.Wait()
				require.Empty(t, updates)
				s.release()
				require.Equal(t, "again", <-updates)
			})
		})
	}
}

// holds has all that follows held, behind a text that is read.
func holds(t *testing.T, s *Session, updates <-chan string) {
	t.Helper()
	s.hold("?", func() session.Event { return nil })
	s.Flush()
	require.Equal(t, "?", <-updates)
}

// Nothing comes between a question and what is held behind it.
func TestNothingComesBehindTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, updates := joined(t)
		for range 50 {
			var writers sync.WaitGroup
			for range 4 {
				writers.Go(func() {
					for range 100 {
						s.Text(MessageChunk, "x")
					}
				})
			}
			go func() {
				s.hold("?", func() session.Event { return nil })
				s.Flush()
			}()
			for <-updates != "?" { // it comes
			}
			synctest.Wait()
			require.Empty(t, updates)
			s.release()
			go func() {
				writers.Wait()
				s.Text(MessageChunk, "end")
			}()
			for <-updates != "end" { // what was held
			}
		}
	})
}

// Whoever has read the question finds that the session knows of it, whatever else
// sends what is queued.
func TestTheQuestionIsKnownWhenItIsRead(t *testing.T) {
	s, updates := joined(t)
	known := false // of Session.mu
	s.happens(func() session.Event {
		go s.hold("?", func() session.Event {
			known = true
			return nil
		})
		for range 20 { // it cannot be known now
			time.Sleep(time.Millisecond)
			s.Flush()
		}
		require.Empty(t, updates, "it is not read either")
		return nil
	})
	for len(updates) == 0 {
		runtime.Gosched()
		s.Flush()
	}
	s.happens(func() session.Event {
		require.True(t, known, "a prompt that comes now is an answer")
		return nil
	})
}

// A question waits for an editor that does not read, and ends with the session.
func TestTheQuestionWaitsForRoom(t *testing.T) {
	for name, end := range map[string]func(s *Session, updates <-chan string){
		"it reads again": func(_ *Session, updates <-chan string) {
			for <-updates != "?" {
			}
		},
		"the session is closed": func(s *Session, _ <-chan string) { s.cancel(ErrSessionClosed) },
		"the editor is gone":    func(s *Session, _ <-chan string) { _ = s.front.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, updates := joined(t)
				for range cap(updates) + 1 { // the reader waits for us
					s.Text(MessageChunk, "x")
				}
				synctest.Wait()
				s.Text(MessageChunk, strings.Repeat("x", 8<<20)) // more than is queued
				synctest.Wait()
				known, done := false, make(chan struct{})
				go func() {
					defer close(done)
					s.hold("?", func() session.Event { known = true; return nil })
					s.Flush()
				}()
				synctest.Wait()
				require.False(t, known, "it is not there yet")
				s.happens(func() session.Event { return nil }) // nobody else waits for it
				end(s, updates)
				<-done
				require.True(t, known, "who asks is told")
			})
		})
	}
}

// A prompt whose agent was not there yet when the session ended is told why that has.
func TestAStartThatIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := joined(t)
		done := make(chan session.Ending, 1)
		s.conv, s.prompts[1] = neverStarts{}, &promptRequest{done: done}
		for _, ev := range []session.Event{session.AgentExited{}, session.TurnWrapped{}, session.PromptCame{Key: 1}} {
			s.apply(ev)
		}
		synctest.Wait()
		s.cancel(errStopped)
		require.ErrorContains(t, (<-done).Err, errStopped.Error())
	})
}

type neverStarts struct{ Conversation }

func (neverStarts) Start(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// What two turns took is added up, as far as either says it.
func TestWhatTwoTurnsTook(t *testing.T) {
	one, two := &acp.Usage{InputTokens: 1, CachedReadTokens: acp.Ptr(2)}, &acp.Usage{InputTokens: 3, CachedReadTokens: acp.Ptr(4), ThoughtTokens: acp.Ptr(5)}
	require.Equal(t, &acp.Usage{InputTokens: 4, CachedReadTokens: acp.Ptr(6), ThoughtTokens: acp.Ptr(5)}, plus(one, two))
	require.Equal(t, two, plus(nil, two))
}

// A session that is closed waits for nobody.
func TestHeldUpdatesEndWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, updates := joined(t)
		holds(t, s, updates)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range maxHeld + 1 {
				s.Text(MessageChunk, "x")
			}
		}()
		synctest.Wait()
		s.cancel(ErrSessionClosed)
		<-done
	})
}

// joined is a session whose updates' texts can be read.
func joined(t *testing.T) (*Session, <-chan string) {
	in, toFront := io.Pipe()
	fromFront, out := io.Pipe()
	f := &front{log: slog.New(slog.DiscardHandler), sessions: map[string]*Session{}, started: make(chan struct{})}
	close(f.started)
	f.ctx, f.cancel = context.WithCancelCause(t.Context())
	f.conn = conn.New(in, out, f, nil)
	updates := make(chan string, 5000)
	go func() {
		lines := bufio.NewReader(fromFront)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case updates <- gjson.Get(line, "params.update.content.text").Str:
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		f.cancel(errEditorGone)
		toFront.Close()
		f.conn.Close()
		out.Close()
	})
	return f.newSession("s"), updates
}
