package backend

import (
	"bytes"
	"regexp"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// loginWords are how the CLI sends its user to log in, in a terminal of its own.
// The kind of the error that it gives differs: a login that has expired comes as
// invalid_request.
var loginWords = regexp.MustCompile(`(?i)\brun /login\b`)

// limits are kinds of errors whose texts may name another login as a way out: the
// login that there is works.
var limits = map[string]bool{"rate_limit": true, "billing_error": true, "account_on_hold": true}

// noteFailure keeps what a message of the CLI's own says of a request that failed.
func (p *pump) noteFailure(m claude.Message) {
	if !bytes.Contains(m.Raw, []byte("error")) && !bytes.Contains(m.Raw, []byte("synthetic")) {
		return // as nearly all messages
	}
	if wantsLogin(m) {
		p.s.badLogin = true
	}
	if kind := field(m, "error").String(); kind != "" && m.ParentToolUseID() == "" {
		p.s.apiError = kind
	}
}

// wantsLogin reports whether the CLI says, in a message of its own, that nobody is
// logged in.
func wantsLogin(m claude.Message) bool {
	kind := field(m, "error").String()
	switch {
	case kind == "authentication_failed", kind == "oauth_org_not_allowed":
		return true
	case limits[kind] || m.ParentToolUseID() != "":
		return false
	}
	return (field(m, "is_api_error_message").Bool() || field(m, "message.model").Str == "<synthetic>") &&
		loginWords.MatchString(field(m, "message.content.0.text").String())
}
