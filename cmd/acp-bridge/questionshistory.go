package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// recordFlags say what of a hub's history is meant.
type recordFlags struct{ since, text, by string }

func (r *recordFlags) flags(fs *flagSet) {
	fs.StringVar(&r.since, "since", "", "history: start `time`: how long ago (24h), a day (2026-11-15) or a time (2026-11-15T08:00:00Z)")
	fs.StringVar(&r.text, "text", "", "history: `words` that must all appear in a question, its answers or the names of those who gave them")
	fs.StringVar(&r.by, "by", "", "forget: `name` of the person or device that answered")
}

// ofRecord are the actions that are for a hub's history.
func ofRecord(action string) bool { return action == "history" || action == "forget" }

// check refuses flags that the action does not take.
func (r *recordFlags) check(action string) error {
	switch {
	case action != "history" && (r.since != "" || r.text != ""):
		return misused("--since and --text are for acp-bridge questions history")
	case action != "forget" && r.by != "":
		return misused("--by is for acp-bridge questions forget; acp-bridge questions history --text NAME finds what somebody answered")
	case action == "forget" && r.by == "":
		return misused("forget needs --by NAME, as acp-bridge questions history shows it")
	}
	return nil
}

// record shows or edits what was settled at a hub.
func (o questionsOptions) atRecord(ctx context.Context, s streams) error {
	if o.name != "" {
		return misused("unexpected argument %q: expected flags", o.name)
	}
	if o.action == "forget" {
		return o.forget(ctx, s)
	}
	query := url.Values{}
	if o.record.text != "" {
		query.Set("text", o.record.text)
	}
	if o.record.since != "" { // days are those of this machine
		at, err := sinceTime(o.record.since, time.Now())
		if err != nil {
			return err
		}
		query.Set("since", at.UTC().Format(time.RFC3339Nano))
	}
	out := table{w: s.Out}
	err := o.hub.History(ctx, query, func(raw json.RawMessage) error { return o.showRecord(raw, &out, s) })
	if err == nil && !o.json && !out.begun {
		_, err = fmt.Fprintln(s.Out, "Nothing found.")
	}
	return err
}

func (o questionsOptions) showRecord(raw json.RawMessage, out *table, s streams) error {
	if o.json {
		return printJSON(s, raw)
	}
	var r hublink.Settled
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("the hub's history: %w", err)
	}
	return out.add(r)
}

func sinceTime(v string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, v, now.Location()); err == nil {
		return at, nil
	}
	if ago, err := time.ParseDuration(v); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, misused("--since %q: expected how long ago (24h), a day (2026-11-15) or a time (2026-11-15T08:00:00Z)", v)
}

// table shows settled questions to people, in 80 columns. --json has all of it.
type table struct {
	w     io.Writer
	begun bool
}

func (t *table) add(r hublink.Settled) error {
	if !t.begun {
		t.begun = true
		t.line("SETTLED", "TOOK", "BY", "QUESTION AND ANSWER")
	}
	when, took, by := r.At.Local().Format("2006-01-02 15:04"), tookText(r.Seconds), cmp.Or(clean.Line(r.By), "-")
	if r.Elsewhere && r.By != "" {
		by = "agent: " + by
	}
	for _, q := range r.Questions {
		t.line(when, took, by, clean.Line(q.Question))
		when, took, by = "", "", ""
		if q.Answer != nil {
			t.line("", "", "", "= "+answerText(*q.Answer))
		}
	}
	if r.Outcome != convert.Answered.String() {
		return t.line("", "", "", "("+clean.Line(r.Outcome)+")")
	}
	return nil
}

func (t *table) line(when, took, by, text string) error {
	line := fmt.Sprintf("%-16s  %5s  %s  %s", when, took, cells.Pad(cells.Cut(by, 14), 14), cells.Cut(text, 39))
	_, err := fmt.Fprintln(t.w, strings.TrimRight(line, " "))
	return err
}

// tookText is how long an answer took, in at most five columns.
func tookText(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// forget removes what one person said.
func (o questionsOptions) forget(ctx context.Context, s streams) error {
	done, err := o.hub.Forget(ctx, o.record.by)
	if err != nil {
		return fmt.Errorf("not forgotten: %w", err)
	}
	if o.json {
		return printJSON(s, done)
	}
	fmt.Fprintf(s.Out, "Forgotten: %s of %s\n", lineask.Counted(done.Forgotten, "answer", "answers"), clean.Line(o.record.by))
	if done.Left > 0 {
		fmt.Fprintf(s.Out, "Kept: %s still on the way to an agent; run this again later.\n", lineask.Counted(done.Left, "answer", "answers"))
	}
	return nil
}
