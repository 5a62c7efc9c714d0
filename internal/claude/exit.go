package claude

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	stderrLines = 20  // of the CLI that an error shows
	stderrWidth = 500 // of an error that the CLI reported
)

var (
	// ErrExited means that the CLI's process is gone. Errors that say so hold
	// an *ExitError, or ErrClosed if the caller ended the process.
	ErrExited = errors.New("Claude Code is not running")
	// ErrClosed means that Close was called.
	ErrClosed = fmt.Errorf("claude: closed: %w", ErrExited)
	// ErrPanic means that a callback of [Options] panicked and the CLI was ended
	// for it. It is an ErrExited.
	ErrPanic = fmt.Errorf("%w: it was ended after a fault in acp-bridge", ErrExited)
)

// ExitError says how the CLI's process ended. Its text is made for a user.
type ExitError struct {
	// Code is the exit status, -1 if a signal ended the process.
	Code int
	// Signal names the signal that ended the process, for example "killed".
	Signal string
	// Stderr holds the last lines that the CLI wrote there, cleaned.
	Stderr []string
	// Errors are those of the last result that the CLI reported before it
	// ended, for example that there is no conversation to resume.
	Errors []string
}

func (e *ExitError) Error() string {
	var b strings.Builder
	switch {
	case e.Signal != "":
		fmt.Fprintf(&b, "Claude Code was ended by a signal (%s)", e.Signal)
	case e.Code == 0:
		b.WriteString("Claude Code ended")
	default:
		fmt.Fprintf(&b, "Claude Code exited with status %d", e.Code)
	}
	lines := e.Stderr
	for _, s := range e.Errors {
		if s = clean.Truncate(clean.Line(s), stderrWidth); s != "" && !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, s) }) {
			lines = append(lines[:len(lines):len(lines)], s)
		}
	}
	switch len(lines) {
	case 0:
	case 1:
		b.WriteString(": " + lines[0])
	default:
		b.WriteString(":\n" + strings.Join(lines, "\n"))
	}
	return b.String()
}

// Is makes errors.Is(err, ErrExited) true.
func (e *ExitError) Is(target error) bool { return target == ErrExited }
