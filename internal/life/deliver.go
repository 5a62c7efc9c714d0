package life

import (
	"errors"
	"fmt"
)

// Kept is an asking where its owner keeps it, as [Deliver] needs it.
type Kept interface {
	// Hold keeps everybody else from taking the reply until release is called.
	// The error says why it cannot be taken: [ErrNotYet], [ErrTaken] by another
	// who is using it now or has it, [ErrGone].
	Hold() (release func(), err error)
	// Keep makes an event last. It is called while the asking is held.
	Keep(Event) error
}

// ErrNotKept means that an agent has a reply, and that its owner could not keep
// that: it must not be handed over once more.
var ErrNotKept = errors.New("the answer was used, but that could not be kept")

// Deliver hands the reply of an asking over, and is the only way to do so: it
// calls use, while nobody else can take the reply. It is taken when use returned
// nil; after an error, which is returned, or a panic it is there as before. To
// look is not to take. That the agent has gone on is [Use], which the owner is
// told later.
func Deliver(k Kept, use func() error) error {
	release, err := k.Hold()
	if err != nil {
		return err
	}
	defer release()
	if err := use(); err != nil {
		return err
	}
	if err := k.Keep(Take); err != nil {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return nil
}
