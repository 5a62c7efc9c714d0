//go:build race

package picker_test

// slower is what the race detector takes: times are not those of a release.
const slower = 6
