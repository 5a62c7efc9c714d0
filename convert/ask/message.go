package ask

import (
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Message writes a question as text for the conversation, with numbered
// options and a line that says how to answer. Picked are the positions of
// options that were picked before; they are named and leave the list, the
// others keep their numbers.
func Message(q convert.Question, picked []int) string {
	var b strings.Builder
	b.WriteString(messageLead(q))
	if len(picked) > 0 {
		b.WriteString("\n\nPicked so far: " + names(&q, picked))
	}
	if len(q.Options) > 0 {
		b.WriteByte('\n')
	}
	for i := range q.Options {
		switch {
		case slices.Contains(picked, i):
		case q.OwnWords:
			b.WriteString("\n- " + optionName(&q.Options[i]))
		default:
			b.WriteString("\n" + strconv.Itoa(i+1) + ". " + optionName(&q.Options[i]))
		}
	}
	b.WriteString(previews(&q))
	b.WriteString("\n\n" + messageHelp(q, len(picked) > 0))
	return b.String()
}

// wordsMessage asks for the user's own words, which the user wants to write. A
// label counts, too.
func wordsMessage(q convert.Question) string {
	if len(q.Options) == 0 {
		return Message(q, nil)
	}
	all := make([]int, len(q.Options))
	for i := range all {
		all[i] = i
	}
	return messageLead(q) + "\n\nType your answer, or one of these: " + names(&q, all) + "." + cancelHelp(q)
}

// messageLead is the question itself.
func messageLead(q convert.Question) string {
	lead := ""
	if header := clean.Line(q.Header); header != "" {
		lead = "**" + header + "**\n\n"
	}
	return lead + clean.Block(q.Text)
}

func cancelHelp(q convert.Question) string {
	if !q.ReadReply("cancel").Cancel { // an option
		return ""
	}
	return " Reply `cancel` to dismiss the question."
}

func messageHelp(q convert.Question, more bool) string {
	cancel := cancelHelp(q)
	switch {
	case len(q.Options) == 0:
		return "Reply with your answer." + cancel
	case q.OwnWords:
		return "Reply with your answer, or with one of the words above." + cancel
	case more && q.Closed:
		return "Reply with further numbers; they are added to what is picked. Reply `done` if that is all." + cancel
	case more:
		return "Reply with your own words, or with further numbers; they are added to what is picked. Reply `done` if that is all." + cancel
	case numbersClash(q):
		own := ", or with your own words"
		if q.Closed {
			own = ""
		}
		return "The labels look like numbers: reply with `#1` for the first option, and so on, or with a label in quotes" + own + "." + cancel
	case q.Closed && q.MultiSelect:
		return "Reply with one or more numbers (such as `1,3`) or labels." + cancel
	case q.Closed:
		return "Reply with a number or a label." + cancel
	case q.MultiSelect:
		return "Reply with one or more numbers (such as `1,3`), a label, or your own words." + cancel
	}
	return "Reply with a number, a label, or your own words." + cancel
}

// numbersClash reports whether the label of an option could be meant as the
// number of another.
func numbersClash(q convert.Question) bool {
	return slices.ContainsFunc(q.Options, func(o convert.Option) bool {
		return o.Label != "" && strings.Trim(o.Label, "0123456789") == "" && q.ReadReply(o.Label).Unclear != ""
	})
}
