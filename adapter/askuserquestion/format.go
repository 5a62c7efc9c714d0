package askuserquestion

import (
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Format writes the answers as the result of the tool, as [convert.Format]
// does. An answer that names its question belongs to that one, any other to
// the question at its own position. Questions without an answer are left out.
func Format(req Request, answers []Answer) string {
	paired, _ := pair(req, answers)
	return convert.Format(callOf(req.ToolCallID, req.Questions), paired)
}

// pair puts the answers in the order of the questions. The error says which
// answer names a question that was not asked, or has no question left.
func pair(req Request, answers []Answer) ([]convert.Answer, error) {
	paired := make([]convert.Answer, len(req.Questions))
	taken := make([]bool, len(req.Questions))
	put := func(i int, a Answer) {
		taken[i] = true
		paired[i] = convert.Answer{Selected: a.Selected}
		if a.Other != "" {
			paired[i] = convert.Answer{Text: a.Other}
		}
	}
	placed := make([]bool, len(answers))
	// Those that name the question at their own position come first: a text
	// may be asked twice.
	for i, a := range answers {
		if i < len(paired) && a.Question == req.Questions[i].Question {
			put(i, a)
			placed[i] = true
		}
	}
	for i, a := range answers {
		for j, q := range req.Questions {
			if !placed[i] && !taken[j] && a.Question == q.Question {
				put(j, a)
				placed[i] = true
			}
		}
	}
	var err error
	for i, a := range answers {
		if placed[i] {
			continue
		}
		if a.Question != "" && err == nil {
			err = fmt.Errorf("%w: answer %d is for %q, which was not asked", convert.ErrFailed, i+1, a.Question)
		}
		switch {
		case i < len(paired) && !taken[i]:
			put(i, a)
		case err == nil:
			err = fmt.Errorf("%w: answer %d has no question (%d answers for %d questions)", convert.ErrFailed, i+1, len(answers), len(paired))
		}
	}
	return paired, err
}
