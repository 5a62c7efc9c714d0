package ask

import (
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
)

// ByHand reports whether a response carries words or several picks, which no
// client sends by itself.
func ByHand(resp acp.RequestPermissionResponse) bool {
	r, err := readReply(resp)
	return err == nil && (r.text != "" || r.notes != "" || len(slices.Compact(slices.Sorted(slices.Values(r.ids)))) > 1)
}

// reply is a response that said `selected`, with what its _meta adds.
type reply struct {
	id    string
	ids   []string // of selectedOptionIds
	many  bool     // selectedOptionIds was there
	text  string
	notes string
}

// words are all that was written beside the pick.
func (r reply) words() string { return strings.TrimSpace(r.text + "\n" + r.notes) }

// readReply reads the id and what the _meta says; that of the outcome itself
// comes before that beside it.
func readReply(resp acp.RequestPermissionResponse) (reply, error) {
	var r reply
	metas := []map[string]any{resp.Meta}
	if s := resp.Outcome.Selected; s != nil {
		r.id, metas = string(s.OptionId), []map[string]any{s.Meta, resp.Meta}
	}
	for _, meta := range metas {
		if err := metaText(meta, "customText", &r.text); err != nil {
			return r, err
		}
		if err := metaText(meta, "notes", &r.notes); err != nil {
			return r, err
		}
		if v := meta["selectedOptionIds"]; v != nil && !r.many {
			ids, err := stringList(v)
			if err != nil {
				return r, err
			}
			r.ids, r.many = ids, true
		}
	}
	return r, nil
}

// metaText reads a text that an earlier _meta has not given already.
func metaText(meta map[string]any, key string, into *string) error {
	v := meta[key]
	if v == nil || *into != "" {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: _meta.%s must be a string, got %T", convert.ErrProtocol, key, v)
	}
	*into = strings.TrimSpace(s)
	return nil
}

func stringList(v any) ([]string, error) {
	switch list := v.(type) {
	case []string:
		return list, nil
	case []any:
		ids := make([]string, len(list))
		for i, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("%w: _meta.selectedOptionIds must hold strings, got %T", convert.ErrProtocol, e)
			}
			ids[i] = s
		}
		return ids, nil
	}
	return nil, fmt.Errorf("%w: _meta.selectedOptionIds must be an array, got %T", convert.ErrProtocol, v)
}
