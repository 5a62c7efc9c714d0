package ndjson

// Trace sees the lines of a wire, without their line ends. It must neither block
// nor keep or change the line, and may be called from two goroutines at once.
type Trace func(dir Direction, line []byte)

// Direction says which way a line went.
type Direction string

const (
	In  Direction = "in"
	Out Direction = "out"
)

// Tapping is a [Trace] of one wire of several.
type Tapping func(wire string, dir Direction, line []byte)

// Tap, if not nil, gives each connection that is made from then on a second trace, or
// nil for none. It is for tests, which set it before there is any.
var Tap func() Tapping

// Tapped is the trace of a wire together with the tap, if there is one.
func (t Trace) Tapped(wire string) Trace {
	if Tap == nil {
		return t
	}
	var all Tapping
	if t != nil {
		all = func(_ string, dir Direction, line []byte) { t(dir, line) }
	}
	if all = Tapped(all); all == nil {
		return nil
	}
	return func(dir Direction, line []byte) { all(wire, dir, line) }
}

// Tapped is a trace together with the tap, if there is one.
func Tapped(t Tapping) Tapping {
	if Tap == nil {
		return t
	}
	tap := Tap()
	switch {
	case tap == nil:
		return t
	case t == nil:
		return tap
	}
	return func(wire string, dir Direction, line []byte) {
		t(wire, dir, line)
		tap(wire, dir, line)
	}
}
