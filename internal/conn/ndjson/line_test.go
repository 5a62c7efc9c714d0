package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// all reads a stream to its end.
func all(t *testing.T, r *Reader) (lines []string) {
	t.Helper()
	for {
		text, err := r.Next()
		var over *TooLong
		switch {
		case errors.As(err, &over):
			lines = append(lines, "("+over.Error()+")")
			continue
		case err == nil || len(text) > 0:
			lines = append(lines, string(text))
		}
		if err != nil {
			require.Equal(t, io.EOF, err)
			return lines
		}
	}
}

func TestLinesOfAnyLength(t *testing.T) {
	long := strings.Repeat("x", 3*mostBuffer+17)
	over := strings.Repeat("y", 4*mostBuffer)
	r := NewReader(strings.NewReader("a\n\n"+long+"\r\n"+over+"\nlast"), len(long)+1)
	require.Equal(t, []string{"a", "", long, "(a line of 262144 bytes is over the limit of 196626)", "last"}, all(t, r))

	r = NewReader(strings.NewReader("a\n"+over), len(long))
	require.Equal(t, []string{"a", "(a line of 262144 bytes is over the limit of 196625)"}, all(t, r), "the stream ends in it")
}

// The error of a stream that ended within a line that was skipped is not lost,
// and the stream is not read again.
func TestErrorBehindALongLine(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 100)), failing{}), 10)
	_, err := r.Next()
	require.ErrorAs(t, err, new(*TooLong))
	for range 2 {
		_, err = r.Next()
		require.ErrorIs(t, err, io.ErrNoProgress)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func TestOffset(t *testing.T) {
	text := "a\r\n" + strings.Repeat("x", 2*mostBuffer) + "\n" + strings.Repeat("y", 3*mostBuffer) + "\nlast"
	r := NewReader(strings.NewReader(text), 2*mostBuffer)
	for _, first := range []byte("axyl") {
		_, err := r.Next()
		if first == 'y' {
			require.ErrorAs(t, err, new(*TooLong))
		}
		require.Equal(t, first, text[r.Offset()])
	}
}

func TestReady(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, "a\nb\nc")
	r := NewReader(in, 10)
	require.False(t, r.Ready())
	text, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "a", string(text))
	require.True(t, r.Ready())
	_, _ = r.Next()
	require.False(t, r.Ready(), "a part of a line is there")
}

func TestLongLineBufferIsNotKept(t *testing.T) {
	r := NewReader(strings.NewReader(strings.Repeat("x", 1<<20)+"\nshort\n"), 2<<20)
	text, err := r.Next()
	require.NoError(t, err)
	require.Len(t, text, 1<<20)
	text, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, "short", string(text))
	require.Nil(t, r.long)
}

// A stream that says little takes little, also after it has said much.
func TestBufferFitsTheStream(t *testing.T) {
	in := &chunked{data: []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000)), n: 1 << 20}
	r := NewReader(in, 1<<20)
	require.Len(t, r.buf, leastBuffer)
	for range 9_000 {
		_, err := r.Next()
		require.NoError(t, err)
	}
	require.Len(t, r.buf, mostBuffer)
	in.n = 100
	for range 1_000 {
		text, err := r.Next()
		require.NoError(t, err)
		require.Len(t, text, 99)
	}
	require.Len(t, r.buf, leastBuffer)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbc\n\nd"), 3, 100)
	f.Add([]byte("aaaaaaaa\nbc\r\n\nd"), 3, 4)
	f.Fuzz(func(t *testing.T, data []byte, chunk, limit int) {
		limit = max(1, limit%(3*mostBuffer))
		got := all(t, NewReader(&chunked{data: data, n: max(1, chunk%(2*mostBuffer))}, limit))
		var want []string
		for l := range bytes.Lines(data) {
			if l = bytes.TrimSuffix(l, []byte("\n")); len(l) > limit {
				want = append(want, "("+(&TooLong{Size: len(l), Limit: limit}).Error()+")")
			} else if l = bytes.TrimRight(l, "\r"); len(l) > 0 || bytes.HasSuffix(data, []byte("\n")) || len(want) < bytes.Count(data, []byte("\n")) {
				want = append(want, string(l))
			}
		}
		require.Equal(t, want, got)
	})
}

type chunked struct {
	data []byte
	n    int
}

func (c *chunked) Read(b []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.n)], c.data)
	c.data = c.data[n:]
	return n, nil
}

func TestSkim(t *testing.T) {
	paths := []string{"id", "method", "response.request_id"}
	for object, want := range map[string]Members{
		`{"id":1,"method":"m"}`:                                                        {"id": "1", "method": `"m"`},
		`{"method":"m","params":{"id":9,"x":"\"}"},"id":"five"}`:                       {"id": `"five"`, "method": `"m"`},
		`{"id":[5],"method":{"id":7}}`:                                                 {"id": "", "method": ""},
		`{"id":1,"id":2,"method":` + strings.Repeat("x", 300) + `}`:                    {"id": "2", "method": ""},
		`{"id":1,"id":[2]}`:                                                            {"id": ""},
		`{"response":{"x":{"request_id":1},"request_id":"r","y":[]},"request_id":"s"}`: {"response.request_id": `"r"`},
		`{"response":[{"request_id":"r"}]}`:                                            nil,
		`[{"id":1}]`:                                                                   nil,
		`{"id":1,"params":` + strings.Repeat("[", 100_000):                             {"id": "1"},
		`{"id":1,"method":"m","params":{"cut`:                                          {"id": "1", "method": `"m"`},
		`{"id":1`:                                                                      {"id": ""}, // it may go on
		`{id:1,"method":"m"} tail`:                                                     {"method": `"m"`},
		`}}]{"id":1}`:                                                                  nil,
		``:                                                                             nil,
	} {
		require.Equal(t, want, Skim([]byte(object), paths...), object[:min(len(object), 80)])
	}
}

// However an object is cut into pieces, it skims the same, and as a decoder reads
// it.
func FuzzSkim(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{"id":2}}`), 5)
	f.Add([]byte(`{"a":"\"id\":3","result":[{"id":4}],"id":"x"}`), 20)
	f.Add([]byte(`{"a":{"id":3,"b":[{"id":4}]},"a":1,"id":{"id":5}}`), 20)
	f.Add([]byte("{\"id\"\n\n:1,\"method\":\n\"m\"}"), 5)
	f.Fuzz(func(t *testing.T, object []byte, at int) {
		at = min(max(at, 0), len(object))
		pieces := skimmer{paths: []string{"id", "a.id"}}
		pieces.feed(object[:at])
		pieces.feed(object[at:])
		whole := Skim(object, "id", "a.id")
		require.Equal(t, whole, pieces.found)

		// A decoder reads escaped keys, and takes keys of any case.
		var m map[string]json.RawMessage
		if json.Unmarshal(object, &m) != nil || bytes.ContainsRune(object, '\\') {
			return
		}
		switch id := m["id"]; {
		case len(id) == 0 || len(id) > skimToken || bytes.ContainsAny(id, " \t\r\n"):
		case id[0] == '{' || id[0] == '[':
			require.True(t, whole.Has("id"))
			require.Empty(t, whole["id"])
		default:
			require.Equal(t, string(id), whole["id"])
		}
	})
}
