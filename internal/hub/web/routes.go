package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// route is one request that needs a credential. It has one of look, which changes
// nothing, and change.
type route struct {
	can    []Can
	look   looks
	change func(http.ResponseWriter, *http.Request, Device, given) error
	takes  takes
	large  bool // the reply may be
	// proof is what a change shows beside a cookie; nil is that it comes from the page.
	proof func(*http.Request, Device, given) bool
}

// looks writes its reply, or returns what went wrong before that. So does a change: one
// place tells of it, see [Server.failed].
type looks func(http.ResponseWriter, *http.Request, Device) error

// takes are the names that a change knows. Anything else is refused: what is passed
// over may be the name of the question that was meant.
type takes struct {
	query string // names, with spaces between them
	body  body
	names string // members of an object, or fields of a form
	most  int64  // bytes of the body; 0 is maxBody
}

// body is the kind of body that a change takes.
type body int

const (
	nothing  body = iota // or an object without members
	object               // JSON with members that the route knows
	document             // JSON of a dialect, which says what it takes
	formBody             // an HTML form
)

// given is the body of a change.
type given struct {
	json []byte
	form url.Values
}

// table is every request that needs a credential.
func (s *Server) table() map[string]route {
	read, ask, both := []Can{CanAnswer}, []Can{CanAsk}, []Can{CanAnswer, CanAsk}
	measure, admin := []Can{CanMeasure}, []Can(nil)
	return map[string]route{
		"GET /{$}":                       {can: read, look: s.shows("page"), large: true},
		"GET /cards":                     {can: read, look: s.shows("cards"), large: true},
		"GET /history":                   {can: read, look: s.history, large: true},
		"GET /conversations":             {can: read, look: s.listConversations, large: true},
		"GET /conversations/{id}":        {can: both, look: s.getConversation},
		"GET /questions":                 {can: read, look: s.listQuestions, large: true},
		"GET /events":                    {can: read, look: s.events},
		"GET /conversations/{id}/events": {can: both, look: s.events},
		"GET /conversations/{id}/questions/{question}": {can: both, look: s.getQuestion},
		"GET /push":    {can: read, look: s.showPushKey},
		"GET /metrics": {can: measure, look: s.metrics},
		"GET /status":  {can: measure, look: s.status},
		"GET /devices": {can: admin, look: s.listDevices},
		"GET /away":    {can: both, look: s.showAway},
		"GET /lan":     {can: admin, look: s.showLAN},

		"POST /answer":                     {can: read, change: s.answerForm, takes: takes{body: formBody, names: cardFields}},
		"POST /logout":                     {can: both, change: s.logout, takes: takes{body: formBody, names: pageField}},
		"POST /page":                       {can: read, change: s.showAgain, takes: takes{body: formBody, names: cardFields + " " + viewFields}},
		"POST /dismiss":                    {can: read, change: s.dismissGone, takes: takes{body: formBody, names: pageField + " these"}},
		"POST /conversations/{id}/ask":     {can: ask, change: s.ask, takes: takes{query: "group dialect wait", body: document}},
		"POST /conversations/{id}/left":    {can: ask, change: s.left, takes: takes{query: "group", body: document}},
		"POST /conversations/{id}/respond": {can: read, change: s.respond, takes: takes{query: "group question revision", body: object, names: "answers"}},
		"POST /conversations/{id}/cancel":  {can: read, change: s.cancel, takes: takes{query: "group question revision"}},
		"POST /conversations/{id}/questions/{question}/settle": {can: ask, change: s.takeBack,
			takes: takes{query: "group", body: object, names: "outcome answers reason by asker"}},
		"POST /conversations/{id}/questions/{question}/received": {can: ask, change: s.received,
			takes: takes{query: "group", body: object, names: "consumed refused unsure claim ended asker"}},
		"POST /conversations/{id}/turn": {can: ask, change: s.turned, takes: takes{query: "group", body: object, names: "event agent dir text prompt asker prompts"}},
		"POST /hooks/claude":            {can: []Can{CanHook}, change: s.claudeHook, takes: takes{body: document, most: maxHook}},
		"POST /away":                    {can: read, change: s.away, takes: takes{body: object, names: "away"}},
		"POST /push":                    {can: read, change: s.addPush, takes: takes{body: object, names: "endpoint expirationTime keys kinds"}},
		"POST /act":                     {can: read, change: s.act, proof: s.ofPush, takes: takes{body: object, names: actFields}},
		"DELETE /push":                  {can: read, change: s.removePush, takes: takes{body: object, names: "endpoint expirationTime keys"}},
		"DELETE /history":               {can: admin, change: s.forget, takes: takes{query: "by group"}},
		"POST /devices":                 {can: admin, change: s.addDevice, takes: takes{body: object, names: "name can groups"}},
		"DELETE /devices/{name}":        {can: admin, change: s.removeDevice},
		"POST /phones":                  {can: admin, change: s.addPhone},
		"POST /lan":                     {can: admin, change: s.switchLAN, takes: takes{body: object, names: "on"}},
		"POST /codes":                   {can: admin, change: s.addCode, takes: takes{body: object, names: "name"}},
	}
}

// cardFields are those of the form of a card.
const cardFields = "page group conversation question revision asked seen whole plan do a* b* t* n*"

// give reads the names and the body of a change. It is the one way to them.
func (s *Server) give(w http.ResponseWriter, r *http.Request, d Device, t takes) (g given, err error) {
	for name := range r.Form {
		if !known(t.query, name) {
			return g, unknownName("parameter", name, t.query)
		}
	}
	kind, err := t.body.kind(r)
	if err != nil {
		return g, err
	}
	most := cmp.Or(t.most, maxBody)
	leave, ok := s.room(s.coming, d, int(min(uint64(r.ContentLength), uint64(most)))) // all of it, if it does not say how much
	defer leave()
	if !ok {
		return g, errCrowded
	}
	data, err := s.readUpTo(w, r, most)
	if err != nil {
		return g, err
	}
	if kind == formKind {
		g.form, err = readForm(data, t.names)
		return g, err
	}
	if g.json = data; t.body == nothing && len(bytes.TrimSpace(data)) == 0 {
		return g, nil
	}
	if !json.Valid(data) {
		return g, badf("the body is not JSON")
	}
	if t.body == document || t.body == nothing && string(bytes.TrimSpace(data)) == "null" {
		return g, nil
	}
	return g, checkMembers(data, t.names)
}

const jsonKind, formKind = "application/json", "application/x-www-form-urlencoded"

// kind is the media type of a body, which has to be one that the route takes.
func (b body) kind(r *http.Request) (string, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case b == formBody && kind != formKind && r.ContentLength != 0:
		return "", statusError{http.StatusUnsupportedMediaType, "expected a form"}
	case b == formBody:
		return formKind, nil
	case b == nothing && r.ContentLength == 0, kind == jsonKind:
		return jsonKind, nil
	}
	return "", statusError{http.StatusUnsupportedMediaType, "expected Content-Type: application/json"}
}

// checkMembers refuses an object with a member that is not known, or there twice:
// of two, one would be passed over. data is JSON.
func checkMembers(data []byte, names string) (err error) {
	object := gjson.ParseBytes(data)
	if !object.IsObject() {
		return badf("expected an object")
	}
	seen := map[string]bool{}
	object.ForEach(func(key, _ gjson.Result) bool {
		switch name := key.String(); {
		case names != anyName && !known(names, name):
			err = unknownName("member", name, names)
		case seen[name]:
			err = badf("%s: expected one value, got two", clean.Truncate(clean.Line(name), 80))
		default:
			seen[name] = true
		}
		return err == nil
	})
	return err
}

// anyName is in the place of names where all are known.
const anyName = "*"

// numbered is the name of a field for one of several questions.
var numbered = regexp.MustCompile(`^[abtn][0-9]{1,4}$`)

func known(names, name string) bool {
	has := func(name string) bool { return slices.Contains(strings.Fields(names), name) }
	return has(name) && !strings.HasSuffix(name, "*") || numbered.MatchString(name) && has(name[:1]+"*")
}

func unknownName(what, name, names string) error {
	expected := cmp.Or(strings.Join(strings.Fields(names), ", "), "none")
	return badf("unknown %s %q: expected %s", what, clean.Truncate(clean.Line(name), 80), expected)
}

// readForm reads an HTML form. Only picks may be there more than once.
func readForm(data []byte, names string) (url.Values, error) {
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, badf("the form cannot be read")
	}
	for name, values := range form {
		switch {
		case !known(names, name):
			return nil, unknownName("field", name, names)
		case len(values) > 1 && !(name[0] == 'a' && numbered.MatchString(name)):
			return nil, badf("%s: expected one value, got %d", name, len(values))
		}
	}
	return form, nil
}

// into reads the body into v, which has a field for all that it knows.
func (g given) into(v any) error {
	d := json.NewDecoder(bytes.NewReader(g.json))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badf("%w", err)
	}
	return nil
}

// statusError is an error with a status of its own.
type statusError struct {
	code int
	text string
}

func (e statusError) Error() string { return e.text }

func statusf(code int, format string, args ...any) error {
	return statusError{code, fmt.Sprintf(format, args...)}
}
