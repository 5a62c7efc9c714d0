package conn

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion1(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"version 1 as it is":   {`{ "protocolVersion":1,"capabilities":{"elicitation":{"form":{}}} }`, ``},
		"no version":           {`{"clientCapabilities":{}}`, ``},
		"nonsense":             {`{"protocolVersion":"2"}`, ``},
		"nothing":              {``, ``},
		"version 2":            {`{"protocolVersion":2,"info":{"name":"e","version":"1"},"capabilities":{"elicitation":{"form":{}},"auth":{"terminal":{}},"_meta":{"a":1}},"_meta":{"b":2}}`, `{"protocolVersion":1,"clientInfo":{"name":"e","version":"1"},"clientCapabilities":{"elicitation":{"form":{}},"auth":{"terminal":true},"_meta":{"a":1},"session":{"configOptions":{"boolean":{}}},"plan":{}},"_meta":{"b":2}}`},
		"a later one, bare":    {`{"protocolVersion":7}`, `{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"what does not fit":    {`{"protocolVersion":2,"info":"e","capabilities":{"elicitation":true,"auth":{"terminal":true}}}`, `{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"both places":          {`{"protocolVersion":2,"clientInfo":{"name":"old"},"info":{"name":"new"},"capabilities":{"elicitation":{"form":{}}},"clientCapabilities":{"elicitation":{"url":{}},"terminal":true}}`, `{"protocolVersion":1,"clientInfo":{"name":"old"},"clientCapabilities":{"elicitation":{"url":{}},"terminal":true,"session":{"configOptions":{"boolean":{}}},"plan":{}}}`},
		"not JSON all the way": {`{"protocolVersion":2,"info":{"name":}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := Version1(json.RawMessage(c.said))
			if c.want == "" {
				require.Equal(t, c.said, string(got))
				return
			}
			require.JSONEq(t, c.want, string(got))
		})
	}
}
