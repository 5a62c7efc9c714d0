package web

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// These are the routes of OpenCode's server for questions and permissions, so that
// its clients can answer what waits at a hub.

// openCode is the name of the dialect, and the user of its basic authentication.
const openCode = "opencode"

// openCodeBeat is how often OpenCode's streams have a heartbeat.
const openCodeBeat = 10 * time.Second

// openCodeRequest is a question as OpenCode lists it.
type openCodeRequest struct {
	ID        string          `json:"id"`
	SessionID string          `json:"sessionID"`
	Questions json.RawMessage `json:"questions"`
}

// openCodeOf returns a record as a request of OpenCode, and as a call of its
// dialect; ok is false if that has no place for it.
func openCodeOf(r *hub.Record) (request openCodeRequest, call dialect.Request, ok bool) {
	if r.Kind == "permission" {
		return request, call, false
	}
	document, _, err := dialect.WriteCall(openCode, r.Call)
	if err == nil {
		call, err = dialect.Decode(document, openCode)
	}
	var written struct {
		Input struct{ Questions json.RawMessage }
	}
	if err != nil || json.Unmarshal(document, &written) != nil {
		return request, call, false
	}
	return openCodeRequest{openCodeID(r), openCodeSession(r), written.Input.Questions}, call, true
}

// openCodeID names one record, and no other that is asked under the same id.
func openCodeID(r *hub.Record) string { return openCodeName("que_", r) }

func openCodeName(prefix string, r *hub.Record) string {
	return prefix + strings.ReplaceAll(r.Key(), ".", "_")
}

// openCodeSession is a conversation as OpenCode names them.
func openCodeSession(r *hub.Record) string {
	if strings.HasPrefix(r.Conversation, "ses") && r.Group == "" {
		return r.Conversation
	}
	sum := sha256.Sum256([]byte(r.Group + "\x00" + r.Conversation))
	return "ses_" + hex.EncodeToString(sum[:12])
}

// openCodeSees is what a request of OpenCode's clients is about: of one folder, and of
// one session, if it names one.
func openCodeSees(r *http.Request, d Device) (func(*hub.Record) bool, error) {
	sees, err := seen(r, d)
	dir, session := openCodeDir(r), r.PathValue("session")
	return func(rec *hub.Record) bool {
		return sees(rec) && (dir == "" || rec.Dir == dir) && (session == "" || openCodeSession(rec) == session)
	}, err
}

// openCodeDir is the folder that a request names.
func openCodeDir(r *http.Request) string {
	return cmp.Or(r.Form.Get("directory"), r.Form.Get("location[directory]"))
}

// openCodeList lists what waits, the first asked first.
func (s *Server) openCodeList(w http.ResponseWriter, r *http.Request, d Device) {
	sees, err := openCodeSees(r, d)
	if err != nil {
		s.openCodeFailed(w, "", err)
		return
	}
	open, _ := s.board.Waiting(math.MaxInt)
	slices.Reverse(open)
	replyItems(w, "[", "]\n", only(open, sees), func(r *hub.Record) any {
		if request, _, ok := openCodeOf(r); ok {
			return request
		}
		return nil
	})
}

// openCodeFind finds the open question that a request names. One that is settled
// is not there any more.
func (s *Server) openCodeFind(r *http.Request, d Device) (*hub.Record, dialect.Request, error) {
	var call dialect.Request
	rec, err := s.openCodeNamed(r, d, "que_", func(r *hub.Record) (ok bool) { _, call, ok = openCodeOf(r); return ok })
	return rec, call, err
}

// openCodeNamed finds an open record that a request names, if it is one that fits.
func (s *Server) openCodeNamed(r *http.Request, d Device, prefix string, fits func(*hub.Record) bool) (*hub.Record, error) {
	id := r.PathValue("request")
	begin := strings.TrimSuffix(prefix, "_")
	key, ok := strings.CutPrefix(id, begin)
	if !ok {
		return nil, badf("requestID: expected an id that begins with %s, got %q", begin, clean.Truncate(clean.Line(id), 80))
	}
	rec, err := s.board.FindKey(r.Context(), strings.ReplaceAll(strings.TrimPrefix(key, "_"), "_", "."))
	if err != nil {
		return nil, err
	}
	sees, err := openCodeSees(r, d)
	if err != nil {
		return nil, err
	}
	if !rec.Open() || !sees(rec) || openCodeName(prefix, rec) != id || !fits(rec) {
		return nil, hub.ErrNotFound
	}
	return rec, nil
}

func (s *Server) openCodeReply(w http.ResponseWriter, r *http.Request, d Device, g given) {
	id := r.PathValue("request")
	rec, call, err := s.openCodeFind(r, d)
	if err != nil {
		s.openCodeFailed(w, id, err)
		return
	}
	answers, err := readOpenCode(call, g)
	if err == nil {
		err = s.answer(r, rec.Ref(), d, func(rec *hub.Record) ([]convert.Answer, error) { return answers, checkAnswers(rec.Call, answers) })
	}
	s.openCodeDone(w, r, err)
}

// readOpenCode reads a list of labels and words for each question.
func readOpenCode(call dialect.Request, g given) ([]convert.Answer, error) {
	var given struct{ Answers [][]string }
	if g.into(&given) != nil || given.Answers == nil {
		return nil, badf(`expected {"answers":[["<label>"],…]}, one list a question`)
	}
	o, err := dialect.ReadResult(call, clean.JSON(map[string]any{"answers": given.Answers}))
	switch {
	case err != nil:
		return nil, badf("%w", err)
	case o.Status != convert.Answered:
		return nil, convert.ErrNoAnswer
	}
	return o.Answers, nil
}

func (s *Server) openCodeReject(w http.ResponseWriter, r *http.Request, d Device, _ given) {
	rec, _, err := s.openCodeFind(r, d)
	if err == nil {
		ref := rec.Ref()
		ref.May = s.may(d)
		_, err = s.board.Cancel(r.Context(), ref, d.Name)
	}
	s.openCodeDone(w, r, err)
}

func (s *Server) openCodeDone(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err != nil:
		s.openCodeFailed(w, r.PathValue("request"), err)
	case r.PathValue("session") != "": // the second version
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, http.StatusOK, true)
	}
}

func (s *Server) openCodeError(w http.ResponseWriter, r *http.Request, err error) {
	s.openCodeFailed(w, r.PathValue("request"), err)
}

// openCodeFailed writes an error as OpenCode's server does, where it has one.
func (s *Server) openCodeFailed(w http.ResponseWriter, id string, err error) {
	code, text := s.problem(err)
	switch {
	case errors.Is(err, hub.ErrNotFound), errors.Is(err, hub.ErrSettled):
		id = clean.Truncate(clean.Line(id), maxID)
		what := "Question"
		if strings.HasPrefix(id, "per") {
			what = "Permission"
		}
		reply(w, http.StatusNotFound, map[string]string{"_tag": what + "NotFoundError", "requestID": id, "message": what + " request not found: " + id})
	case code == http.StatusBadRequest:
		reply(w, code, map[string]string{"_tag": "InvalidRequestError", "message": text})
	default:
		fail(w, code, "%s", text)
	}
}

// openCodeEvent is an event of OpenCode's streams.
type openCodeEvent struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`
}

// openCodeEnd is how a question ended. Answers are nil where it has none.
type openCodeEnd struct {
	SessionID string          `json:"sessionID"`
	RequestID string          `json:"requestID"`
	Answers   json.RawMessage `json:"answers,omitempty"`
}

// openCodeStream writes events for one client.
type openCodeStream struct {
	sees  func(*hub.Record) bool
	style openCodeStyle
	told  map[string]bool // by key, what the client knows to be open
}

// openCodeStyle is how a stream writes its events.
type openCodeStyle int

const (
	openCodePlain  openCodeStyle = iota
	openCodeGlobal               // each event says of which folder it is
	openCodeSecond               // as the second version
)

// openCodeEvents streams changes: what waits first, then every change.
func (s *Server) openCodeEvents(style openCodeStyle) func(http.ResponseWriter, *http.Request, Device) {
	return func(w http.ResponseWriter, r *http.Request, d Device) {
		sees, err := openCodeSees(r, d)
		if err != nil {
			s.openCodeFailed(w, "", err)
			return
		}
		o := &openCodeStream{sees: sees, style: style, told: map[string]bool{}}
		s.follow(w, r, d, feed{
			reader: s.reader(r, d, 0),
			beat:   openCodeBeat,
			begin:  func(out *stream) { o.write(out, "", "server.connected", struct{}{}) },
			change: o.change,
			still:  func(out *stream) { o.write(out, "", "server.heartbeat", struct{}{}) },
			end:    func(*stream) {}, // its clients come back by themselves
		})
	}
}

// change tells of a record: once that it waits, and once that it does not.
func (o *openCodeStream) change(out *stream, r *hub.Record) {
	if !o.sees(r) || r.Open() == o.told[r.Key()] {
		return
	}
	request, call, ok := openCodeOf(r)
	permission, permits := openCodePermissionOf(r)
	switch {
	case permits && r.Open():
		o.told[r.Key()] = true
		o.write(out, r.Dir, "permission.asked", permission)
	case permits:
		delete(o.told, r.Key())
		o.write(out, r.Dir, "permission.replied", map[string]string{"sessionID": permission.SessionID, "requestID": permission.ID, "reply": openCodePermitEnd(r)})
	case !ok:
	case r.Open():
		o.told[r.Key()] = true
		o.write(out, r.Dir, "question.asked", request)
	default:
		delete(o.told, r.Key())
		end := openCodeEnd{SessionID: request.SessionID, RequestID: request.ID}
		if result := r.End.Shown(); result.Status == convert.Answered {
			var given struct{ Answers json.RawMessage }
			_ = json.Unmarshal(dialect.Encode(call, dialect.Reply{Outcome: result}).Body, &given) // none is a rejection
			end.Answers = given.Answers
		}
		if end.Answers == nil {
			o.write(out, r.Dir, "question.rejected", end)
		} else {
			o.write(out, r.Dir, "question.replied", end)
		}
	}
}

func (o *openCodeStream) write(out *stream, dir, kind string, properties any) {
	plain := openCodeEvent{"evt_" + rand.Text(), kind, properties}
	var event any = plain
	switch o.style {
	case openCodeGlobal:
		event = map[string]any{"directory": cmp.Or(dir, "global"), "payload": plain}
	case openCodeSecond:
		event = plain.v2(dir)
	}
	fmt.Fprintf(out, "data: %s\n\n", clean.JSON(event))
}
