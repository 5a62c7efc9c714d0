package backend

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// loginWords are how the CLI sends its user to log in, in a terminal of its own.
// The kind of the error that it gives differs: a login that has expired comes as
// invalid_request.
var loginWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\brun /login\b`) })

// limits are kinds of errors whose texts may name another login as a way out: the
// login that there is works.
var limits = map[string]bool{"rate_limit": true, "billing_error": true, "account_on_hold": true}

// noteFailure keeps what a message of the CLI's own says of a request that failed.
func (p *pump) noteFailure(m claude.Message) {
	if wantsLogin(m) {
		p.s.badLogin = true
	}
	if kind := m.Get("error").String(); kind != "" && m.ParentToolUseID() == "" {
		p.s.apiError = kind
	}
}

// usageLimits is how the CLI begins when an account has used up what it has, as
// Anthropic's agent SDK 0.3.312 lists it.
var usageLimits = []string{
	"You've hit your", "You've reached your", "You're out of usage credits", "You're out of extra usage", "Your org is out of usage",
	"Your seat type doesn't include", "Your usage allocation has been disabled by your admin", "Your group's usage limit is set to $0",
	"Fable 5 requires usage credits",
}

func usedUp(text string) bool {
	return slices.ContainsFunc(usageLimits, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// wantsLogin reports whether the CLI says, in a message of its own, that nobody is
// logged in.
func wantsLogin(m claude.Message) bool {
	kind := m.Get("error").String()
	switch {
	case kind == "authentication_failed", kind == "oauth_org_not_allowed":
		return true
	case limits[kind] || m.ParentToolUseID() != "" || !m.Get("is_api_error_message").Bool() && m.Get("message.model").Str != "<synthetic>":
		return false
	}
	text := m.Get("message.content.0.text").String()
	return !usedUp(text) && loginWords().MatchString(text)
}
