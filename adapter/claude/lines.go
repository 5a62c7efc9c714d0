package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"encoding/json"
)

const (
	readBuffer = 16 << 10
	// defaultMaxLine is far above what the CLI writes (an image in a tool
	// result is tens of MB) and keeps a runaway line from eating the machine.
	defaultMaxLine = 256 << 20
)

// errLineTooLong is returned once for a line over the limit; the line is
// skipped and reading goes on with the next one.
var errLineTooLong = errors.New("line over the limit")

// lineReader cuts a stream into lines of any length. Each line is a fresh
// slice, so a long one does not leave a long buffer behind.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: limit}
}

// ready reports whether a whole line is there without waiting.
func (l *lineReader) ready() bool {
	there, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(there, '\n') >= 0
}

// next returns a line without its newline. The last line may lack one.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > l.max {
			return nil, l.skip(err)
		}
		line = append(line, part...)
		switch {
		case err == nil, err == io.EOF && len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, err
		}
	}
}

func (l *lineReader) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil && err != io.EOF {
		return err
	}
	return errLineTooLong
}

// encodeLine renders v as exactly one line. The CLI ends at the first line it
// cannot parse, so nothing doubtful may leave: U+2028 and U+2029 are escaped
// (some readers take them for line ends) and invalid UTF-8 is replaced.
func encodeLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("claude: encode a message: %w", err)
	}
	line := buf.Bytes()
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	if bytes.Contains(line, []byte("\u2028")) || bytes.Contains(line, []byte("\u2029")) {
		line = bytes.ReplaceAll(line, []byte("\u2028"), []byte(`\u2028`))
		line = bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`))
	}
	if i := bytes.IndexAny(line, "\r\n"); i != len(line)-1 {
		return nil, errors.New("claude: encode a message: a line break inside the line")
	}
	return line, nil
}
