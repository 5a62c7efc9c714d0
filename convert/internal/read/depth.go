package read

import "github.com/acp-bridge/acp-bridge/display/clean"

// maxDepth leaves room for what is put around an input: encoders stop at 10,000.
const maxDepth = 1000

// MaxQuestions and MaxOptions are how many a person can be asked, and can pick from, where
// nobody says less.
const MaxQuestions, MaxOptions = 100, 1000

// DepthLimit says what [TooDeep] allows.
const DepthLimit = "at most 1000 levels"

// TooDeep reports whether JSON nests deeper than a request or a result that holds
// it can be encoded, with room to spare.
func TooDeep(data []byte) bool { return len(data) > maxDepth && clean.Depth(data) > maxDepth }

// Usable reports whether data can be put into a request or a result.
func Usable(data []byte) bool { return len(data) > 0 && clean.ValidJSON(data) && !TooDeep(data) }
