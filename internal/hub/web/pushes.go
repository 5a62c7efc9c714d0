package web

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/look"
)

// PushKind is what a browser is told of, as far as its person wants it.
type PushKind string

const (
	// PushQuestion tells of what is new.
	PushQuestion PushKind = "question"
	// PushWaiting tells of what has waited for long.
	PushWaiting PushKind = "waiting"
	// pushDone and pushFailed tell how an agent's turn ended.
	pushDone   PushKind = "done"
	pushFailed PushKind = "failed"
	// pushText is no kind of its own: all kinds say what they are about, and have
	// buttons.
	pushText PushKind = "text"
)

var pushKinds = []PushKind{PushQuestion, PushWaiting, pushDone, pushFailed, pushText}

// wants reports whether a browser is told of such. One that has not said is told of
// questions.
func (p subscription) wants(kind PushKind) bool {
	return slices.Contains(p.Kinds, kind) || p.Kinds == nil && kind == PushQuestion
}

// Buttons of a push decide without the card. So they are there only where the push
// shows all that is decided, as far as a hub can know what a lock screen shows:
//
//	| asking | buttons |
//	|---|---|
//	| a push without text | none: nobody permits what they have not seen |
//	| a command of one line, of at most 100 plain letters, and nothing else in its input | Allow, Reject |
//	| one question of at most 200 letters with its one or two options, without previews | the options |
//	| anything else: a script, an edit, a plan, a fetch, an MCP tool, several questions or picks | none |
//
// "Always allow" is never one: it permits what nobody has seen yet. A browser that has
// no buttons, as on iOS, opens the card.
const (
	maxPushCommand  = 100
	maxPushQuestion = 200
)

// pushAction is a button. Its token is good for this pick of this asking, for the
// browser that got it and as long as its login holds; the first answer to the asking
// ends it.
type pushAction struct {
	Action string `json:"action"` // the option's place
	Title  string `json:"title"`
	Token  string `json:"token"`
}

// pushed is what a push carries.
type pushed struct {
	ID      string       `json:"id"`
	Title   string       `json:"title,omitempty"`
	Text    string       `json:"text"`
	Over    bool         `json:"over"`
	Turn    bool         `json:"turn,omitempty"` // of which a page that is looked at tells itself
	Card    string       `json:"card,omitempty"`
	Actions []pushAction `json:"actions,omitempty"`
	Ref     *pushRef     `json:"ref,omitempty"`
}

// pushRef names the asking that a button decides, as the form of its card does.
type pushRef struct {
	Group        string `json:"group"`
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
	Revision     uint64 `json:"revision"`
	Asked        string `json:"asked"`
}

// shortly is what a push with text says of an asking, and which options it may have
// as buttons.
func shortly(r *hub.Record) (title, text string, picks []int) {
	title = agentOf(r) + " asks"
	where := laneOf(r).Name
	defer func() {
		if r.Dir != "" {
			title += " · " + where
		}
	}()
	if r.Kind == "permission" {
		v := toolView(r)
		title = agentOf(r) + " " + v.Verb
		command, ok := v.Command(maxPushCommand)
		if !ok {
			return title, "Open it to see all of it.", nil
		}
		if buttons(r) {
			for _, class := range []string{"allow", "reject"} {
				for i := range r.Call.Questions[0].Options {
					if pickOf(r, i) == class {
						picks = append(picks, i)
						break
					}
				}
			}
		}
		return title, command, picks
	}
	list := r.Call.Questions
	lines := []string{list[0].Text}
	fits := len(list) == 1 && !list[0].MultiSelect && len(list[0].Options) > 0 && len(list[0].Options) <= 2
	for _, o := range list[0].Options {
		if o.Description != "" {
			lines = append(lines, o.Label+": "+o.Description)
		}
		fits = fits && o.Preview == "" && len([]rune(o.Label)) <= 20 && asItIs(o.Label)
	}
	for _, l := range lines {
		fits = fits && asItIs(l)
	}
	if text = strings.Join(lines, "\n"); fits && len([]rune(text)) <= maxPushQuestion {
		for i := range list[0].Options {
			picks = append(picks, i)
		}
		return title, text, picks
	}
	return title, clean.Truncate(clean.Line(list[0].Text), 300), nil
}

// asItIs reports whether a text is one line that needs no stand-ins.
func asItIs(s string) bool {
	return s == clean.Line(s) && string(look.Text(s)) == template.HTMLEscapeString(s)
}

// Pushes reports whether any browser is told of an asking in this way.
func (s *Server) Pushes(r *hub.Record, kind PushKind) bool {
	list, _ := s.access.pushes(r, kind)
	return len(list) > 0
}

// Push tells the browsers of those who may answer an asking of it. id names it: a
// later push of the same one takes the place of the first. With text it says what it
// is about, whatever a browser's person wants.
func (s *Server) Push(ctx context.Context, r *hub.Record, id string, kind PushKind, text bool) {
	list, key := s.access.pushes(r, kind)
	title, about, picks := shortly(r)
	plain := "A question is waiting for you."
	if kind == PushWaiting {
		plain = "A question has been waiting for ten minutes."
	}
	s.toEach(ctx, list, key, id, func(p subscription) pushed {
		m := pushed{ID: id, Text: plain, Card: cardID(r)}
		if !text && !p.wants(pushText) {
			return m
		}
		if m.Title, m.Text = clean.Truncate(clean.Line(title), 100), about; kind == PushWaiting {
			m.Title = "Ten minutes: " + m.Title
		}
		m.Ref = &pushRef{groupName(r.Group), encodeID(r.Conversation), encodeID(r.ID), r.Revision, r.Fingerprint()}
		for _, i := range picks {
			label := clean.Line(r.Call.Questions[0].Options[i].Label)
			if r.Kind == "permission" { // in our words: an agent's might say the opposite
				label = map[string]string{"allow": "Allow", "reject": "Reject"}[pickOf(r, i)]
			}
			m.Actions = append(m.Actions, pushAction{strconv.Itoa(i), label, actionToken(key, p.Device, p.Session, *m.Ref, i)})
		}
		if len(m.Actions) == 0 || len(clean.JSON(m)) > 3000 { // a push has 4 kB
			m.Actions, m.Ref = nil, nil
		}
		return m
	})
}

// PushOver tells those who were told that nothing waits any longer.
func (s *Server) PushOver(ctx context.Context, r *hub.Record, id string, kind PushKind, message string) {
	list, key := s.access.pushes(r, kind)
	if kind == PushWaiting { // those others are told already
		list = slices.DeleteFunc(list, func(p subscription) bool { return p.wants(PushQuestion) })
	}
	s.toEach(ctx, list, key, id, func(subscription) pushed { return pushed{ID: id, Text: message, Over: true} })
}

// PushTurns returns what tells browsers how turns end from now on, until stop is
// closed.
func (s *Server) PushTurns(ctx context.Context, stop <-chan struct{}, text bool) (run func()) {
	_, seen, more := s.turns.after(-1)
	return func() {
		for {
			select {
			case <-stop:
				return
			case <-more:
			}
			var list []turn
			list, seen, more = s.turns.after(seen)
			for _, t := range list {
				s.pushTurn(ctx, t, text)
			}
		}
	}
}

func (s *Server) pushTurn(ctx context.Context, t turn, text bool) {
	kind := PushKind(t.Event)
	if t.Event == hublink.TurnWaits {
		kind = PushQuestion
	} else if kind != pushDone && kind != pushFailed {
		return
	}
	to, key := s.access.pushes(&hub.Record{Group: t.Group, Conversation: t.Conversation, Device: t.device}, kind)
	sum := sha256.Sum256(fmt.Appendf(nil, "turn %q %q", t.Group, t.Conversation))
	id := fmt.Sprintf("%x", sum[:8])
	s.toEach(ctx, to, key, id, func(p subscription) pushed { return t.pushed(id, text || p.wants(pushText)) })
}

func (t turn) pushed(id string, text bool) pushed {
	m := pushed{ID: id, Turn: true, Text: short(t.Agent, 60) + " is done."}
	if t.Event == string(pushFailed) {
		m.Text = short(t.Agent, 60) + " has failed."
	} else if t.Event == hublink.TurnWaits {
		m.Text = short(t.Agent, 60) + " waits in its terminal."
	}
	if text {
		m.Title = strings.TrimSuffix(m.Text, ".")
		if t.Cwd != "" {
			m.Title += " · " + laneOf(&hub.Record{Dir: t.Cwd}).Name
		}
		m.Text = cmp.Or(clean.Truncate(clean.Line(t.Text), 300), m.Text)
	}
	return m
}

// actionToken is what proves that a browser was shown an option of an asking.
func actionToken(key pushKey, device string, session []byte, ref pushRef, pick int) string {
	secret := sha256.Sum256([]byte("actions of pushes " + key.Private))
	mac := hmac.New(sha256.New, secret[:])
	fmt.Fprintf(mac, "%q %x %q %q %q %d %q %d", device, session, ref.Group, ref.Conversation, ref.Question, ref.Revision, ref.Asked, pick)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// act is a button of a push. Its token stands for the secret of the page, which a
// worker does not have; the login is needed all the same.
type act struct {
	pushRef
	Pick  int    `json:"pick"`
	Token string `json:"token"`
}

const actFields = "group conversation question revision asked pick token"

// ofPush reports whether a change comes from a push to the browser of a login.
func (s *Server) ofPush(_ *http.Request, d Device, g given) bool {
	var a act
	key, ok := s.access.hasPushKey()
	return ok && g.into(&a) == nil && hmac.Equal([]byte(a.Token), []byte(actionToken(key, d.Name, []byte(d.session), a.pushRef, a.Pick)))
}

// act answers with a button of a push.
func (s *Server) act(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	var a act
	if err := g.into(&a); err != nil {
		return err
	}
	if !s.ofPush(r, d, g) { // with a token of a device, too: it answers in other ways
		return errPage
	}
	ref := hub.Ref{Group: groupNamed(a.Group), Conversation: decodeID(a.Conversation), ID: decodeID(a.Question), Revision: a.Revision, Fingerprint: a.Asked}
	err := s.answer(r, ref, d, func(rec *hub.Record) ([]convert.Answer, error) {
		if _, _, picks := shortly(rec); !slices.Contains(picks, a.Pick) {
			return nil, badf("this is not decided without its card")
		}
		return []convert.Answer{{Selected: []string{rec.Call.Questions[0].Options[a.Pick].Label}}}, nil
	})
	return reply(w, accepted, err)
}
