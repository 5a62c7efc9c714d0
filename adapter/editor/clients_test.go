package editor

import (
	"encoding/json"
	"regexp"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// A row of the table says from which run it is, of which version and when; or from
// which source, of which version and when, if it was not run.
func TestClientsSayWhereTheyAreFrom(t *testing.T) {
	from := regexp.MustCompile(`^(run .*\b[0-9a-f]*[0-9][0-9a-f.]+.*, 2026-\d\d-\d\d|.*\bsource\b.*, \d+\.\d+\.\d.*, 2026-\d\d-\d\d; not run)$`)
	for _, c := range Clients() {
		require.Regexp(t, from, c.From, c.Editor)
		require.NotEmpty(t, c.Note, c.Editor)
	}
	for _, bad := range []string{"run 2026-11-16", "its source, 2026-08-22; not run", "its source, 1.18.0, 2026-08; not run", "its source, 1.18.0, 2026-08-22"} {
		require.NotRegexp(t, from, bad)
	}
}

// What a client declares decides over the table: forms are used, and one that knows
// our _meta is asked by requests.
func TestWhatAClientDeclaresDecides(t *testing.T) {
	for _, c := range append(Clients(), Client{Editor: "unknown"}) {
		for caps, want := range map[string]adapter.Rung{
			`{"elicitation":{"form":{}}}`: adapter.Form, `{"_meta":{"askUserQuestion":true}}`: adapter.Permission,
			`{"elicitation":{"form":{}},"_meta":{"askUserQuestion":true}}`: adapter.Form,
			`{"elicitation":{}}`: max(c.First(), adapter.Permission), `{"elicitation":{"form":null},"_meta":{"askUserQuestion":false}}`: max(c.First(), adapter.Permission),
		} {
			var r acp.InitializeRequest
			require.NoError(t, json.Unmarshal([]byte(`{"protocolVersion":1,"clientCapabilities":`+caps+`}`), &r))
			o, _ := Options{}.Ask(r, c)
			require.Equal(t, want, firstRung(&o), "%s: %s", c.Editor, caps)
		}
	}
}

// One that says nothing but whose it is, is known by that.
func TestKnownByWhatItDeclares(t *testing.T) {
	for caps, want := range map[string]ask.TitleStyle{
		`{"_meta":{"jetbrains":{"air":{}}}}`: ask.TitleHeaderAndQuestion, `{"_meta":{"jetbrains":true}}`: 0, `{"_meta":{"":{}}}`: 0, `{}`: 0,
	} {
		var r acp.InitializeRequest
		require.NoError(t, json.Unmarshal([]byte(`{"protocolVersion":1,"clientInfo":{"name":"x","version":"1"},"clientCapabilities":`+caps+`}`), &r))
		o, _ := Options{}.Ask(r, Client{})
		require.Equal(t, want, o.Title, caps)
	}
}

// One without a name may be made after the examples of the SDKs, which show the title of a
// request and nothing else of it.
func TestNamelessSeesTheQuestion(t *testing.T) {
	for who, want := range map[string]ask.TitleStyle{
		`"clientCapabilities":{}`: ask.TitleHeaderAndQuestion,
		`"clientInfo":{"name":"","version":""},"clientCapabilities":{}`:   ask.TitleHeaderAndQuestion,
		`"clientInfo":{"name":"x","version":"1"},"clientCapabilities":{}`: ask.TitleHeader,
		`"clientCapabilities":{"_meta":{"askUserQuestion":true}}`:         ask.TitleHeader,
	} {
		var r acp.InitializeRequest
		require.NoError(t, json.Unmarshal([]byte(`{"protocolVersion":1,`+who+`}`), &r))
		known, _ := Known(r.ClientInfo, nil)
		o, _ := Options{}.Ask(r, known)
		require.Equal(t, want, o.Title, who)
	}
}

// A client that nobody has tried is not taken for another one.
func TestUnknownClient(t *testing.T) {
	for _, prompt := range [][]acp.ContentBlock{nil, {acp.TextBlock("hello")}} {
		_, known := Known(&acp.Implementation{Name: "never heard of", Version: "1"}, prompt)
		require.False(t, known)
		_, known = Known(nil, prompt)
		require.False(t, known)
	}
}

// Who tells their users of what they do not know is not asked behind a question; nor is
// one without a name before its first prompt, which may tell that it is such a one.
func TestLoudClients(t *testing.T) {
	hello := []acp.ContentBlock{acp.TextBlock("hello")}
	for name, loud := range map[string]bool{"": true, "acpx": true, "agent-shell": true, "vscode-acp-client": true, "Agentic.nvim": true, "zed": false, "x": false} {
		known, _ := Known(&acp.Implementation{Name: name}, nil)
		require.Equal(t, loud, known.Loud, name)
		require.Equal(t, name == "", known.Tells(hello), name)
		known, _ = Known(&acp.Implementation{Name: name}, hello)
		require.Equal(t, loud && name != "", known.Loud, name)
		require.False(t, known.Tells(hello), name)
	}
	avante, _ := Known(nil, []acp.ContentBlock{acp.TextBlock("<previous_user_message>hello</previous_user_message>")})
	require.True(t, avante.Loud)
}

func TestMain(m *testing.M) { leaktest.Main(m) }
