package redact

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestHideLine(t *testing.T) {
	s := Find([]string{"MY_TOKEN=abcdefgh12345", `OTHER_KEY=with "quotes" in it`, "ANTHROPIC_CUSTOM_HEADERS=x-key: 1234", "NUM_KEY=12345678", "HOME=/home/somebody", "SHORT_KEY=abc"})
	for line, want := range map[string]string{
		`{"text":"abcdefgh12345"}`:                           `{"text":"[redacted]"}`,
		`{"text":"\u0061bcdefgh12345, again abcdefgh12345"}`: `{"text":"[redacted], again [redacted]"}`,
		`{"abcdefgh12345":1}`:                                `{"[redacted]":1}`,
		`{"text":"with \"quotes\" in it"}`:                   `{"text":"[redacted]"}`,
		`{"text":"x-key: 1234"}`:                             `{"text":"[redacted]"}`,
		`{"n":12345678,"m":[-12345678.5]}`:                   `{"n":"[redacted]","m":["-[redacted].5"]}`,
		`{"n": 1.50, "home":"/home/somebody","abc":null}`:    `{"n": 1.50, "home":"/home/somebody","abc":null}`,
		`{"n":1e400,"text":"abcdefgh12345"}`:                 `{"n":1e400,"text":"[redacted]"}`,

		`{"mcpServers":[{"name":"x","env":[{"name":"K","value":"v"}],"headers":[{"name":"H","value":"w"}]}],"n":1}`: `{"mcpServers":[{"name":"x","env":[{"name":"K","value":"[redacted]"}],"headers":[{"name":"H","value":"[redacted]"}]}],"n":1}`,
		`{"env":{"K":"v","name":"v","deep":{"name":["v",1,true,null]}},"k":"v"}`:                                    `{"env":{"K":"[redacted]","name":"[redacted]","deep":{"name":["[redacted]","[redacted]","[redacted]",null]}},"k":"v"}`,
		`{"Headers":{"X":"v"},"\u0065nv":"v","ENV":7}`:                                                              `{"Headers":{"X":"[redacted]"},"env":"[redacted]","ENV":"[redacted]"}`,
		`{"settings":"{\"env\":{\"K\":\"v7v\"}}"}`:                                                                  `{"settings":"{\"env\":{\"K\":\"[redacted]\"}}"}`,
		`{"apiKey":"v","max_tokens":7,"password":["v"]}`:                                                            `{"apiKey":"[redacted]","max_tokens":7,"password":["[redacted]"]}`,
	} {
		got, err := s.HideLine([]byte(line))
		require.NoError(t, err, line)
		require.Equal(t, want, string(got))
	}
	for _, line := range []string{`{"a":"abcdef`, `not json: abcdefgh12345`, "", `{"env":{"K":"v"`} {
		require.Error(t, acptest.Err(s.HideLine([]byte(line))), "%q: what cannot be read is not passed on", line)
	}
}

// What an editor sends as secrets is hidden wherever it turns up later.
func TestLearn(t *testing.T) {
	var s Secrets
	s.Learn([]byte(`{"method":"session/new","params":{
		"mcpServers":[
			{"name":"one","command":"x","args":["--api-token","argument-secret","--key=flag-secret","plain-argument"],"env":[{"name":"PLAIN","value":"environment-secret"}]},
			{"name":"two","type":"http","url":"https://u:url-password@h/p?access=query-secret","headers":[{"name":"X","value":"Bearer header-secret"}]}],
		"_meta":{"claudeCode":{"options":{"\u0065nv":{"name":"meta-secret"},"settings":{"apiKeyHelper":"helper-secret"}}}}}}`))
	for _, v := range []string{"argument-secret", "flag-secret", "environment-secret", "url-password", "query-secret", "Bearer header-secret", "header-secret", "meta-secret", "helper-secret"} {
		require.Equal(t, "a "+Mark+" b", s.Hide("a "+v+" b"), v)
	}
	s.Learn([]byte(`{"method":"session/new","params":{"_meta":{"claudeCode":{"options":{"settings":" {\"env\":{\"PLAIN\":\"settings-secret\"},\"x\":{\"apiKey\":\"deep-secret\"}}"}}}}}`))
	for _, v := range []string{"settings-secret", "deep-secret"} {
		require.Equal(t, "a "+Mark+" b", s.Hide("a "+v+" b"), v)
	}
	for _, v := range []string{"plain-argument", "session/new", "PLAIN"} {
		require.Equal(t, v, s.Hide(v))
	}
	require.Equal(t, "it says "+Mark, s.Hide("it says environment-sec…"), "a text that was cut")
}

// A log holds no secret, in whatever attribute and however it is quoted.
func TestLogHidesSecrets(t *testing.T) {
	hide := Find([]string{"A_KEY=line\nbreak \"quoted\""})
	hide.Add("header-secret")
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&Writer{W: &out, Secrets: hide}, &slog.HandlerOptions{ReplaceAttr: hide.HideAttr}))
	log.Info("x header-secret", "text", "a line\nbreak \"quoted\" b", "err", errors.New("failed: header-secret"), slog.Group("g", "any", []string{"header-secret"}))
	require.NotContains(t, out.String(), "secret")
	require.NotContains(t, out.String(), "quoted")
	require.Equal(t, 4, strings.Count(out.String(), Mark), out.String())
	out.Reset()
	log.With("header-secret", 1).Info("a key")
	require.NotContains(t, out.String(), "header-secret")
}

// A line that is not read for secrets has none that would have been learned.
func FuzzMayTeach(f *testing.F) {
	for _, line := range []string{
		`{"method":"session/new","params":{"mcpServers":[{"env":[{"name":"K","value":"0123456789"}]}]}}`,
		`{"id":1,"result":{"outcome":{"outcome":"selected","optionId":"0"}}}`,
		`{"Passphrase":"0123456789"}`, `{"to\u212aen":"0123456789"}`, "{\"to\u212aen\":\"0123456789\"}", "{\"\u017fecret\":\"0123456789\"}",
		`{"MCPServers":{"x":{"what":"0123456789abcdefg","command":"a --b 0123456789abcdefg"}}}`, `{"mcp_servers":[{"x":"0123456789abcdefg"}]}`,
		`{"ARGS":["--x-api-key","0123456789"],"a":1}`, `{"URL":"http://a:0123456789@b/?c=0123456789"}`, `{"PASSWD":"0123456789"}`, `{"COOKIE":"0123456789"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var s Secrets
		if s.read(line); !teaching.mayBeIn(line) {
			require.Empty(t, s.all(), "%s", line)
		}
	})
}

func TestAnswersTeachNothing(t *testing.T) {
	require.False(t, teaching.mayBeIn([]byte(`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"2"}}}`)))
	require.True(t, teaching.mayBeIn([]byte(`{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"Api_Key":"x"}}}`)))
}

// A word counts to its last letter, also at the end of a line.
func TestBegins(t *testing.T) {
	for line, want := range map[string]bool{"": false, "toke": false, "token": true, "TOKEN=1": true, "taken": false} {
		require.Equal(t, want, begins([]byte(line), "token"), line)
	}
}

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
				out := acptest.Must(s.HideLine([]byte(line)))
				require.Equal(t, strings.Replace(form, "MEMBER", want, 1), string(out))
				if s.Learn([]byte(line)); len(secret) > leastLine && !strings.Contains(member, "%zz") && !strings.Contains(member, "-p") {
					require.Equal(t, "it said "+Mark+" there", s.Hide("it said "+secret+" there"), line)
				}
				out = acptest.Must(s.HideLine([]byte(line)))
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
