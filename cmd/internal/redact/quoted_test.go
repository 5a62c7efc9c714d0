package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// Arguments of MCP servers that hold a secret, and the secret.
func TestArgumentSecrets(t *testing.T) {
	for _, args := range [][]string{
		{"--header", "Authorization: Bearer SECRET"},
		{"--header=Authorization: Bearer SECRET"},
		{"--header", "Authorization:SECRET"},
		{"--header", "X-Plain: SECRET"},
		{"-H", "X-Api-Key: SECRET"},
		{"-HX-Api-Key: SECRET"},
		{"X-Api-Key: SECRET"},
		{"--auth", "SECRET"},
		{"--auth=SECRET"},
		{"--basic-auth", "SECRET"},
		{"--db-pass", "SECRET"},
		{"--pat", "SECRET"},
		{"--api-key", "SECRET"},
		{"-e", "PLAIN=SECRET"},
		{"API_KEY=SECRET"},
		{"--dsn", "Server=localhost;User=me;Password=SECRET;Encrypt=true"},
		{"postgres://user:SECRET@localhost/db"},
		{"postgres://us%er:SECRET@localhost/db"},
		{"--database-url=postgres://user:SECRET@localhost/db"},
		{"-c", "npx mcp-remote http://localhost --header 'Authorization: Bearer SECRET' --verbose"},
		{"-c", "exec x --token SECRET"},
	} {
		for _, secret := range []string{"sk-0123456789", "a1b2"} {
			line := strings.ReplaceAll(string(clean.JSON(map[string]any{"args": append([]string{"mcp-remote"}, args...)})), "SECRET", secret)
			var s Secrets
			out, err := s.HideLine([]byte(line))
			require.NoError(t, err, line)
			require.NotContains(t, string(out), secret, "its own place")
			if len(secret) >= leastSecret {
				s.Learn([]byte(line))
				require.NotContains(t, s.Hide("it said "+secret), secret, line)
			}
		}
	}
	var s Secrets
	plain := `{"args":["-y","mcp-remote","http://localhost:1234/path","--author","somebody-else","--path","/home/somebody","--env-file","settings","C:\\programs\\it"]}`
	s.Learn([]byte(plain))
	require.Empty(t, s.all())
	require.Equal(t, plain, string(acptest.Must(s.HideLine([]byte(plain)))))
}

// A value is recognised in what a program makes of it when it prints it.
func TestRecognisable(t *testing.T) {
	const line1, line2 = "MIIEvQIBADANBgkqhkiG9w0BAQEF", "AASCBKcwggSjAgEAAoIBAQC7VJTUt"
	pem := "-----BEGIN PRIVATE KEY-----\n" + line1 + "\r\n" + line2 + "\n-----END PRIVATE KEY-----\n"
	account := string(clean.JSON(map[string]string{"type": "service_account", "private_key": pem, "client_secret": "hidden-secret"}))
	for _, c := range []struct{ value, printed, want string }{
		{"trailing-secret\n", "cannot use trailing-secret here", "cannot use [redacted] here"},
		{"\t leading-secret", "leading-secret", "[redacted]"},
		{`"in-quotes"`, "in-quotes", "[redacted]"},
		{pem, line1, "[redacted]"},
		{pem, "bad line " + line2 + "!", "bad line [redacted]!"},
		{pem, "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"},
		{account, line2, "[redacted]"},
		{account, "it is hidden-secret", "it is [redacted]"},
		{account, "service_account", "service_account"},
		{"a\nb\nshort line\n", "a short line", "a short line"},
		{"cut-off-secret", "error: cut-off-s… (2 more)", "error: [redacted] (2 more)"},
		{"cut-\"off\"-secret", `{"m":"cut-\"off\"-s…"}`, `{"m":"[redacted]"}`},
	} {
		require.Equal(t, c.want, Find([]string{"MY_KEY=" + c.value}).Hide(c.printed), "%q", c.value)
	}
}

// A secret is found however often it was quoted, and by whom.
func TestQuotedSecrets(t *testing.T) {
	const secret = "{\"private\":\"a\\b é😀\n<x>\"}"
	s := Find([]string{"CREDENTIALS=" + secret})
	encoders := map[string]func(string) string{
		"ours": func(v string) string { return string(clean.JSON(v)) },
		"json": func(v string) string { b, _ := json.Marshal(v); return string(b) },
		"go":   strconv.Quote,
		"asci": strconv.QuoteToASCII,
	}
	for name, encode := range encoders {
		text := "cannot use " + secret + " here"
		for n := range 5 {
			require.NotContains(t, s.Hide(text), "private", "%s, %d times", name, n)
			require.Contains(t, s.Hide(text), "cannot use [redacted] here")
			require.True(t, s.Holds([]byte(text)))
			text = encode(text)
		}
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&Writer{&out, s}, &slog.HandlerOptions{ReplaceAttr: s.HideAttr}))
	log.Warn("failed", "err", fmt.Errorf("it said %q", errors.New(string(clean.JSON(secret)))))
	require.Contains(t, out.String(), "it said")
	require.NotContains(t, out.String(), "private")
}

// Whatever the secret, and whatever is around it: quoted some times it is not in
// what is left, and a text without it stays as it is.
func FuzzQuotedSecrets(f *testing.F) {
	f.Add("{\"private\":\"x\"}", "before ", " after", uint8(2))
	f.Add("a\\nb\\\\c\nd", "\\", "\\", uint8(3))
	f.Add("\\u0041\\u005cu0041", "\\u00", "…", uint8(1))
	f.Fuzz(func(t *testing.T, secret, before, after string, times uint8) {
		if !utf8.ValidString(before) || !utf8.ValidString(secret) || !utf8.ValidString(after) {
			t.Skip("a program that prints such bytes, and we, need not agree on what they are")
		}
		s := Find([]string{"A_KEY=" + secret})
		text := before + secret + after
		for range times % 5 {
			text = string(clean.JSON(text))
		}
		hidden := s.Hide(text)
		if len(s.all()) == 0 {
			require.Equal(t, text, hidden)
			return
		}
		require.True(t, s.Holds([]byte(text)), "%q in %q", s.all(), text)
		for _, v := range s.all() {
			if !strings.Contains(Mark, v) && !strings.Contains(before+after, Mark) {
				require.Contains(t, hidden, Mark)
			}
		}
	})
}

// What is written into a field of a form that takes a secret is hidden on both
// wires, however short, and whatever the field's key.
func TestSecretFormFields(t *testing.T) {
	const (
		byTitle   = `{"id":1,"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"x":{"type":"string","title":"API key"},"y":{"type":"string"}}}}}`
		byMessage = `{"id":1,"method":"elicitation/create","params":{"mode":"form","message":"Enter your API key","requestedSchema":{"type":"object","properties":{"x":{"type":"string"},"file":{"type":"string"}}}}}`
		byCLI     = `{"type":"control_request","request":{"message":"Was ist dein Passwort?","requested_schema":{"type":"object","properties":{"x":{"type":"string"}}}}}`
		plain     = `{"id":1,"method":"elicitation/create","params":{"mode":"form","message":"Enter a word","requestedSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}}}`
	)
	for _, c := range [][]string{
		{"hunter2-hunter2", byTitle}, {"1234", byTitle, byTitle}, {"hunter2-hunter2", byCLI},
		{"hunter2-hunter2", byMessage}, {"1234", plain, plain, byMessage, byMessage, plain},
	} {
		secret := c[0]
		var s Secrets
		for _, form := range c[1:] {
			s.LearnForm([]byte(form))
		}
		reply := `{"id":1,"result":{"action":"accept","content":{"x":"` + secret + `","y":"plain-answer"}}}`
		s.Learn([]byte(reply))
		for _, line := range []string{reply, `{"type":"control_response","response":{"response":{"action":"accept","content":{"x":"` + secret + `","y":"plain-answer"}}}}`} {
			out := acptest.Must(s.HideLine([]byte(line)))
			require.Equal(t, strings.Replace(line, secret, Mark, 1), string(out))
		}
		if len(secret) >= leastSecret {
			require.Equal(t, "it is [redacted]", s.Hide("it is "+secret))
		}
	}
}
