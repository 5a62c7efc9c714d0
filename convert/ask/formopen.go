package ask

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// openReply reads what all replies to forms share: Answered for an accept, with
// its content, or Declined or Cancelled. Keys are those that the form has; none
// means that its content does not matter.
//
// An error wraps [convert.ErrProtocol]. An answer under a key that the form does
// not have is one: it must not pass for an empty form, which is a refusal.
func openReply(reply json.RawMessage, keys map[string]bool) (convert.Status, gjson.Result, error) {
	status, content, err := replyParts(reply)
	if err == nil && status == convert.Answered && len(keys) > 0 {
		err = checkKeys(content, keys)
	}
	if err != nil {
		return 0, gjson.Result{}, fmt.Errorf("%w: %w", convert.ErrProtocol, err)
	}
	return status, content, nil
}

func replyParts(reply json.RawMessage) (convert.Status, gjson.Result, error) {
	var none gjson.Result
	if !clean.ValidJSON(reply) {
		return 0, none, errors.New("not valid JSON")
	}
	if read.TooDeep(reply) {
		return 0, none, errors.New("it nests too deep")
	}
	root := gjson.ParseBytes(reply)
	if !root.IsObject() {
		return 0, none, errors.New("expected an object with an action")
	}
	action, ok := read.Once(root, "action")
	if !ok {
		return 0, none, errors.New("two different actions")
	}
	switch {
	case action.Type != gjson.String:
	case action.Str == "decline":
		return convert.Declined, none, nil
	case action.Str == "cancel":
		return convert.Cancelled, none, nil
	case action.Str == "accept":
		content, ok := read.Once(root, "content")
		switch {
		case !ok:
			return 0, none, errors.New("two different contents")
		case content.Type != gjson.Null && !content.IsObject(): // absent is null, too
			return 0, none, errors.New("content must be an object")
		}
		return convert.Answered, content, nil
	}
	return 0, none, fmt.Errorf("action must be accept, decline or cancel, got %s", clean.Truncate(clean.Line(action.Raw), 40))
}

// checkKeys refuses content that holds something, but nothing that the form asked
// for, null being nothing, and a field that is there twice with different values.
func checkKeys(content gjson.Result, keys map[string]bool) error {
	if !content.IsObject() {
		return nil
	}
	var err error
	stray, given, values := false, false, map[string]gjson.Result{}
	content.ForEach(func(k, v gjson.Result) bool {
		if !keys[k.Str] {
			stray = true
			return true
		}
		given = given || v.Type != gjson.Null
		if before, twice := values[k.Str]; twice && !read.Same(before, v) {
			err = fmt.Errorf("two different values of %q", shorten(k.Str))
		}
		values[k.Str] = v
		return err == nil
	})
	if err == nil && stray && !given {
		return errors.New("the content has none of the form's fields")
	}
	return err
}
