package editor

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a client declares decides. A row of the table, which stands against that, says
// from which run it is, or from which source.
func TestClientsSayWhereTheyAreFrom(t *testing.T) {
	from := regexp.MustCompile(`^(run .*2026-\d\d-\d\d|its source, 2026-\d\d; not run)$`)
	for _, c := range Clients() {
		require.Regexp(t, from, c.From, c.Editor)
		require.NotEmpty(t, c.Note, c.Editor)
	}
}
