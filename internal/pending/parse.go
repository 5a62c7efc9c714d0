package pending

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// document is a file as it stands, with everything in it that is not ours.
type document struct {
	data      []byte
	id        string
	ticket    string
	session   string
	asked     time.Time
	questions []convert.Question
	answers   []slot
	dismissed bool
}

// slot is where the answer to a question stands.
type slot struct {
	raw string
	// from and to bound the value in the document. For a question without the
	// field both are just behind its opening brace.
	from, to int
	missing  bool
	only     bool // the question has no fields at all
}

// anything allows every call: it was checked when it was asked.
var anything = convert.NoLimits

var bom = []byte("\xef\xbb\xbf") // some editors put it in front

// parse reads a file. What it does not know it keeps.
func parse(data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, bom)
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	if err := syntax(data); err != nil {
		return nil, err
	}
	call, err := convert.Parse(data, anything)
	if err != nil {
		return nil, err
	}
	d := &document{data: data, questions: call.Questions}
	root := gjson.ParseBytes(data)
	if session := last(root, "sessionId"); session.Type == gjson.String || session.Type == gjson.Null {
		d.session = session.Str
	} else {
		return nil, fmt.Errorf("sessionId must be a string, got %s", session.Raw)
	}
	d.id, d.ticket = last(root, "id").Str, last(root, "ticket").Str
	d.dismissed = last(root, "dismissed").Type == gjson.True
	d.asked, _ = time.Parse(time.RFC3339, last(root, "timestamp").Str)
	list := last(root, "questions")
	if !list.IsArray() {
		return nil, errors.New("questions must be an array")
	}
	list.ForEach(func(_, v gjson.Result) bool {
		q := &d.questions[len(d.answers)]
		beside(q, last(v, "descriptions"), func(o *convert.Option, s string) { o.Description = s })
		beside(q, last(v, "previews"), func(o *convert.Option, s string) { o.Preview = s })
		d.answers = append(d.answers, findSlot(v))
		return true
	})
	return d, nil
}

// beside puts texts that stand beside the options, by label, into them.
func beside(q *convert.Question, texts gjson.Result, set func(*convert.Option, string)) {
	if !texts.IsObject() {
		return
	}
	texts.ForEach(func(k, v gjson.Result) bool {
		for i := range q.Options {
			if q.Options[i].Label == k.Str && v.Type == gjson.String {
				set(&q.Options[i], v.Str)
			}
		}
		return true
	})
}

func findSlot(question gjson.Result) slot {
	if v := last(question, "answer"); v.Exists() {
		return slot{raw: v.Raw, from: v.Index, to: v.Index + len(v.Raw)}
	}
	at := question.Index + 1
	inside := strings.TrimSpace(question.Raw[1 : len(question.Raw)-1])
	return slot{raw: "null", from: at, to: at, missing: true, only: inside == ""}
}

// last returns the last value of a key, the one that counts.
func last(object gjson.Result, key string) (found gjson.Result) {
	if !object.IsObject() {
		return found
	}
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found = v
		}
		return true
	})
	return found
}

// read reads the answers as answers to the given questions, which are the
// file's own or those of the call that it waits for.
func (d *document) read(questions []convert.Question) ([]convert.Answer, error) {
	if len(d.answers) != len(questions) {
		return nil, fmt.Errorf("%w: the file has %d questions, the call %d", ErrAnswer, len(d.answers), len(questions))
	}
	c := convert.Call{Questions: questions}
	answers := make([]convert.Answer, len(questions))
	for i, s := range d.answers {
		if !same(d.questions[i].Text, questions[i].Text) {
			return nil, fmt.Errorf("%w: question %d is not the one that was asked: %q", ErrAnswer, i+1, d.questions[i].Text)
		}
		if !slices.EqualFunc(d.questions[i].Options, questions[i].Options, func(a, b convert.Option) bool {
			return same(a.Label, b.Label) && same(a.Description, b.Description)
		}) {
			return nil, fmt.Errorf("%w: the options of question %d are not those that were asked, in that order", ErrAnswer, i+1)
		}
		a, err := c.ReadAnswer(i, []byte(s.raw))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		answers[i] = a
	}
	return answers, nil
}

// write returns the document with other answers and everything else as it was,
// down to the white space.
func (d *document) write(answers []convert.Answer) []byte {
	c := convert.Call{Questions: d.questions}
	var b bytes.Buffer
	done := 0
	for i, s := range d.answers {
		b.Write(d.data[done:s.from])
		if s.missing {
			b.WriteString(`"answer": `)
		}
		b.Write(c.WriteAnswer(i, answers[i]))
		if s.missing && !s.only {
			b.WriteString(", ")
		}
		done = s.to
	}
	b.Write(d.data[done:])
	return b.Bytes()
}

// dismiss returns the document with a mark that its questions are dismissed. An
// answer would not do: the word cancel may be an option's label.
func (d *document) dismiss() []byte {
	end := bytes.LastIndexByte(d.data, '}')
	var b bytes.Buffer
	b.Write(bytes.TrimRight(d.data[:end], " \t\r\n"))
	b.WriteString(",\n  \"dismissed\": true\n")
	b.Write(d.data[end:])
	return b.Bytes()
}

// sameTexts reports whether questions have the same texts.
func sameTexts(a, b []convert.Question) bool {
	return slices.EqualFunc(a, b, func(a, b convert.Question) bool { return same(a.Text, b.Text) })
}

// asKept are questions as they are when they have been kept as JSON.
func asKept(questions []convert.Question) []convert.Question {
	var kept []convert.Question
	if err := json.Unmarshal(clean.JSON(questions), &kept); err != nil {
		panic(err) // strings and booleans always encode
	}
	return kept
}

// same compares texts of which one has been through a file.
func same(a, b string) bool { return a == b || encode(a) == encode(b) }
