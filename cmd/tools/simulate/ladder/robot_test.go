package ladder_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// robot plays the client of a plan in a bubble.
type robot struct {
	plan
	*conn.Conn
	out  *io.PipeWriter
	acts []act
	seen played
}

func (p plan) play(t *testing.T) played {
	asked, out := io.Pipe()
	in, asks := io.Pipe()
	r := &robot{plan: p, Conn: conn.New(asked, asks, nil, &conn.Options{Logger: slog.New(slog.DiscardHandler)}), out: out, acts: p.Acts}
	leave := func() { // and the agent has noticed
		out.Close()
		in.Close()
		<-r.Done()
		r.Close()
	}
	r.seen.said = slices.Clone(p.Wishes)
	r.seen.given = make([]bool, len(p.Wishes))
	var client adapter.Client = r.Conn
	if p.Talks {
		client = r
	}
	a := adapter.New(client, &p.Options)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		r.read(in)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.seen.outcome, _ = a.Ask(ctx, p.Asks)
	}()
	select {
	case <-over:
	case <-time.After(p.After):
		switch r.seen.ended = p.Ends; p.Ends {
		case "cancel":
			cancel()
		case "disconnect":
			leave()
		case "from code":
			for _, e := range a.Desk().List() {
				_ = a.Desk().Cancel(e.Name, "code")
			}
		}
	}
	select {
	case <-over:
	case <-time.After(time.Hour): // a reply never comes: the user gives up
		r.seen.ended = "cancel"
		cancel()
	}
	<-over
	cancel()
	if open := a.Desk().List(); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
	leave()
	<-reading
	return r.seen
}

// read answers requests as they come.
func (r *robot) read(from io.Reader) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		msg := gjson.Parse(in.Text())
		switch msg.Get("method").Str {
		case acp.ClientMethodElicitationCreate:
			r.form(msg)
		case acp.ClientMethodSessionRequestPermission:
			r.buttons(msg)
		}
	}
}

func (r *robot) next(what string) act {
	a := act{Do: "answer", After: seen.Person}
	if len(r.acts) > 0 {
		a, r.acts = r.acts[0], r.acts[1:]
	}
	r.seen.history = append(r.seen.history, what+": "+a.Do)
	return a
}

// send replies in the background, so that requests, cancels and late replies
// cross. It tells what the user did at the moment they did it.
func (r *robot) send(a act, after time.Duration, request gjson.Result, response string, did func()) {
	time.Sleep(after)
	if did != nil {
		did()
	}
	line := `{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,` + response + "}\n"
	if a.Twice {
		line += line + `{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,"result":{"outcome":{"outcome":"selected","optionId":"` +
			"SQLite" + `"}}}` + "\nnot json\n" + `{"jsonrpc":"2.0","id":9999,"result":{"action":"accept"}}` + "\n"
	}
	_, _ = r.out.Write([]byte(line)) // the connection may be gone
}

const quick = 20 * time.Millisecond

// bad is a reply that is none, for what both kinds of request have in common.
func bad(do string) (response string, ok bool) {
	switch do {
	case "error":
		return `"error":{"code":-32601,"message":"Method not found"}`, true
	case "null":
		return `"result":null`, true
	case "garbage":
		return `"result":{"outcome":{"outcome":"later","optionId":"SQLite"},"action":"later"}`, true
	case "empty":
		return `"result":{}`, true
	}
	return "", false
}

func (r *robot) form(msg gjson.Result) {
	a := r.next("form")
	if response, ok := bad(a.Do); ok {
		r.send(a, a.After, msg, response, nil)
		return
	}
	result := func(v any) string {
		data, _ := json.Marshal(v)
		return `"result":` + string(data)
	}
	automatic := a.Do == "automatic first" || a.Do == "automatic last" || a.Do == "automatic cancel"
	switch {
	case a.Do == "never reply":
	case a.Do == "dismiss":
		r.send(a, a.After, msg, result(map[string]any{"action": "cancel"}), func() { r.seen.dismissed = true })
	case a.Do == "decline":
		r.send(a, a.After, msg, result(map[string]any{"action": "decline"}), func() { r.seen.declined = true })
	case a.Do == "no id" || a.Do == "unknown id":
		r.send(a, a.After, msg, result(map[string]any{"action": "accept", "content": map[string]any{"question_0": "Oracle"}}), nil)
	case automatic && r.Options.Guard && a.Do == "automatic cancel":
		r.send(a, quick, msg, result(map[string]any{"action": "cancel"}), nil)
	case automatic && r.Options.Guard:
		r.send(a, quick, msg, result(map[string]any{"action": "accept", "content": map[string]any{"question_0": r.Asks.Questions[0].Options[0].Label}}), nil)
	default:
		content := map[string]any{}
		for i, w := range r.Wishes {
			key := fmt.Sprintf("question_%d", i)
			switch {
			case w.Text != "":
				content[key+"_custom"] = w.Text
			case r.Asks.Questions[i].MultiSelect:
				picks := slices.Clone(w.Selected)
				slices.Reverse(picks)
				content[key] = picks
			default:
				content[key] = w.Selected[0]
			}
		}
		r.send(a, a.After, msg, result(map[string]any{"action": "accept", "content": content}), func() {
			for i := range r.seen.given {
				r.seen.given[i] = true
			}
		})
	}
}

func selected(id string, meta map[string]any) string {
	outcome := map[string]any{"outcome": "selected", "optionId": id}
	if meta != nil {
		outcome["_meta"] = meta
	}
	data, _ := json.Marshal(map[string]any{"outcome": outcome})
	return `"result":` + string(data)
}

// question finds which question is asked, by what is shown.
func (r *robot) question(shown string) int {
	return slices.IndexFunc(r.Asks.Questions, func(q convert.Question) bool { return strings.Contains(shown, q.Text) })
}

func (r *robot) buttons(msg gjson.Result) {
	options := msg.Get("params.options").Array()
	q := r.question(msg.Get("params.toolCall.content.0.content.text").Str)
	multi, first := r.Asks.Questions[q].MultiSelect, options[0].Get("optionId").Str != ask.DoneID
	a := r.next(fmt.Sprintf("buttons for question %d", q+1))
	if response, ok := bad(a.Do); ok {
		r.send(a, a.After, msg, response, nil)
		return
	}
	automatic := strings.HasPrefix(a.Do, "automatic") && r.Options.Guard && first
	switch {
	case a.Do == "never reply":
	case a.Do == "dismiss":
		r.send(a, a.After, msg, `"result":{"outcome":{"outcome":"cancelled"}}`, func() { r.seen.dismissed = true })
	case a.Do == "no id":
		r.send(a, a.After, msg, `"result":{"outcome":{"outcome":"selected"}}`, nil)
	case a.Do == "unknown id":
		r.send(a, a.After, msg, selected("Oracle", nil), nil)
	case automatic && a.Do == "automatic cancel":
		r.send(a, quick, msg, `"result":{"outcome":{"outcome":"cancelled"}}`, nil)
	case automatic && a.Do == "automatic last":
		r.send(a, quick, msg, selected(options[len(options)-1].Get("optionId").Str, nil), nil)
	case automatic:
		r.send(a, quick, msg, selected(options[0].Get("optionId").Str, nil), nil)
	case a.Do == "answer in one go" || multi && r.Options.Aware:
		id, meta := r.inOneGo(q, options)
		r.send(a, a.After, msg, selected(id, meta), func() { r.seen.given[q] = true })
	default:
		id := r.press(q, options)
		r.send(a, a.After, msg, selected(id, nil), func() {
			r.seen.given[q] = true
			if id == ask.OtherID && !r.Talks {
				r.seen.said[q] = convert.Answer{Text: "Other"}
			}
		})
	}
}

// press is the button that the user presses next: the last of their wishes
// first.
func (r *robot) press(q int, options []gjson.Result) string {
	for _, label := range slices.Backward(r.Wishes[q].Selected) {
		for _, o := range options[:len(options)-1] { // Other is the last
			if o.Get("name").Str == label && o.Get("optionId").Str != ask.DoneID {
				return o.Get("optionId").Str
			}
		}
	}
	if r.Wishes[q].Text != "" {
		return ask.OtherID
	}
	return ask.DoneID
}

func (r *robot) inOneGo(q int, options []gjson.Result) (string, map[string]any) {
	id := r.press(q, options)
	if text := r.Wishes[q].Text; text != "" {
		return id, map[string]any{"customText": " " + text}
	}
	if !r.Asks.Questions[q].MultiSelect {
		return id, nil
	}
	var ids []string
	for _, o := range options[:len(options)-1] {
		if slices.Contains(r.Wishes[q].Selected, o.Get("name").Str) && o.Get("optionId").Str != ask.DoneID {
			ids = append(ids, o.Get("optionId").Str)
		}
	}
	if len(ids) == 0 {
		ids = []string{id} // Done
	}
	return id, map[string]any{"selectedOptionIds": ids}
}

// AskInConversation plays a user who reads what is written.
func (r *robot) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	q := r.question(m.Text)
	a := r.next(fmt.Sprintf("words for question %d", q+1))
	select {
	case <-time.After(a.After):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	switch a.Do {
	case "never reply":
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "dismiss":
		if !r.has(q, "cancel") {
			r.seen.dismissed = true
			return "Cancel", nil
		}
	case "empty", "null", "garbage":
		return " \n", nil
	}
	r.seen.given[q] = true
	w := r.Wishes[q]
	if w.Text != "" {
		return w.Text, nil
	}
	if len(w.Selected) == 1 && a.Do == "no id" {
		return w.Selected[0], nil
	}
	var numbers []string
	for _, label := range w.Selected {
		if found := regexp.MustCompile(`(?m)^(\d+)\. ` + regexp.QuoteMeta(label) + `$`).FindStringSubmatch(m.Text); found != nil {
			numbers = append(numbers, found[1])
		}
	}
	switch {
	case len(numbers) > 0:
	case r.has(q, "done"): // which would pick it
		return w.Selected[0], nil
	default:
		return "done", nil
	}
	return strings.Join(numbers, ", "), nil
}

func (r *robot) has(q int, label string) bool {
	return slices.ContainsFunc(r.Asks.Questions[q].Options, func(o convert.Option) bool { return o.Label == label })
}
