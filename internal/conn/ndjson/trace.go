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
