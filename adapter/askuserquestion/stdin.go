package askuserquestion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// StdinResolver asks on Out and reads the answers from In, a line for each
// question: a number, numbers apart by commas for a multi-select question, or
// the word other and a text, and whatever else [convert.ReadReply] takes. An
// empty line cancels. It reads no further than the last answer; when ctx ends,
// a line that is awaited then is lost.
//
// It is for examples and trials. Package adapter/terminal draws a picker.
type StdinResolver struct {
	In  io.Reader
	Out io.Writer
}

// Ask implements [Resolver].
func (s StdinResolver) Ask(ctx context.Context, req Request) ([]Answer, error) {
	var answers []Answer
	for _, q := range callOf(req.ToolCallID, req.Questions).Questions {
		fmt.Fprintf(s.Out, "%s\nAn empty line cancels.\n> ", ask.Message(q, nil))
		a, err := s.answer(ctx, q)
		if err != nil {
			return nil, err
		}
		answers = append(answers, Answer{Question: q.Text, Selected: a.Selected, Other: a.Text})
	}
	return answers, nil
}

// answer reads lines until one of them is an answer.
func (s StdinResolver) answer(ctx context.Context, q convert.Question) (convert.Answer, error) {
	for {
		line, err := s.line(ctx)
		if err != nil {
			return convert.Answer{}, err
		}
		said := convert.ReadReply(q, line)
		switch {
		case said.Cancel || strings.TrimSpace(line) == "":
			return convert.Answer{}, ErrResolverCancelled
		case said.Unclear == "":
			return said.Answer(q), nil
		}
		fmt.Fprintf(s.Out, "%s\n> ", said.Unclear)
	}
}

// line waits for a line. The end of the input is an empty one.
func (s StdinResolver) line(ctx context.Context) (line string, err error) {
	read := make(chan struct{})
	var text string
	var failed error
	go func() {
		defer close(read)
		text, failed = readLine(s.In)
	}()
	select {
	case <-read:
		if errors.Is(failed, io.EOF) {
			failed = nil
		}
		return text, failed
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine reads up to the end of a line and no further.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		line = append(line, one[:n]...)
		if err != nil || n == 1 && one[0] == '\n' {
			return string(line), err
		}
	}
}
