package claude

import (
	"bytes"
	"fmt"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// defaultMaxLine is far above what the CLI writes (an image in a tool result is
// tens of MB) and keeps a runaway line from eating the machine.
const defaultMaxLine = 256 << 20

// encodeLine renders v as exactly one line. The CLI ends at the first line it
// cannot parse, so nothing doubtful may leave: U+2028 and U+2029 are escaped,
// which some readers take for line ends.
func encodeLine(v any) ([]byte, error) {
	line, err := clean.EncodeJSON(v)
	if err != nil {
		return nil, fmt.Errorf("claude: encode a message: %w", err)
	}
	if bytes.Contains(line, []byte("\u2028")) || bytes.Contains(line, []byte("\u2029")) {
		line = bytes.ReplaceAll(line, []byte("\u2028"), []byte(`\u2028`))
		line = bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`))
	}
	return append(line, '\n'), nil
}
