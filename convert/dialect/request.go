package dialect

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// requester is a dialect whose agent asks with a request on a pipe, too.
type requester interface {
	dialect
	// request writes a call as the request with this id.
	request(c convert.Call, id string) any
}

// WriteRequest writes a call as its agent sends it over a pipe: pi's
// ask_user_request, or Opal's client/ask_user. Lost and errors are those of
// [WriteCall].
func WriteRequest(name string, c convert.Call, id string) (request []byte, lost []string, err error) {
	d := find(name)
	if d == nil {
		return nil, nil, unknown(name)
	}
	r, ok := d.(requester)
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s has no requests on a pipe, expected pi or opal", ErrUnknown, name)
	}
	if err := c.Validate(d.holds().limits); err != nil {
		return nil, nil, fmt.Errorf("%s cannot hold the call: %w", name, err)
	}
	return clean.JSON(r.request(c, id)), d.holds().lost(name, c), nil
}

func (pi) request(c convert.Call, id string) any {
	r := struct {
		Type      string       `json:"type"`
		RequestID string       `json:"requestId"`
		Questions []piQuestion `json:"questions"`
		Metadata  any          `json:"metadata,omitempty"`
	}{Type: piRequest, RequestID: id, Questions: piQuestions(c)}
	if read.Usable(c.Input) {
		if m := read.Field(gjson.ParseBytes(c.Input), "metadata"); m.IsObject() {
			r.Metadata = raw(m)
		}
	}
	return r
}

func (opal) request(c convert.Call, id string) any {
	q := c.Questions[0]
	choices := labelsOf(q)
	if choices == nil {
		choices = []string{}
	}
	return struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, opalMethod, struct {
		Session  string   `json:"session_id"`
		Question string   `json:"question"`
		Choices  []string `json:"choices"`
	}{c.Session, q.Text, choices}}
}
