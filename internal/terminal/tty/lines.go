package tty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// maxLine bounds a line of input.
const maxLine = 1 << 20

// ErrLineTooLong means that a line is longer than anybody types.
var ErrLineTooLong = fmt.Errorf("terminal: a line of more than %d bytes", maxLine)

// Lines reads a terminal, or a stream, line by line, and only as far as it is
// asked to. Its methods are for one goroutine.
type Lines struct {
	d       *Device
	ctx     context.Context
	in      *seen.Inlet
	r       cancelreader.CancelReader
	want    chan struct{} // asks for one line
	lines   chan line
	signals chan os.Signal
	done    sync.WaitGroup
}

// line is a line that was typed, or why there is none.
type line struct {
	text  string
	since time.Time // as that of a [Key]
	err   error
}

// Lines begins to read.
func (d *Device) Lines(ctx context.Context) (*Lines, error) {
	in := seen.NewInlet(d.in)
	r, err := d.watched(in)
	if err != nil { // a regular file cannot be waited for, and need not be
		r, err = cancelreader.NewReader(struct{ io.Reader }{in})
	}
	if err != nil {
		return nil, fmt.Errorf("terminal: reading lines: %w", err)
	}
	l := &Lines{d: d, ctx: ctx, in: in, r: r, want: make(chan struct{}), lines: make(chan line, 1), signals: make(chan os.Signal, 1)}
	signal.Notify(l.signals, ends...)
	l.done.Go(func() {
		for range l.want {
			in.Judged() // the reader waits before it reads
			text, err := readLine(r)
			l.lines <- line{text, in.Since(), err}
		}
	})
	return l, nil
}

// Watch makes sure that it is known of the next line whether the hands had rested.
func (l *Lines) Watch() { l.in.Watch(seen.Hands) }

// Next waits for a line, which was typed since then, or for the end of them, which is
// not nil then.
func (l *Lines) Next() (text string, since time.Time, ended *End, err error) {
	l.want <- struct{}{}
	var end End
	select {
	case in := <-l.lines:
		switch {
		case in.err == nil:
			return in.text, in.since, nil, nil
		case errors.Is(in.err, ErrLineTooLong):
			return "", since, nil, in.err
		case errors.Is(in.err, io.EOF) && l.d.alive(): // any other error is a hang-up on its way
			end = End{Typed: true}
		default:
			end = End{Gone: true, Reason: "the input ended before the question was answered"}
		}
	case s := <-l.signals:
		end = endBy(s)
	case <-l.ctx.Done():
		end = endOf(l.ctx, l.signals)
	}
	if end.Gone {
		outliveHangup()
	}
	return "", since, &end, nil
}

// Close ends the reading. What was not asked for is left to be read by others.
func (l *Lines) Close() {
	signal.Stop(l.signals)
	close(l.want)
	if l.r.Cancel() {
		l.done.Wait()
	}
	_ = l.r.Close()
}

// readLine reads byte by byte: what comes after the line belongs to the next
// reader of the terminal.
func readLine(r io.Reader) (string, error) {
	var text []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(text), "\r"), nil
		case n == 1:
			if text = append(text, b[0]); len(text) > maxLine {
				return "", ErrLineTooLong
			}
		case err != nil && len(text) > 0 && errors.Is(err, io.EOF):
			return string(text), nil
		case err != nil:
			return "", err
		}
	}
}
