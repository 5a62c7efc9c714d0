package web

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

const (
	// pageSize is how many settled questions a reply has that names no limit,
	// and maxPage how many it can name.
	pageSize = 100
	maxPage  = 1000
)

// nextHeader says where to go on, see [Server.history].
const nextHeader = "Acp-Bridge-Next"

const ndjson = "application/x-ndjson"

// settled is a question that was settled, as GET /history shows it.
type settled struct {
	Group        string `json:"group,omitempty"`
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
	Kind         string `json:"kind"`
	Title        string `json:"title"`
	Agent        string `json:"agent,omitempty"`
	Machine      string `json:"machine,omitempty"`
	Cwd          string `json:"cwd,omitempty"`
	Detail       string `json:"detail,omitempty"`
	// Questions have their answers with them.
	Questions []hublink.WaitingQuestion `json:"questions"`
	Asked     time.Time                 `json:"asked"`
	ending
	// Seconds is how long it took from the question to its end.
	Seconds float64 `json:"seconds"`
	Reason  string  `json:"reason,omitempty"`
	// Forgotten says that the answers, and by whom they were, were removed.
	Forgotten bool `json:"forgotten,omitempty"`
}

func settledOf(r *hub.Record) settled {
	return settled{
		Group: shownGroup(r), Conversation: r.Conversation, Question: r.ID, Kind: r.Kind, Title: titleOf(r),
		Agent: r.Agent, Machine: r.Machine, Cwd: r.Dir, Detail: r.Detail, Asked: r.Asked.UTC(), ending: *endingOf(r),
		Seconds: max(0, r.End.At.Round(0).Sub(r.Asked.Round(0))).Seconds(), Reason: r.End.Reason, Forgotten: r.End.Forgotten,
		Questions: hublink.WaitingQuestions(r.Call.Questions, r.End.Answers),
	}
}

// history lists what was settled, the last settled first: a page for browsers,
// JSON a page at a time, or everything as NDJSON.
func (s *Server) history(w http.ResponseWriter, r *http.Request, d Device) error {
	search, err := searchOf(r, d)
	if err != nil {
		return err
	}
	accept := r.Header.Get("Accept")
	page := strings.Contains(accept, "text/html")
	whole := !page && strings.Contains(accept, ndjson)
	if search.Limit == 0 && !whole {
		search.Limit = pageSize
	}
	switch {
	case page:
		return s.showHistory(w, d, search)
	case whole:
		s.export(w, search)
	default:
		records, more := s.board.Search(search)
		next := ""
		if more {
			next = nextOf(records)
		}
		replyList(w, "history", records, next, func(rec *hub.Record) any { return settledOf(rec) })
	}
	return nil
}

func (s *Server) showHistory(w http.ResponseWriter, d Device, search hub.Search) error {
	records, more := s.board.Search(search)
	older := ""
	if more {
		older = "/history?" + url.Values{"q": {search.Text}, "after": {nextOf(records)}}.Encode()
	}
	lines := linesOf(records)
	if search.Text == "" && search.After == (hub.Place{}) {
		lines = append(lines, s.turnLines(d, lines)...)
		slices.SortStableFunc(lines, func(x, y line) int { return y.At.Compare(x.At) })
	}
	return show(w, "history", map[string]any{"Query": search.Text, "Lines": lines, "Older": older})
}

// line is something that was settled, or the end of a turn, as the page's history has it: a
// receipt.
type line struct {
	At                                 time.Time
	What, Topic, Who, Where, End, Talk string
}

func linesOf(records []*hub.Record) (list []line) {
	for _, r := range records {
		list = append(list, lineOf(r))
	}
	return list
}

func lineOf(r *hub.Record) line {
	l := line{At: r.End.At, What: answerLine(r), Who: agentOf(r), Where: laneOf(r).Name, End: endingText(r), Talk: talkURL(r)}
	word := endings[r.End.Status()]
	if by, ok := strings.CutPrefix(l.End, word+" by "); ok {
		l.What, l.End = cmp.Or(l.What, word), "by "+by
	}
	if r.Kind == "permission" {
		l.Topic = short(toolView(r).Topic(), 90)
	} else if len(r.Call.Questions) == 1 || len(r.End.Answers) == 0 { // else each says what it answers
		l.Topic = short(cmp.Or(r.Call.Questions[0].Header, r.Call.Questions[0].Text), 90)
	} else if r.Call.Server != "" {
		l.Topic = serverOf(r)
	}
	return l
}

// turnLines are the turns that have ended since the last of these lines, as far as this hub
// remembers them.
func (s *Server) turnLines(d Device, lines []line) (list []line) {
	all, _, _ := s.turns.after(0)
	for _, n := range all {
		old := len(lines) == pageSize && n.At.Before(lines[len(lines)-1].At)
		if what := map[string]string{hublink.TurnDone: "Done", hublink.TurnFailed: "Failed"}[n.Event]; what != "" && !old && d.sees(n.record()) {
			list = append(list, line{At: n.At, What: what, Who: n.Agent, Where: path.Base(n.Cwd)})
		}
	}
	return list
}

// Day is the line's, in the hub's time.
func (l line) Day() string {
	if at := l.At.Local(); at.Format(time.DateOnly) != time.Now().Format(time.DateOnly) {
		return at.Format("Monday, 2 January 2006")
	}
	return "Today"
}

// export writes one object a line. A client that takes nothing is given up, and
// sees that the body has no end.
func (s *Server) export(w http.ResponseWriter, search hub.Search) {
	whole := search.Limit == 0 // which may be more than there is memory for
	if whole {
		search.Limit = maxPage
	}
	out := stream{w: w}
	for begun := false; ; begun = true {
		records, more := s.board.Search(search)
		if !begun {
			w.Header().Set("Content-Type", ndjson)
		}
		if more && !whole {
			w.Header().Set(nextHeader, nextOf(records))
		}
		for i, rec := range records {
			out.Write(append(clean.JSON(settledOf(rec)), '\n'))
			if (out.full() || i == len(records)-1) && out.flush() != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if !more || !whole {
			return
		}
		search.After = records[len(records)-1].Place()
	}
}

// forget removes the words of one person's answers, see [hub.Board.ForgetBy].
func (s *Server) forget(w http.ResponseWriter, r *http.Request, d Device, _ given) error {
	sees, err := seen(r, d)
	if err != nil {
		return err
	}
	by := r.Form.Get("by")
	if by == "" {
		return statusError{http.StatusBadRequest, "by: expected the name of who answered, as GET /history shows it"}
	}
	done, err := s.board.ForgetBy(r.Context(), by, sees, s.may(d))
	return reply(w, done, err)
}

// searchOf reads what a request wants of the history.
func searchOf(r *http.Request, d Device) (search hub.Search, err error) {
	if search.Sees, err = seen(r, d); err != nil {
		return search, err
	}
	query := r.Form
	search.Text = cmp.Or(query.Get("text"), query.Get("q")) // q is what the page says
	if search.Since, err = sinceOf(query.Get("since"), time.Now()); err != nil {
		return search, err
	}
	if search.After, err = placeNamed(query.Get("after")); err != nil {
		return search, err
	}
	if v := query.Get("limit"); v != "" {
		if search.Limit, err = strconv.Atoi(v); err != nil || search.Limit < 1 || search.Limit > maxPage {
			return search, badf("limit: expected a number from 1 to %d, got %q", maxPage, clean.Truncate(clean.Line(v), 80))
		}
	}
	return search, nil
}

// sinceOf reads a time: RFC 3339, a day, or how long ago it was.
func sinceOf(v string, now time.Time) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, v); err == nil {
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(v); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, badf("since: expected a time such as 2026-11-15T08:00:00Z, a day such as 2026-11-15, or how long ago, such as 24h; got %q", clean.Truncate(clean.Line(v), 80))
}

// nextOf names the place of the last one, from where the next page goes on.
func nextOf(list []*hub.Record) string {
	p := list[len(list)-1].Place()
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", p.At.UnixNano(), p.Key))
}

func placeNamed(v string) (p hub.Place, err error) {
	if v == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(v)
	at, key, _ := strings.Cut(string(data), " ")
	nanos, bad := strconv.ParseInt(at, 10, 64)
	if err != nil || bad != nil || key == "" {
		return p, badf("after: expected the next of the page before, got %q", clean.Truncate(clean.Line(v), 80))
	}
	return hub.Place{At: time.Unix(0, nanos), Key: key}, nil
}
