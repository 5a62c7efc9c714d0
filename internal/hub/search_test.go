package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Page by page each record is seen once, also of those that ended at one moment.
// Notes are searched, too.
func TestPagesOfOneMoment(t *testing.T) {
	at := time.Unix(1000, 1)
	b := &Board{records: map[string]*Record{}}
	for _, key := range []string{"a", "b", "c", "d"} {
		b.records[key] = &Record{key: key, End: &End{Outcome: "answered", At: at, Answers: []convert.Answer{{Text: "x", Note: "the purple " + key}}}}
	}
	var seen []string
	for s, more := (Search{Limit: 1}), true; more; {
		var page []*Record
		var err error
		page, more, err = b.Search(s)
		require.NoError(t, err)
		require.Len(t, page, 1)
		seen, s.After = append(seen, page[0].key), page[0].Place()
	}
	require.Equal(t, []string{"d", "c", "b", "a"}, seen)
	require.Len(t, b.Settled("purple", 10), 4)
	require.Empty(t, b.Settled("purple green", 10))
}
