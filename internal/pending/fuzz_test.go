package pending

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// FuzzParse reads files that somebody edited. Whatever can be read can be
// answered, and keeps all of its other fields.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","questions":[{"question":"a?","options":["x","y"],"answer":2},{"question":"b?"}]}`))
	f.Add([]byte(` {"x":[{}],"questions" : [ {"answer":null,"question":"a?" , "answer":["x"]}]} `))
	f.Add([]byte(`{"questions":[{"question":"a","options":[{"label":"x"}],"descriptions":{"x":"d"},"previews":[]}],"questions":[{"question":"b"}]}`))
	f.Add(compose(convert.Call{Questions: []convert.Question{{Text: "a?", MultiSelect: true, Options: []convert.Option{{Label: "x", Preview: "p"}}}}}, "", time.Time{}, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parse(data)
		if err != nil {
			return
		}
		require.Equal(t, len(d.questions), len(d.answers))
		_, _ = d.read(d.questions)
		answers := make([]convert.Answer, len(d.questions))
		for i, q := range d.questions {
			answers[i].Text = "1"
			if len(q.Options) > 0 {
				answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}}
			}
		}
		out := d.write(answers)
		require.True(t, json.Valid(out), "%s", out)
		back, err := parse(out)
		require.NoError(t, err, "%s", out)
		require.Equal(t, d.questions, back.questions)
		for i, s := range back.answers {
			require.Equal(t, string(convert.Call{Questions: d.questions}.WriteAnswer(i, answers[i])), s.raw)
		}
	})
}

// Every call can be told from its file in full.
func TestComposeReadsBack(t *testing.T) {
	text := rapid.StringMatching(`[a-z"<\\/äあ ,\n]{0,6}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		c := convert.Call{Session: rapid.OneOf(rapid.Just(""), text).Draw(t, "session")}
		for range rapid.IntRange(1, 4).Draw(t, "questions") {
			q := convert.Question{Text: text.Draw(t, "text"), MultiSelect: rapid.Bool().Draw(t, "multi")}
			q.Header = rapid.OneOf(rapid.Just(""), text).Draw(t, "header")
			for _, label := range rapid.SliceOfNDistinct(text, 0, 4, rapid.ID[string]).Draw(t, "labels") {
				q.Options = append(q.Options, convert.Option{Label: label,
					Description: rapid.OneOf(rapid.Just(""), text).Draw(t, "description"),
					Preview:     rapid.OneOf(rapid.Just(""), text).Draw(t, "preview")})
			}
			c.Questions = append(c.Questions, q)
		}
		now := time.Unix(1e9, 0)
		d := acptest.Must(parse(compose(c, "i", now, "t")))
		require.Equal(t, c.Questions, d.questions)
		require.Equal(t, c.Session, d.session)
		require.True(t, now.Equal(d.asked))
		require.Equal(t, "i", d.id)
		require.True(t, sameTexts(c.Questions, d.questions))
		require.Equal(t, asKept(c.Questions), asKept(d.questions))
	})
}

// The hub's word about a question is for whoever waits for it, once: a link that comes
// back says it again, and nothing stands still for that.
func TestTheHubsWordIsHeardOnce(t *testing.T) {
	ch := New(Options{})
	heard := make(chan error, 1)
	ch.expect("q", heard)
	for range 3 {
		ch.hear(desk.Entry{Item: desk.Item{Name: "q"}}, nil)
	}
	<-heard
}
