package conn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// RequestPermission asks the client's user. A reply that [DecodePermission] does
// not accept is an error that wraps ErrProtocol. It blocks and fails as Call does.
func (c *Conn) RequestPermission(ctx context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	raw, err := c.Call(ctx, acp.ClientMethodSessionRequestPermission, req)
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	return DecodePermission(raw)
}

// DecodePermission reads the result of session/request_permission. It accepts
//
//	{"outcome":{"outcome":"selected","optionId":"<id>"}}
//	{"outcome":{"outcome":"cancelled"}}
//
// with _meta an object or null in either place, and further members, which are
// ignored. Anything else is an error that wraps ErrProtocol: there is no default
// outcome. A selected outcome may lack its optionId (or have it null or empty)
// only where a _meta holds something, which may say what was selected; OptionId
// is "" then.
//
// Whether the id was offered is for the caller to check.
func DecodePermission(raw json.RawMessage) (acp.RequestPermissionResponse, error) {
	resp, err := decodePermission(raw)
	if err != nil {
		return acp.RequestPermissionResponse{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return resp, nil
}

func decodePermission(raw []byte) (resp acp.RequestPermissionResponse, err error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return resp, fmt.Errorf("not valid JSON")
	}
	result, err := members("result", gjson.ParseBytes(raw), "outcome", "_meta")
	if err != nil {
		return resp, err
	}
	outcome, err := members("outcome", result["outcome"], "outcome", "optionId", "_meta")
	if err != nil {
		return resp, err
	}
	if resp.Meta, err = readMeta(result["_meta"]); err != nil {
		return resp, err
	}
	inner, err := readMeta(outcome["_meta"])
	if err != nil {
		return resp, err
	}
	kind := outcome["outcome"]
	switch {
	case kind.Type == gjson.String && kind.Str == "cancelled":
		resp.Outcome = acp.NewRequestPermissionOutcomeCancelled()
		return resp, nil
	case kind.Type == gjson.String && kind.Str == "selected":
	default:
		return resp, fmt.Errorf(`outcome must be "selected" or "cancelled", not %s`, describe(kind))
	}
	id := outcome["optionId"]
	switch {
	case id.Type == gjson.String && id.Str != "":
	case (id.Type == gjson.Null || id.Type == gjson.String) && len(inner)+len(resp.Meta) > 0:
	default:
		return resp, fmt.Errorf("optionId must be a non-empty string, not %s", describe(id))
	}
	resp.Outcome = acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id.Str))
	resp.Outcome.Selected.Meta = inner
	return resp, nil
}

// members returns the wanted members of an object. A key that differs from a
// wanted one in case only, or comes twice with different values, is an error:
// decoders do not agree on what it means.
func members(what string, object gjson.Result, wanted ...string) (map[string]gjson.Result, error) {
	if !object.IsObject() {
		return nil, fmt.Errorf("%s must be an object, not %s", what, describe(object))
	}
	found := make(map[string]gjson.Result, len(wanted))
	var err error
	object.ForEach(func(key, value gjson.Result) bool {
		for _, name := range wanted {
			if !strings.EqualFold(key.Str, name) {
				continue
			}
			before, twice := found[name]
			if key.Str != name {
				err = fmt.Errorf("%s has %q where %q is meant", what, shorten(key.Str), name)
			} else if twice && (before.Type != value.Type || before.String() != value.String()) {
				err = fmt.Errorf("%s has two different values of %q", what, name)
			}
			found[name] = value
		}
		return err == nil
	})
	return found, err
}

func readMeta(v gjson.Result) (map[string]any, error) {
	if v.Type == gjson.Null { // absent, too
		return nil, nil
	}
	if !v.IsObject() {
		return nil, fmt.Errorf("_meta must be an object or null, not %s", describe(v))
	}
	var m map[string]any
	err := json.Unmarshal([]byte(v.Raw), &m)
	return m, err
}

// describe names a value in an error, without quoting at length.
func describe(v gjson.Result) string {
	switch {
	case !v.Exists():
		return "missing"
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	default:
		return shorten(v.Raw)
	}
}

// shorten bounds what a peer gets into a message through us.
func shorten(s string) string { return clean.Truncate(clean.Line(s), 80) }
