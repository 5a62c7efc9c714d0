package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/look"
)

// turn says how a turn of an agent ended, for whoever watches. It is told to those who
// are there, by the hub that hears of it, which keeps it without what was said in it.
type turn struct {
	Group        string    `json:"group,omitempty"`
	Conversation string    `json:"conversation"`
	Agent        string    `json:"agent"`
	Cwd          string    `json:"cwd,omitempty"`
	Event        string    `json:"event"` // done, failed, waits or idle
	Text         string    `json:"text,omitempty"`
	At           time.Time `json:"at"`

	// Prompt is with what it began, for the conversation's own page.
	Prompt string `json:"-"`
	device string
	number int // among all that there ever were
}

// maxWords is how much is told of what an agent said last, and of its folder, maxAgent of its name.
const maxWords, maxAgent = 500, 100

// turnOf is what an event tells of a turn.
func turnOf(d Device, e hook.Event, said about.About) (t turn, ok bool) {
	told := hublink.Turn{Agent: "Claude Code", Dir: e.Dir, Text: e.Words, Prompt: said.Prompt}
	switch {
	case e.Name == hook.Stop:
		told.Event = hublink.TurnEvent(false, e.Background)
	case e.Name == hook.StopFailure:
		told.Event, told.Text = hublink.TurnEvent(true, e.Background), cmp.Or(e.Words, e.Kind)
	case e.Name == hook.Notification && e.Kind == "idle_prompt":
		told.Event, told.Text = "idle", e.Message
	}
	return newTurn(d, d.first(), e.Session, told), told.Event != ""
}

func newTurn(d Device, group, conversation string, told hublink.Turn) turn {
	return turn{
		Group: group, Conversation: conversation, Agent: clean.Truncate(clean.Line(told.Agent), maxAgent), Cwd: clean.Truncate(clean.Line(told.Dir), maxWords),
		Event: told.Event, Text: words(told.Text), Prompt: words(told.Prompt), At: time.Now().UTC(), device: d.id(),
	}
}

func words(text string) string { return clean.Truncate(about.Redact(clean.Block(text)), maxWords) }

// turned takes the end of a turn from a bridge, or that an agent waits in its terminal.
func (s *Server) turned(_ http.ResponseWriter, r *http.Request, d Device, g given) error {
	if gjson.GetBytes(g.json, "event").Str == "prompted" {
		return nil // links of before tell of prompts, too
	}
	var told hublink.Turn
	if err := g.into(&told); err != nil {
		return err
	}
	group, err := asksIn(r, d)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if len(id) > maxID {
		return badf("conversation: expected 1 to %d bytes", maxID)
	}
	if !slices.Contains([]string{hublink.TurnDone, hublink.TurnFailed, hublink.TurnWaits}, told.Event) {
		return badf("event: expected done, failed or waits, got %q", clean.Truncate(clean.Line(told.Event), 80))
	}
	if err := s.tellsOf(d, group, id); err != nil {
		return err
	}
	told.Agent = cmp.Or(told.Agent, "The agent")
	s.turns.add(newTurn(d, group, id, told))
	return nil
}

// tellsOf refuses a device that tells of a conversation in which others ask and it does
// not: it may not see that one.
func (s *Server) tellsOf(d Device, group, conversation string) error {
	ref := hub.Ref{Group: group, Conversation: conversation}
	if r, err := s.board.FindRef(ref); err != nil || d.sees(r) {
		return nil
	}
	ref.Device = d.id()
	_, err := s.board.FindRef(ref)
	return err
}

// turns are the last ones, in their order. The zero value works.
type turns struct {
	mu    sync.Mutex
	list  []turn
	count int // that there ever were
	wake  chan struct{}
}

// maxTurns is how many are kept of a device.
const maxTurns = 256

func (t *turns) add(n turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	n.number = t.count
	t.list = append(t.list, n)
	kept := map[string]int{}
	for i, o := range slices.Backward(t.list) {
		if kept[o.device]++; kept[o.device] > maxTurns {
			t.list = slices.Delete(t.list, i, i+1)
		}
	}
	if t.wake != nil {
		close(t.wake)
		t.wake = nil
	}
}

// keptTurn is a turn as it is kept.
type keptTurn struct {
	turn
	Device string `json:"device"`
}

// KeepTurns takes the turns that a hub of before has kept in a file, and returns what keeps
// them there, without what was said in them, until stop is closed.
func (s *Server) KeepTurns(file string, stop <-chan struct{}) (run func()) {
	var kept []keptTurn
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("how turns have ended before is not known any more", "err", err)
	}
	for _, k := range kept {
		k.device = k.Device
		s.turns.add(k.turn)
	}
	_, written, more := s.turns.after(-1)
	return func() {
		for going := true; going; {
			select {
			case <-more:
			case <-stop:
				going = false
			}
			list, count, next := s.turns.after(0)
			if more = next; count == written {
				continue
			}
			kept := make([]keptTurn, 0, len(list))
			for _, n := range list {
				n.Text = ""
				kept = append(kept, keptTurn{n, n.device})
			}
			if err := WriteFile(file, clean.JSON(kept)); err != nil {
				s.log.Warn("how turns ended is not kept", "err", err)
			}
			written = count
		}
	}
}

// after are those that came after so many, how many there are, and what is closed when
// there are more. A negative number is all that there ever were.
func (t *turns) after(n int) (list []turn, count int, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wake == nil {
		t.wake = make(chan struct{})
	}
	if n >= 0 {
		i, _ := slices.BinarySearchFunc(t.list, n+1, func(o turn, n int) int { return o.number - n })
		list = append(list, t.list[i:]...)
	}
	return list, t.count, t.wake
}

// record is one of the conversation, by the device that tells of the turn: for who may know.
func (n turn) record() *hub.Record {
	return &hub.Record{Group: n.Group, Conversation: n.Conversation, Device: n.device}
}

// spoken is a piece of a conversation: a prompt, the last words of a turn, or what was asked.
type spoken struct {
	Who  string
	At   time.Time // of words
	Text template.HTML
	Card *card
}

// talk is a conversation in its order. The cards of a turn stand between its prompt and its
// last words, if it is known when it began: where the one before has ended. Of several devices
// it says whose words they are: whoever asks could put some into another's mouth.
func talk(asked []*hub.Record, before time.Time, turns []turn, draw func(*hub.Record) card) iter.Seq[spoken] {
	of := map[string]bool{}
	for _, r := range asked {
		of[r.Device] = true
	}
	for _, n := range turns {
		of[n.device] = true
	}
	several := len(of) > 1
	return func(yield func(spoken) bool) {
		words := func(n turn, who, text string) bool {
			if several {
				who += ", says " + nameOf(n.device)
			}
			return text == "" || yield(spoken{Who: who, At: n.At, Text: look.Markdown(text)})
		}
		cards := func(until func(*hub.Record) bool) bool {
			for len(asked) > 0 && until(asked[0]) {
				c := draw(asked[0])
				if asked = asked[1:]; !yield(spoken{Card: &c}) {
					return false
				}
			}
			return true
		}
		for _, n := range turns {
			begun := cmp.Or(before, n.At)
			before = n.At
			if !cards(func(r *hub.Record) bool { return r.Asked.Before(begun) }) || !words(n, "You", n.Prompt) ||
				!cards(func(r *hub.Record) bool { return r.Asked.Before(n.At) }) || !words(n, "The agent", n.Text) {
				return
			}
		}
		cards(func(*hub.Record) bool { return true })
	}
}

// in are those of a conversation that are known to have ended after a time.
func (t *turns) in(group, conversation string, after time.Time) []turn {
	list, _, _ := t.after(0)
	return slices.DeleteFunc(list, func(n turn) bool {
		return n.Group != group || n.Conversation != conversation || !n.At.After(after) || n.Event == hublink.TurnWaits
	})
}

// conversationNow is a conversation as this hub knows it: an agent that is through with its
// turn works no more.
func (s *Server) conversationNow(r *hub.Record) conversation {
	c := conversationOf(r)
	if c.State.Type == working && slices.ContainsFunc(s.turns.in(r.Group, r.Conversation, r.End.At), func(n turn) bool { return r.Of(n.device) }) {
		c.State.Type = idle
	}
	return c
}

// told writes what has ended since, for one who may see it.
func (s *Server) told(sees func(*hub.Record) bool) func(*stream) <-chan struct{} {
	seen := -1
	return func(out *stream) <-chan struct{} {
		list, count, more := s.turns.after(seen)
		seen = count
		for _, n := range list {
			if sees(n.record()) {
				fmt.Fprintf(out, "event: turn\ndata: %s\n\n", clean.JSON(n))
			}
		}
		return more
	}
}
