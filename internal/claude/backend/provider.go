package backend

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// Providers: an editor names another address that speaks for the model, a draft of
// ACP. Claude Code takes one from its environment when it starts, so that it counts
// for the sessions that are opened from then on. Like the same variables in _meta it
// counts only with [Options.TrustEditor]: who has the address reads all that is said,
// and says what the model wants to do.

const (
	methodProviders       = "providers/list"
	methodSetProvider     = "providers/set"
	methodDisableProvider = "providers/disable"
)

// mainProvider is the only one that Claude Code has.
const mainProvider = "main"

// anthropicAPI is the protocol that it can be told to speak there. Of Bedrock and
// Vertex, Claude Code finds the user's own credentials, which are not for others.
const anthropicAPI = "anthropic"

// provider is where Claude Code finds its model.
type provider struct{ url, headers string }

// noKey stands where Claude Code wants a key of its own. The user's keys and login are
// for the user's own provider; what the editor's takes is in the headers.
const noKey = "acp-bridge"

// env are the variables that send Claude Code there, and nothing of the user's along.
func (p *provider) env() map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": p.url, "ANTHROPIC_CUSTOM_HEADERS": p.headers, "ANTHROPIC_AUTH_TOKEN": noKey,
		"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "",
		"CLAUDE_CODE_USE_BEDROCK": "0", "CLAUDE_CODE_USE_VERTEX": "0", "CLAUDE_CODE_USE_FOUNDRY": "0",
	}
}

// in puts the variables behind an environment.
func (p *provider) in(env []string) []string {
	if p == nil {
		return env
	}
	for name, value := range p.env() {
		env = append(env, name+"="+value)
	}
	return env
}

// settings are settings with the variables in them. Those of the user's own settings
// would count more than the environment.
func (p *provider) settings(given json.RawMessage) (json.RawMessage, error) {
	if p == nil {
		return given, nil
	}
	all := object{}
	if given != nil {
		if err := json.Unmarshal(given, &all); err != nil {
			return nil, conn.Invalid("settings: expected an object: %s", err)
		}
	}
	env, _ := all["env"].(object)
	all["env"] = merged(object{}, env)
	for name, value := range p.env() {
		all["env"].(object)[name] = value
	}
	all["apiKeyHelper"] = "" // it would be asked for the user's key all the same
	return json.Marshal(all)
}

// providers answers what is asked about them.
func (a *backend) providers(method string, params json.RawMessage) (any, error) {
	if !a.trusts() {
		return nil, conn.Invalid("%s: where Claude Code finds its model is the user's to say; an editor may with --trust-editor", method)
	}
	id := gjson.GetBytes(params, "providerId").String()
	switch {
	case method == methodProviders:
		return object{"providers": []any{a.currentProvider()}}, nil
	case method == methodDisableProvider:
		if id == mainProvider { // others are not there, which is as asked
			a.provider.Store(nil)
		}
		return object{}, nil
	case id != mainProvider:
		return nil, conn.Invalid("unknown provider %q: expected %s", id, mainProvider)
	}
	p, err := readProvider(gjson.ParseBytes(params))
	if err != nil {
		return nil, err
	}
	a.provider.Store(p)
	return object{}, nil
}

// currentProvider is the provider of the sessions that are opened next. What the user
// has, and is not spoken here, is not told.
func (a *backend) currentProvider() object {
	address := cmp.Or(a.environ(nil)("ANTHROPIC_BASE_URL"), "https://api.anthropic.com")
	if p := a.provider.Load(); p != nil {
		address = p.url
	}
	return object{
		"providerId": mainProvider, "supported": []string{anthropicAPI}, "required": false,
		"current": object{"apiType": anthropicAPI, "baseUrl": bare(address)},
	}
}

// bare is an address without what may be secret in it.
func bare(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func readProvider(r gjson.Result) (*provider, error) {
	if api := r.Get("apiType").String(); api != anthropicAPI {
		return nil, conn.Invalid("apiType: expected anthropic, got %q", api)
	}
	p := &provider{url: r.Get("baseUrl").String()}
	if u, err := url.Parse(p.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, conn.Invalid("baseUrl: expected an address that begins with http:// or https://")
	}
	var lines []string
	for name, value := range r.Get("headers").Map() {
		if value.Type != gjson.String || name == "" || strings.ContainsAny(name, "\r\n:\x00") || strings.ContainsAny(value.Str, "\r\n\x00") {
			return nil, conn.Invalid("headers: expected texts of one line")
		}
		lines = append(lines, name+": "+value.Str)
	}
	slices.Sort(lines)
	p.headers = strings.Join(lines, "\n")
	return p, nil
}
