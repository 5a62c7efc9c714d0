package ask

import (
	"cmp"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// formField is where the answer to a question goes, and what may go there.
type formField struct {
	key, kind string
	title     string
	about     string // its description
	custom    string // the key of the text beside it, if there is one
	required  bool
	closed    bool           // takes none but values
	values    []gjson.Result // of the first options, in their order
	schema    gjson.Result
	words     gjson.Result // the schema of the text beside it
	preset    gjson.Result // its default
	other     gjson.Result // the value that stands for own words
	secret    bool
	takes     *lexicon // what it can take of a secret, if anything can be written
}

var yesNo = gjson.Parse(`[{"const":true,"title":"Yes"},{"const":false,"title":"No"}]`).Array()

// choices are the values that the field offers; false for an unknown type.
func (t *formField) choices() ([]gjson.Result, bool) {
	from := t.schema
	switch t.kind {
	case "boolean":
		return yesNo, true
	case "array":
		from = read.Field(t.schema, "items")
	case "string", "number", "integer":
	default:
		return nil, false
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list := read.Field(from, key); list.IsArray() {
			return list.Array(), true
		}
	}
	list := read.Field(from, "enum").Array()
	if names := read.Field(from, "enumNames").Array(); len(names) == len(list) {
		for i := range list {
			list[i] = gjson.Parse(`{"const":` + list[i].Raw + `,"title":` + string(clean.JSON(names[i].String())) + `}`)
		}
	}
	return list, true
}

// indexOf is the position of a value, -1 if it is not offered.
func (t *formField) indexOf(v gjson.Result) int {
	return slices.IndexFunc(t.values, func(o gjson.Result) bool { return same(o, v) })
}

func same(a, b gjson.Result) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case gjson.String:
		return a.Str == b.Str
	case gjson.Number:
		return a.Num == b.Num
	}
	return a.Raw == b.Raw
}

// check holds a value against the field's schema. The error is [convert.ErrProtocol]
// for a value of another type, [convert.ErrBadAnswer] for one that breaks a rule.
func (t *formField) check(v gjson.Result) error {
	switch ok, rule := t.fits(v); {
	case !ok:
		return convert.ErrProtocol
	case !rule:
		return convert.ErrBadAnswer
	}
	return nil
}

// fits reports whether a value has the field's type, and whether it keeps to
// the field's rules.
func (t *formField) fits(v gjson.Result) (is, keeps bool) {
	switch {
	case t.kind == "array":
		return t.fitsItems(v)
	case t.closed:
		return t.indexOf(v) >= 0 || t.other.Exists() && same(t.other, v), true
	case t.kind == "string":
		return v.Type == gjson.String, t.keepsText(v.Str)
	}
	whole := t.kind != "integer" || v.Num == math.Trunc(v.Num)
	return v.Type == gjson.Number && !math.IsInf(v.Num, 0) && whole, t.within(v.Num, "minimum", "maximum")
}

func (t *formField) fitsItems(v gjson.Result) (is, keeps bool) {
	if !v.IsArray() {
		return false, false
	}
	items, seen := v.Array(), map[int]bool{}
	for _, item := range items {
		i := t.indexOf(item)
		if i < 0 || item.IsArray() || seen[i] {
			return false, false
		}
		seen[i] = true
	}
	return true, t.within(float64(len(items)), "minItems", "maxItems")
}

// within holds a number against two keywords of the schema.
func (t *formField) within(n float64, least, most string) bool {
	low, high := read.Field(t.schema, least), read.Field(t.schema, most)
	return (low.Type != gjson.Number || n >= low.Num) && (high.Type != gjson.Number || n <= high.Num)
}

func (t *formField) keepsText(s string) bool {
	if !t.within(float64(utf8.RuneCountInString(s)), "minLength", "maxLength") {
		return false
	}
	if p := read.Field(t.schema, "pattern"); p.Type == gjson.String {
		// A pattern that is none in Go's syntax is the server's to check.
		if re, err := regexp.Compile(p.Str); err == nil && !re.MatchString(s) {
			return false
		}
	}
	switch read.Field(t.schema, "format").Str {
	case "email":
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && !strings.ContainsFunc(s, notInURI)
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil && dateTime().MatchString(s)
	}
	return true
}

// dateTime is the shape of a time: Go's parser takes an hour of one digit, and a
// comma.
var dateTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^.{10}T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
})

// notInURI reports what has to be escaped in an address; Go's parser takes it.
func notInURI(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r)
}

// parse makes a value of words.
func (t *formField) parse(words string) (string, error) {
	switch t.kind {
	case "integer":
		if n, err := strconv.ParseInt(words, 10, 64); err == nil {
			return strconv.FormatInt(n, 10), nil
		}
	case "number":
		if n, err := strconv.ParseFloat(words, 64); err == nil && gjson.Valid(words) && !math.IsInf(n, 0) {
			return words, nil
		}
	default:
		return string(clean.JSON(words)), nil
	}
	return "", t.misfit(strconv.Quote(shorten(words)))
}

// misfit says what was expected, and what came if others may see it.
func (t *formField) misfit(got string) error {
	if t.secret {
		got = hidden
	}
	return fmt.Errorf("%w: expected %s, got %s", convert.ErrBadAnswer, t.expects(), got)
}

// expects says in words what the field takes.
func (t *formField) expects() string {
	switch {
	case t.kind == "array":
		return cmp.Or(t.span("minItems", "maxItems"), "any") + " of the options"
	case t.closed:
		return "one of the options"
	case t.kind == "integer":
		return strings.TrimSpace("a whole number " + t.span("minimum", "maximum"))
	case t.kind == "number":
		return strings.TrimSpace("a number " + t.span("minimum", "maximum"))
	}
	what := cmp.Or(map[string]string{
		"email":     "an e-mail address",
		"uri":       "an address such as https://example.com/",
		"date":      "a date such as 2026-01-31",
		"date-time": "a date and time such as 2026-01-31T12:00:00Z",
	}[read.Field(t.schema, "format").Str], "a text")
	if span := t.span("minLength", "maxLength"); span != "" {
		what += " with " + span + " characters"
	}
	if p := read.Field(t.schema, "pattern"); p.Type == gjson.String {
		what += " that matches " + shorten(p.Str)
	}
	return what
}

// hint is what expects says, for the end of a question, if that is not plain.
func (t *formField) hint() string {
	switch what := t.expects(); what {
	case "a text", "one of the options", "any of the options":
		return ""
	default:
		return " (" + what + ")"
	}
}

// span says what two keywords of the schema allow.
func (t *formField) span(least, most string) string {
	low, high := read.Field(t.schema, least), read.Field(t.schema, most)
	switch {
	case low.Type == gjson.Number && high.Type == gjson.Number:
		return "from " + low.Raw + " to " + high.Raw
	case low.Type == gjson.Number:
		return "at least " + low.Raw
	case high.Type == gjson.Number:
		return "at most " + high.Raw
	}
	return ""
}
