// Package lineask asks questions in lines: for screen readers, streams and
// trials. Whoever uses it brings the lines, and says what their end means. What the
// picker says alike is here, too.
package lineask

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// Asker asks questions one after the other.
type Asker struct {
	Out io.Writer
	// Next waits for the line that is typed behind a prompt, which is printed
	// already. An error ends the asking.
	Next func(prompt string) (string, error)
	// Before, if not nil, is called before a question is shown.
	Before func()
	// EmptyCancels makes an empty line a cancel, and asks no more about it.
	EmptyCancels bool
	// Verbatim shows the questions letter by letter: for what is approved.
	Verbatim bool

	index   int  // of the option picked last, -1 for none
	changes bool // the question was answered before
}

// Ask asks until all is answered. Its error is [convert.ErrCancelled] if the user
// says so, or that of Next.
func (a *Asker) Ask(questions []convert.Question) ([]convert.Answer, error) {
	a.index = -1
	answers := make([]convert.Answer, len(questions))
	for i := 0; i < len(questions); {
		answer, back, err := a.question(questions, answers, i)
		switch {
		case err != nil:
			return nil, err
		case back:
			i--
			a.changes = true
		default:
			answers[i] = answer
			i++
			a.changes = false
		}
	}
	return answers, nil
}

// Index is the position of the option that was picked last, -1 for none: several
// options may have one label.
func (a *Asker) Index() int { return a.index }

// question asks one question until it is answered, or the user goes back.
func (a *Asker) question(questions []convert.Question, answers []convert.Answer, i int) (answer convert.Answer, back bool, err error) {
	if a.Before != nil {
		a.Before()
	}
	q := questions[i]
	a.print(a.screen(questions, i))
	if a.changes {
		a.print("Your answer was: " + said(q, answers[i]) + "\n")
	}
	doubt := ""
	for {
		a.print("> ")
		text, err := a.Next("> ")
		if err != nil {
			return answer, false, err
		}
		text = strings.TrimSpace(text)
		meaning := q.ReadReply(text)
		say := ""
		switch {
		case a.EmptyCancels && text == "":
			return answer, false, convert.ErrCancelled
		case meaning.Cancel:
			say, err = a.hint(q, i), a.cancel(i)
		case i > 0 && len(meaning.Picks) == 0 && strings.EqualFold(text, backWord):
			return answer, true, nil
		case meaning.OffList != "" && text != doubt: // a slip of a finger would be an answer
			doubt = text
			say = fmt.Sprintf("%s is not on the list: its last number is %d. Type it again if that is your answer.", Told(meaning.OffList, Secret(q)), len(q.Options))
		default:
			answer, say, err = a.take(q, meaning, i)
		}
		if err != nil || say == "" {
			return answer, false, err
		}
		a.print(say + "\n")
	}
}

// backWord goes to the question before.
const backWord = "back"

// take makes what was said the answer, or says what is wrong with it.
func (a *Asker) take(q convert.Question, m convert.Meaning, i int) (answer convert.Answer, say string, err error) {
	if m.Other { // the words are on the next line
		text, err := a.read("Your answer: ")
		if err != nil {
			return answer, "", err
		}
		if m.Text = strings.TrimSpace(text); m.Text != "" {
			m.Unclear = ""
		}
	}
	if m.Unclear != "" {
		return answer, m.Unclear, nil
	}
	if n := utf8.RuneCountInString(m.Text); n > LongAnswer {
		reply, err := a.read(Long(n) + " ")
		if err != nil {
			return answer, "", err
		}
		if s := strings.ToLower(strings.TrimSpace(reply)); s != "" && !strings.HasPrefix(s, "y") {
			return answer, a.hint(q, i), nil
		}
	}
	if a.index = -1; len(m.Picks) == 1 {
		a.index = m.Picks[0]
	}
	answer = m.Answer(q)
	a.print(echo(q, answer))
	return answer, "", nil
}

// echo is what was understood, where the line does not say it itself.
func echo(q convert.Question, answer convert.Answer) string {
	switch {
	case len(q.Options) == 0:
		return ""
	case len(answer.Selected) == 0:
		return "Your own words: " + said(q, answer) + "\n"
	}
	return "Your answer: " + said(q, answer) + "\n"
}

func said(q convert.Question, answer convert.Answer) string {
	answer = ask.Kept(convert.Call{Questions: []convert.Question{q}}, []convert.Answer{answer})[0]
	return clean.Truncate(clean.Line(convert.Join(answer.Items())), 200)
}

// NotShown stands for what was typed where a question asks for a secret.
const NotShown = "(not shown)"

// Secret reports whether a question asks for something that nobody else may see.
func Secret(q convert.Question) bool {
	return ask.Kept(convert.Call{Questions: []convert.Question{q}}, []convert.Answer{{Text: "typed"}})[0].Text != "typed"
}

// Told is a line that was typed as a person may be told of it.
func Told(text string, secret bool) string {
	if text = clean.Line(text); secret && text != "" {
		return NotShown
	}
	return text
}

// cancel ends the asking, but asks before n answers are lost.
func (a *Asker) cancel(n int) error {
	if n > 0 && !a.EmptyCancels {
		reply, err := a.read(Discard(n) + " [y/N] ")
		if err == nil && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(reply)), "y") {
			return nil
		}
	}
	return convert.ErrCancelled
}

func (a *Asker) read(prompt string) (string, error) {
	a.print(prompt)
	return a.Next(prompt)
}

func (a *Asker) print(s string) { _, _ = io.WriteString(a.Out, s) }

// screen is a question in lines.
func (a *Asker) screen(questions []convert.Question, i int) string {
	q := questions[i]
	var b strings.Builder
	head := Head(questions, i)
	if n := len(questions); n > 1 {
		head = fmt.Sprintf("%s (question %d of %d)", head, i+1, n)
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, strings.Join(a.text(q), "\n"))
	for i, o := range q.Options {
		fmt.Fprintf(&b, "%d. %s", i+1, Label(o))
		d := clean.Line(o.Description)
		if !a.Verbatim {
			d = cells.MarkdownInline(cells.Bare, d)
		}
		if d != "" {
			fmt.Fprintf(&b, ": %s", d)
		}
		b.WriteByte('\n')
		if strings.TrimSpace(o.Preview) != "" {
			for _, l := range Paragraph(o.Preview) {
				fmt.Fprintf(&b, "   | %s\n", l)
			}
		}
	}
	return b.String() + a.hint(q, i) + "\n"
}

// text is the question itself, without the signs of Markdown.
func (a *Asker) text(q convert.Question) []string {
	lines := Paragraph(q.Text)
	if a.Verbatim {
		return lines
	}
	return cells.MarkdownLines(cells.Bare, lines)
}

// hint says how to answer: the words of [convert.Question.ReadReply].
func (a *Asker) hint(q convert.Question, i int) string {
	more := " Type cancel to cancel."
	if a.EmptyCancels {
		more = " An empty line cancels."
	}
	if i > 0 {
		more += " Type back for the previous question."
	}
	switch {
	case len(q.Options) == 0:
		return "Type your answer." + more
	case q.MultiSelect && q.Closed:
		return "Type numbers or labels, separated by commas." + more
	case q.Closed:
		return "Type a number or a label." + more
	case q.MultiSelect:
		return "Type numbers or labels separated by commas, other followed by your own words, or both." + more
	}
	return "Type a number, a label or your own words." + more
}
