package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The path of acp-bridge may hold anything, and the settings are to be pasted
// as they are.
func TestEditorSettingsQuoteThePath(t *testing.T) {
	for _, e := range editors {
		require.Contains(t, e.with("/bin/acp-bridge"), "/bin/acp-bridge", e.name)
		odd := e.with(`C:\my "tools"\it's acp-bridge.exe`)
		if e.name == "acpx" {
			require.Contains(t, odd, `'C:\my "tools"\it'\''s acp-bridge.exe'`)
			require.Contains(t, e.with("/bin/acp-bridge"), " /bin/acp-bridge ")
		} else {
			require.Contains(t, odd, `"C:\\my \"tools\"\\it's acp-bridge.exe"`, e.name)
		}
		require.False(t, strings.Contains(odd, "COMMAND"), e.name)
	}
}
