package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// maxID bounds ids, which come from agents, and maxAsker the names of processes.
const (
	maxID    = 512
	maxAsker = 128
)

// maxWait is how long a request may wait for an answer. Who wants to wait longer
// asks again.
const maxWait = 10 * time.Minute

func (s *Server) listConversations(w http.ResponseWriter, r *http.Request, d Device) error {
	sees, err := seen(r, d)
	if err == nil {
		replyList(w, "conversations", only(s.board.Conversations(), sees), "", func(r *hub.Record) any { return s.conversationNow(r) })
	}
	return err
}

// waiting is an open question as GET /questions shows it.
type waiting struct {
	Question string `json:"question"`
	Kind     string `json:"kind"`
	Detail   string `json:"detail,omitempty"`
	// Shown is all that a permission is for below its question, as text: the input, and what
	// the agent tells beside it.
	Shown string `json:"shown,omitempty"`
	conversation
	// ID is that of the conversation, which has a name of its own here.
	ID           string `json:"id,omitempty"`
	Conversation string `json:"conversation"`
}

// listQuestions lists everything that is open, the newest first.
func (s *Server) listQuestions(w http.ResponseWriter, r *http.Request, d Device) error {
	sees, err := seen(r, d)
	if err != nil {
		return err
	}
	open, _ := s.board.Waiting(math.MaxInt)
	replyList(w, "questions", only(open, sees), "", func(r *hub.Record) any {
		q := waiting{Question: r.ID, Kind: r.Kind, Detail: r.Detail, conversation: conversationOf(r), Conversation: r.Conversation}
		if r.Kind == "permission" {
			q.Shown = viewBelow(r, "").String()
		}
		return q
	})
	return nil
}

// asked finds the question that a request is about.
func (s *Server) asked(r *http.Request, d Device) (*hub.Record, error) {
	group, err := s.groupOf(r, d)
	if err != nil {
		return nil, err
	}
	return s.find(d, hub.Ref{Group: group, Conversation: r.PathValue("id"), ID: r.PathValue("question")})
}

// askedBy is asked for whoever asked: with the credential that did. Without a name
// for it, it is the group in which it asks.
func (s *Server) askedBy(r *http.Request, d Device, asker string) (*hub.Record, error) {
	group, err := asksIn(r, d)
	if err != nil {
		return nil, err
	}
	return s.find(d, hub.Ref{Group: group, Conversation: r.PathValue("id"), ID: r.PathValue("question"), Device: d.id(), Asker: asker})
}

func (s *Server) getConversation(w http.ResponseWriter, r *http.Request, d Device) error {
	rec, err := s.asked(r, d)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		return s.few(func(w http.ResponseWriter, _ *http.Request, d Device) error { return s.showConversation(w, d, rec) })(w, r, d)
	}
	return s.tell(w, d, s.conversationNow(rec))
}

// showConversation is a conversation for people: all that was asked in it, in order, and the
// prompts and last words of its last turns, as far as this hub remembers them.
func (s *Server) showConversation(w http.ResponseWriter, d Device, rec *hub.Record) error {
	now := time.Now()
	asked := only(s.board.Conversation(rec.Group, rec.Conversation), d.sees)
	turns := slices.DeleteFunc(s.turns.in(rec.Group, rec.Conversation, time.Time{}), func(n turn) bool { return n.Event == "idle" || !d.sees(n.record()) })
	last, before := turns[max(0, len(turns)-maxTalkTurns):], time.Time{}
	if n := len(turns) - len(last); n > 0 {
		before = turns[n-1].At
	}
	title := short(cmp.Or(talkTitle(rec), "Conversation"), maxTalk)
	return show(w, "conversation", map[string]any{
		"Card": cardOf(rec, now, false), "Title": title, "State": stateText(s.conversationNow(rec).State),
		"Talk": talk(asked, before, last, func(r *hub.Record) card { return cardOf(r, now, false) }),
	})
}

// maxTalk is how much of a conversation's title its own page shows, maxTalkTurns how many of
// its turns.
const maxTalk, maxTalkTurns = 300, 5

// stateText is where a conversation stands, in words.
func stateText(st state) string {
	switch {
	case st.Gone:
		return "The agent is gone."
	case st.Type == awaiting:
		return "The agent is waiting for an answer."
	case st.Type == working:
		return "The agent has its answer and is working."
	}
	return "Nothing is waiting here."
}

// limits are those that every answer needs: without them it could not be told
// which question is meant.
var limits = convert.NoLimits

// ask asks, waits and replies. What it waits with is little: thousands do.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	a, err := s.beginAsk(r, &d, &g)
	if err != nil {
		return err
	}
	leave, ok := s.room(s.bytes, d, len(a.document))
	if !ok {
		a.wait = 0 // whoever asks comes back
	}
	rec, err := s.wait(r.Context(), a.rec, a.wait, d, true)
	if leave(); err != nil {
		return err
	}
	return s.endAsk(w, r, d, a, rec)
}

// asks is a request that asks.
type asks struct {
	rec   *hub.Record   // as it was when it asked
	wait  time.Duration // for an outcome
	asker string
	may   func(context.Context) error
	// dialect and document are the call in the shape of this request.
	dialect  string
	document json.RawMessage
}

// beginAsk asks.
func (s *Server) beginAsk(r *http.Request, d *Device, g *given) (*asks, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	name := r.Form.Get("dialect")
	a, err := readAsking(r.PathValue("id"), name, *g)
	if err != nil {
		return nil, refused(name, g.json, err)
	}
	a.Device, a.May = d.id(), s.may(*d)
	if a.Group, err = asksIn(r, *d); err != nil {
		return nil, err
	}
	rec, err := s.board.Ask(r.Context(), a)
	return &asks{rec, wait, a.Asker, a.May, a.Dialect, a.Document}, err
}

// left shows a process that takes a session up again what a person has settled meanwhile
// of what its predecessor asked. It asks nothing, and takes nothing.
func (s *Server) left(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	a, err := readAsking(r.PathValue("id"), hublink.Dialect, g)
	if err != nil {
		return err
	}
	if a.Group, err = asksIn(r, d); err != nil {
		return err
	}
	a.Device = d.id()
	rec, err := s.board.Left(r.Context(), a)
	if err != nil {
		return err
	}
	return s.tell(w, d, questionOf(rec, true))
}

// endAsk replies with what came of it. An outcome for which there is no room is not taken:
// whoever asks comes back.
func (s *Server) endAsk(w http.ResponseWriter, r *http.Request, d Device, a *asks, rec *hub.Record) error {
	leave, room := s.room(s.bytes, d, rec.Size())
	defer leave()
	mine, err := s.takes(r, a, rec, room)
	if err != nil {
		return err
	}
	if !mine {
		st := stateOf(rec)
		if !room {
			st.Questions = nil
		}
		write(w, http.StatusAccepted, map[string]any{"conversation": rec.Conversation, "question": rec.ID, "state": st})
		return nil
	}
	if r.Context().Err() != nil {
		return nil // nobody is there to get it
	}
	ref, shaped := a.ref(rec), *rec
	shaped.Dialect, shaped.Document = a.dialect, a.document
	if a.asker == "" {
		if err := s.delivered(r, ref); err != nil {
			return err
		}
	}
	switch {
	case replyResult(w, &shaped, a.asker) != nil, a.asker == "" && !rec.End.Redacted:
	case a.asker == "": // it says nothing more, and a secret is not kept
		if _, err := s.board.Consumed(context.WithoutCancel(r.Context()), ref); err != nil {
			s.log.Warn("a delivery could not be noted", "err", err)
		}
	default:
		s.board.DeliveredSoon(r.Context(), ref)
	}
	return nil
}

// ref is the record for this asker.
func (a *asks) ref(rec *hub.Record) hub.Ref {
	ref := rec.Ref()
	ref.Asker, ref.May = a.asker, a.may
	return ref
}

// takes reports whether there is an outcome that is for this asker. If it is for another,
// whether this one still wants to ask is its own to say: a request of a process that is
// gone may wait here for long, and would open the question once more, for nobody.
func (s *Server) takes(r *http.Request, a *asks, rec *hub.Record, room bool) (mine bool, err error) {
	switch {
	case rec.Open(), !room, r.Context().Err() != nil:
		return false, nil
	case a.asker == "":
		return true, nil
	}
	return s.board.Take(r.Context(), rec, a.ref(rec))
}

// replyResult writes the result of a call in its dialect, and returns when the
// asker has it all.
func replyResult(w http.ResponseWriter, rec *hub.Record, asker string) error {
	result := resultOf(rec, asker)
	kind := "text/plain; charset=utf-8"
	if json.Valid(result.Body) {
		kind = jsonKind
	}
	w.Header().Set("Acp-Bridge-Outcome", rec.ResultFor(asker).Status.String())
	return replyRaw(w, kind, result.Body)
}

// askingNames are the members of a call in our own dialect.
const askingNames = "name kind title agent machine dir detail about asker again prompts call"

// readAsking reads a call in any dialect, or in our own.
func readAsking(conversation, name string, g given) (a hub.Asking, err error) {
	body := g.json
	if len(conversation) > maxID {
		return a, badf("expected the id of a conversation with 1 to %d bytes", maxID)
	}
	a = hub.Asking{Conversation: conversation, Dialect: name}
	if name == hublink.Dialect {
		var own hublink.Asking
		if err := errors.Join(checkMembers(body, askingNames), g.into(&own)); err != nil {
			return a, err
		}
		a.Name = own.Name // or, of a link that knows no names, the call's id
		a.Kind, a.Title, a.Agent, a.Machine, a.Dir, a.Detail, a.About, a.Asker, a.Again, a.Call = own.Kind, own.Title, own.Agent, own.Machine, own.Dir, own.Detail, own.About, own.Asker, own.Again, own.Call
	} else {
		req, err := dialect.Decode(body, name)
		if err != nil {
			return a, badf("%w", err)
		}
		if asksSecret(body) {
			return a, badf("a secret cannot be asked for here: what is answered at a hub is kept")
		}
		a.Dialect, a.Document, a.Call = req.Dialect, body, req.Call
		var who struct{ Title, Agent, Machine, Cwd string }
		if json.Unmarshal(body, &who) == nil {
			a.Title, a.Agent, a.Machine, a.Dir = who.Title, who.Agent, who.Machine, who.Cwd
		}
		a.Name = cmp.Or(a.Call.ID, gjson.GetBytes(body, "id").String()) // in whatever shape it is asked; 1 and "1" are one name
	}
	if len(a.Name) > maxID || len(a.Call.ID) > maxID {
		return a, badf("the id of the question is longer than %d bytes", maxID)
	}
	if err := checkAsker(a.Asker); err != nil {
		return a, badf("%w", err)
	}
	if err := a.Call.Validate(limits); err != nil {
		return a, badf("%w", err)
	}
	return a, nil
}

// checkAsker bounds the name of a process: hubs tell it to each other again and
// again.
func checkAsker(asker string) error {
	if len(asker) > maxAsker {
		return fmt.Errorf("asker: expected at most %d bytes, got %d", maxAsker, len(asker))
	}
	return nil
}

// questionReply is a question with its state, and its result once there is one.
type questionReply struct {
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
	State        state  `json:"state"`
	*ending
	Result  json.RawMessage `json:"result,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// questionOf is what a device is told of a question. Others than the one that asked get
// no result with a secret in it.
func questionOf(r *hub.Record, asks bool) questionReply {
	q := questionReply{Conversation: r.Conversation, Question: r.ID, State: stateOf(r), ending: endingOf(r)}
	if !r.Open() && (asks || !r.End.Redacted) {
		result := resultOf(r, "")
		q.Result, q.IsError = asJSON(result), result.IsError
	}
	return q
}

func (s *Server) getQuestion(w http.ResponseWriter, r *http.Request, d Device) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	rec, err := s.asked(r, d)
	if err != nil {
		return err
	}
	if rec, err = s.askedLast(r, d, rec); err != nil {
		return err
	}
	if rec, err = s.wait(r.Context(), rec, wait, d, rec.Asker == "" && rec.Of(d.id())); err != nil {
		return err
	}
	if !rec.Open() && rec.End.By == "" {
		if rec, err = s.askedLast(r, d, rec); err != nil {
			return err
		}
	}
	return s.tell(w, d, questionOf(rec, rec.Of(d.id())))
}

// askedLast returns what was asked last under the id of a record. If that is
// settled, another hub may know of something else that was asked since, and its
// outcome is not the outcome of that.
func (s *Server) askedLast(r *http.Request, d Device, rec *hub.Record) (*hub.Record, error) {
	if rec.Open() {
		return rec, nil
	}
	if err := s.board.CatchUp(r.Context()); err != nil {
		return nil, err
	}
	return s.asked(r, d)
}

// wait waits for a question to be settled. Whoever asks counts as there meanwhile: others only
// look, also with the credential of a process that has a name. It returns an error if the
// device was removed meanwhile: then it gets nothing.
func (s *Server) wait(ctx context.Context, rec *hub.Record, wait time.Duration, by Device, asks bool) (*hub.Record, error) {
	if wait == 0 || !rec.Open() {
		return rec, nil
	}
	device := s.access.being(by.login())
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(device, cancel)()
	defer context.AfterFunc(s.serving, cancel)()
	if asks {
		rec = s.board.Wait(ctx, rec)
	} else {
		rec = s.board.Watch(ctx, rec)
	}
	if device.Err() != nil {
		return rec, errUnknown
	}
	return rec, nil
}

// delivered notes that whoever asks gets the outcome now, before it does: it has no name, and
// says nothing more.
func (s *Server) delivered(r *http.Request, ref hub.Ref) error {
	_, err := s.board.Delivered(context.WithoutCancel(r.Context()), ref) // it may be gone as soon as it has it
	if err != nil {
		s.log.Warn("a delivery could not be noted", "err", err)
	}
	return err
}
