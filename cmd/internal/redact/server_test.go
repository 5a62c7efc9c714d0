package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the configuration of an MCP server nothing is shown but its shape, wherever a
// key stands in it and whatever its place is called; and a key is not shown
// elsewhere either.
func TestServerConfiguration(t *testing.T) {
	for member, want := range map[string]string{
		`"url":"https://h.example/SECRET/mcp"`:                           `"url":"https://h.example/[redacted]"`,
		`"url":"https://h.example:8443/v1/s/SECRET/"`:                    `"url":"https://h.example:8443/[redacted]"`,
		`"url":"https://SECRET@h.example/mcp"`:                           `"url":"https://h.example/[redacted]"`,
		`"url":"https://SECRET:x@h.example"`:                             `"url":"https://h.example/[redacted]"`,
		`"url":"https://h.example/mcp#SECRET"`:                           `"url":"https://h.example/[redacted]"`,
		`"url":"https://h.example/mcp#access=SECRET"`:                    `"url":"https://h.example/[redacted]"`,
		`"url":"https://h.example/mcp?x=SECRET"`:                         `"url":"https://h.example/[redacted]"`,
		`"url":"https://%zz/SECRET"`:                                     `"url":"[redacted]"`,
		`"url":"http://127.0.0.1:4711/SECRET","headers":[]`:              `"url":"http://127.0.0.1:4711/[redacted]","headers":[]`,
		`"command":"sh -c 'KEY=SECRET exec server'"`:                     `"command":"sh [redacted]"`,
		`"command":"KEY=SECRET server"`:                                  `"command":"[redacted]"`,
		`"command":"npx server --api-key SECRET"`:                        `"command":"npx [redacted]"`,
		`"command":"/usr/bin/server","args":["-y","--verbose","SECRET"]`: `"command":"/usr/bin/server","args":["-y","--verbose","[redacted]"]`,
		`"args":["--dsn","Server=db;User=me;Pwd=SECRET;"]`:               `"args":["--dsn","[redacted]"]`,
		`"args":["--dsn=Server=db;Pwd=SECRET;Encrypt=yes"]`:              `"args":["--dsn=[redacted]"]`,
		`"args":["-pSECRET"]`:                                            `"args":["[redacted]"]`,
		`"env":[{"name":"PLAIN","value":"SECRET"}]`:                      `"env":[{"name":"PLAIN","value":"[redacted]"}]`,
		`"brandNew":{"deep":["SECRET",7,true,null]}`:                     `"brandNew":{"deep":["[redacted]","[redacted]",true,null]}`,
	} {
		for _, form := range []string{`{"method":"session/new","params":{"cwd":"/home/me","mcpServers":[{"name":"n","type":"http",MEMBER}]}}`, `{"_meta":{"options":{"mcpServers":{"n":{"type":"stdio",MEMBER}}}},"x":"plain"}`} {
			for _, secret := range []string{"ab12", "f3a9c1d8e7b64250aa17", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
				line := strings.ReplaceAll(strings.Replace(form, "MEMBER", member, 1), "SECRET", secret)
				var s Secrets
				out, err := s.HideLine([]byte(line))
				require.NoError(t, err)
				require.Equal(t, strings.Replace(form, "MEMBER", want, 1), string(out))
				if s.Learn([]byte(line)); len(secret) > leastLine && !strings.Contains(member, "%zz") && !strings.Contains(member, "-p") {
					require.Equal(t, "it said "+Mark+" there", s.Hide("it said "+secret+" there"), line)
				}
				out, err = s.HideLine([]byte(line))
				require.NoError(t, err)
				require.NotContains(t, string(out), secret)
			}
		}
	}
}

// Ordinary words of a configuration stay ordinary words elsewhere.
func TestServerTeachesNoWords(t *testing.T) {
	var s Secrets
	s.Learn([]byte(`{"mcpServers":[{"name":"files","type":"stdio","command":"/usr/bin/node","args":["-y","mcp-remote","https://user@localhost:1234/server/stream","--path","/home/somebody"],"cwd":"/home/somebody","status":"connected"}]}`))
	require.Empty(t, s.all())
	out, err := s.HideLine([]byte(`{"mcpServers":[{"name":"files","type":"stdio","command":"/usr/bin/node","args":[],"url":"https://h/"}],"mcp_servers":[{"name":"n","status":"connected"}]}`))
	require.NoError(t, err)
	require.NotContains(t, string(out), Mark)
}
