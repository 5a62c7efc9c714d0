package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"rsc.io/qr"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What was said before a question stands on its card, each under who said it.
func TestCardsTellWhatWasSaid(t *testing.T) {
	for _, c := range []struct{ prompt, said, line string }{
		{"", "", ""},
		{"build **it**\nnow", "", "You: build it"},
		{"", "I looked.", "Earlier in the conversation"},
		{"build it", "I looked.", "You: build it"},
	} {
		r := &hub.Record{Call: convert.Call{Questions: []convert.Question{{Text: "Go?"}}}}
		r.About.Prompt, r.About.Said = c.prompt, c.said
		got := cardOf(r, time.Now(), false)
		require.Equal(t, c.line, got.Prompt)
		before := string(got.Before)
		require.Equal(t, c.prompt != "", strings.Contains(before, ">You<"), before)
		require.Equal(t, c.prompt != "", strings.Contains(before, "build"), before)
		require.Equal(t, c.said != "", strings.Contains(before, ">The agent<"), before)
		require.Equal(t, c.said != "", strings.Contains(before, "I looked."), before)
	}
}

// How far an answer got is told of answers, as far as they got; not of what nobody said,
// nor of what cannot be delivered.
func TestStepsOfAnAnswer(t *testing.T) {
	now := time.Now()
	for want, e := range map[string]hub.End{
		"sent":                    {By: "phone"},
		"sent delivered":          {By: "phone", Delivered: now},
		"sent delivered used":     {By: "phone", Delivered: now, Consumed: now},
		"":                        {Outcome: "failed"},
		"nor what is undelivered": {By: "phone", Undelivered: "it is gone"},
	} {
		var done []string
		for _, s := range stepsOf(&e) {
			if s.Done {
				done = append(done, s.Text)
			}
		}
		if e.Undelivered != "" {
			want = ""
		}
		require.Equal(t, want, strings.Join(done, " "))
	}
}

// A phone's camera reads the link that is drawn: each dark square of its code, with four
// light ones around all.
func TestALinkIsDrawn(t *testing.T) {
	const link = "http://192.168.1.5:7717/login?code=abc"
	path, size := acptest.Must2(drawQR(link))
	code := acptest.Must(qr.Encode(link, qr.M))
	require.Equal(t, code.Size+8, size)
	dark := 0
	for x := range size {
		for y := range size {
			if code.Black(x-4, y-4) {
				dark++
				require.Contains(t, path, fmt.Sprintf("M%d %dh1v1h-1z", x, y))
			}
		}
	}
	require.Equal(t, dark, strings.Count(path, "M"))
	_, _, err := drawQR(strings.Repeat("x", 10_000))
	require.Error(t, err, "it is longer than a code can be")
}
