//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The bound is for what never comes. What was written is read, however late.
func TestReadsWhatIsInThePipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	text := strings.Repeat("last words\n", 3000)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, r.SetReadDeadline(time.Unix(1, 0)), "the machine stood still meanwhile")
	got, err := io.ReadAll(&Output{file: r})
	require.True(t, errors.Is(err, os.ErrDeadlineExceeded), "and a pipe that stays open holds nothing up")
	require.Equal(t, text, string(got))
}
