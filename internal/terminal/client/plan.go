package client

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// planLines is how many entries of a plan are shown at a time.
const planLines = 8

type planEntry struct{ text, status string }

var planMarks = map[string]string{"completed": "✓", "in_progress": "▸"}

func (e planEntry) line() string { return "  " + cmp.Or(planMarks[e.status], "☐") + " " + e.text }

// setPlan takes the plan as it is now.
func (s *screen) setPlan(entries gjson.Result) {
	var plan []planEntry
	for _, e := range entries.Array() {
		plan = append(plan, planEntry{clean.Line(e.Get("content").Str), e.Get("status").Str})
	}
	if slices.Equal(plan, s.plan) {
		return
	}
	if !s.Live {
		s.endText()
		var changed []string
		for _, e := range plan {
			if !slices.Contains(s.plan, e) {
				changed = append(changed, s.cut(e.line()))
			}
		}
		if len(changed) > 0 {
			s.add(blockPlan, append([]string{"Plan"}, changed...)...)
		}
	}
	s.plan, s.fresh = plan, true
}

// planView is the plan around what is being done.
func (s *screen) planView() []string {
	if len(s.plan) == 0 {
		return nil
	}
	lines := []string{"Plan"}
	from, to := 0, len(s.plan)
	if to > planLines {
		now := max(0, slices.IndexFunc(s.plan, func(e planEntry) bool { return e.status != "completed" }))
		from = min(max(0, now-planLines/2), to-planLines)
		to = from + planLines
	}
	if from > 0 {
		lines = append(lines, fmt.Sprintf("  … %d before", from))
	}
	for _, e := range s.plan[from:to] {
		lines = append(lines, s.cut(e.line()))
	}
	if n := len(s.plan) - to; n > 0 {
		lines = append(lines, fmt.Sprintf("  … %d more", n))
	}
	return lines
}
