package conn

import (
	"encoding/json"
	"strconv"

	"github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// message holds the members of an incoming JSON-RPC object. Absent ones do not
// Exist.
type message struct {
	id, method, params, result, err gjson.Result
	// wrong says why the object is none that can be relied on: decoders do not
	// agree on which of two values counts.
	wrong string
	other gjson.Result // the id that came before, of two
}

func parseMessage(object gjson.Result) (m message) {
	object.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "id":
			if m.id.Exists() {
				m.other = m.id
			}
			m.set(&m.id, "id", value)
		case "method":
			m.set(&m.method, "method", value)
		case "params":
			m.set(&m.params, "params", value)
		case "result":
			m.set(&m.result, "result", value)
		case "error":
			m.set(&m.err, "error", value)
		}
		return true
	})
	if m.wrong == "" && given(m.result) && given(m.err) {
		m.wrong = "a result and an error"
	}
	return m
}

// set keeps a member, and what is wrong if it is there with another value.
func (m *message) set(member *gjson.Result, name string, value gjson.Result) {
	if member.Exists() && (member.Type != value.Type || member.String() != value.String()) {
		m.wrong = "two different values of " + name
	}
	*member = value
}

// given reports whether a member is there and says something.
func given(member gjson.Result) bool { return member.Exists() && member.Type != gjson.Null }

// answerable says whether id may identify a request.
func answerable(id gjson.Result) bool {
	return id.Type == gjson.String || id.Type == gjson.Number
}

// callID reads the id of a response. Ours are numbers from 1; some peers echo
// them as strings, or as floats.
func callID(id gjson.Result) (uint64, bool) {
	if !answerable(id) {
		return 0, false
	}
	s := id.Str
	if id.Type == gjson.Number {
		s = canonicalNumber(id.Raw)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// requestKey is equal for equal ids of the peer's requests: 1 and 1.0 are, 1
// and "1" are not.
func requestKey(id gjson.Result) string {
	if id.Type == gjson.String {
		return `"` + id.Str
	}
	return canonicalNumber(id.Raw)
}

func canonicalNumber(raw string) string {
	if _, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return raw
	}
	const exact = 1 << 53
	if f, err := strconv.ParseFloat(raw, 64); err == nil && f == float64(int64(f)) && f > -exact && f < exact {
		return strconv.FormatInt(int64(f), 10)
	}
	return raw
}

// The outgoing lines, without newline. raw is encoded JSON on one line.

func appendRequest(b []byte, id uint64, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, ',')
	return appendCall(b, method, params)
}

func appendNotification(b []byte, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	return appendCall(b, method, params)
}

func appendCall(b []byte, method string, params []byte) []byte {
	b = append(b, `"method":`...)
	b = clean.AppendJSON(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}

func resultLine(id string, result []byte) []byte { return responseLine(id, "result", result) }

func errorLine(id string, re *acp.RequestError) []byte {
	body, err := json.Marshal(re)
	if err != nil { // data that does not encode
		body, _ = json.Marshal(&acp.RequestError{Code: re.Code, Message: re.Message})
	}
	return responseLine(id, "error", body)
}

func responseLine(id, member string, body []byte) []byte {
	b := make([]byte, 0, len(id)+len(body)+40)
	b = append(b, `{"jsonrpc":"2.0","id":`+id+`,"`+member+`":`...)
	return append(append(b, body...), '}')
}
