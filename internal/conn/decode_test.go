package conn

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// permissions are the results of permission requests that were seen or tried,
// and what they mean: nil is a protocol error.
var permissions = func() map[string]struct {
	raw  string
	want *acp.RequestPermissionResponse
} {
	type response = acp.RequestPermissionResponse
	is := func(r response) *response { return &r }
	with := func(r response, meta map[string]any) *response { r.Meta = meta; return &r }
	cancelled := response{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
	several := map[string]any{"selectedOptionIds": []any{"a", "b"}}
	return map[string]struct {
		raw  string
		want *response
	}{
		"selected":                       {`{"outcome":{"outcome":"selected","optionId":"a"}}`, is(selected("a", nil))},
		"selected, meta":                 {`{"outcome":{"outcome":"selected","optionId":"a","_meta":{"customText":"t"}}}`, is(selected("a", map[string]any{"customText": "t"}))},
		"selected, outer meta":           {`{"_meta":{"x":1},"outcome":{"outcome":"selected","optionId":"a"}}`, with(selected("a", nil), map[string]any{"x": 1.0})},
		"selected, meta null":            {`{"outcome":{"outcome":"selected","optionId":"a","_meta":null},"_meta":null}`, is(selected("a", nil))},
		"an id never offered":            {`{"outcome":{"outcome":"selected","optionId":"never offered"}}`, is(selected("never offered", nil))},
		"escapes":                        {`{"outc\u006fme":{"outcome":"select\u0065d","optionId":"\u00e9\n"}}`, is(selected("é\n", nil))},
		"unknown members":                {`{"outcome":{"outcome":"selected","optionId":"a","x":1},"y":[]}`, is(selected("a", nil))},
		"same optionId twice":            {`{"outcome":{"outcome":"selected","optionId":"a","optionId":"a"}}`, is(selected("a", nil))},
		"several ids":                    {`{"outcome":{"outcome":"selected","_meta":{"selectedOptionIds":["a","b"]}}}`, is(selected("", several))},
		"several ids, outer":             {`{"outcome":{"outcome":"selected"},"_meta":{"selectedOptionIds":["a","b"]}}`, with(selected("", nil), several)},
		"several ids, optionId null":     {`{"outcome":{"outcome":"selected","optionId":null,"_meta":{"selectedOptionIds":["a","b"]}}}`, is(selected("", several))},
		"several ids, optionId empty":    {`{"outcome":{"outcome":"selected","optionId":"","_meta":{"selectedOptionIds":["a","b"]}}}`, is(selected("", several))},
		"cancelled":                      {`{"outcome":{"outcome":"cancelled"}}`, is(cancelled)},
		"cancelled, meta":                {`{"outcome":{"outcome":"cancelled","_meta":{"x":1}}}`, is(cancelled)},
		"cancelled, optionId":            {`{"outcome":{"outcome":"cancelled","optionId":5}}`, is(cancelled)},
		"deferred":                       {`{"outcome":{"outcome":"deferred"}}`, nil},
		"wrong case":                     {`{"outcome":{"outcome":"Selected","optionId":"a"}}`, nil},
		"outcome empty":                  {`{"outcome":{}}`, nil},
		"optionId alone":                 {`{"outcome":{"optionId":"a"}}`, nil},
		"flat":                           {`{"outcome":"selected","optionId":"a"}`, nil},
		"outcome null":                   {`{"outcome":null}`, nil},
		"outcome missing":                {`{}`, nil},
		"inner outcome null":             {`{"outcome":{"outcome":null,"optionId":"a"}}`, nil},
		"inner outcome an object":        {`{"outcome":{"outcome":{"outcome":"selected"},"optionId":"a"}}`, nil},
		"result null":                    {`null`, nil},
		"result an array":                {`[{"outcome":{"outcome":"cancelled"}}]`, nil},
		"result a string":                {`"selected"`, nil},
		"no optionId":                    {`{"outcome":{"outcome":"selected"}}`, nil},
		"optionId a number":              {`{"outcome":{"outcome":"selected","optionId":1}}`, nil},
		"optionId null":                  {`{"outcome":{"outcome":"selected","optionId":null}}`, nil},
		"optionId empty":                 {`{"outcome":{"outcome":"selected","optionId":""}}`, nil},
		"optionId a number, several ids": {`{"outcome":{"outcome":"selected","optionId":1,"_meta":{"selectedOptionIds":["a"]}}}`, nil},
		"an extension":                   {`{"outcome":{"outcome":"selected","_meta":{"x":"a"}}}`, is(selected("", map[string]any{"x": "a"}))},
		"no optionId, meta empty":        {`{"outcome":{"outcome":"selected","_meta":{}},"_meta":{}}`, nil},
		"meta a string":                  {`{"outcome":{"outcome":"selected","optionId":"a","_meta":"x"}}`, nil},
		"outer meta a string":            {`{"outcome":{"outcome":"selected","optionId":"a"},"_meta":"x"}`, nil},
		"meta an array":                  {`{"outcome":{"outcome":"cancelled","_meta":[]}}`, nil},
		"two optionIds":                  {`{"outcome":{"outcome":"selected","optionId":"a","optionId":"b"}}`, nil},
		"optionId string and number":     {`{"outcome":{"outcome":"selected","optionId":1,"optionId":"1"}}`, nil},
		"two inner outcomes":             {`{"outcome":{"outcome":"cancelled","outcome":"selected","optionId":"a"}}`, nil},
		"two outcomes":                   {`{"outcome":{"outcome":"cancelled"},"outcome":{"outcome":"selected","optionId":"a"}}`, nil},
		"optionID":                       {`{"outcome":{"outcome":"selected","optionID":"a"}}`, nil},
		"optionID beside optionId":       {`{"outcome":{"outcome":"selected","optionId":"a","optionID":"b"}}`, nil},
		"Outcome":                        {`{"Outcome":{"outcome":"selected","optionId":"a"}}`, nil},
	}
}()

func TestDecodePermission(t *testing.T) {
	for name, tc := range permissions {
		t.Run(name, func(t *testing.T) {
			got, err := DecodePermission([]byte(tc.raw))
			if tc.want == nil {
				require.ErrorIs(t, err, ErrProtocol)
				require.Zero(t, got)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, *tc.want, got)
		})
	}
	for _, raw := range []string{"", "{", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"\xff\"}}"} {
		_, err := DecodePermission([]byte(raw))
		require.ErrorIs(t, err, ErrProtocol, "%q", raw)
	}
}

// What decodes means what it says, to the SDK as well, and encodes to itself.
func FuzzDecodePermission(f *testing.F) {
	for _, tc := range permissions {
		f.Add([]byte(tc.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := DecodePermission(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrProtocol)
			require.Zero(t, got)
			return
		}
		o := got.Outcome
		require.NotEqual(t, o.Selected == nil, o.Cancelled == nil, "exactly one outcome")

		var sdk acp.RequestPermissionResponse
		if json.Unmarshal(raw, &sdk) == nil {
			require.Equal(t, o.Cancelled == nil, sdk.Outcome.Cancelled == nil)
			if o.Selected != nil {
				require.Equal(t, o.Selected.OptionId, sdk.Outcome.Selected.OptionId)
			}
		}
		encoded, err := json.Marshal(got)
		require.NoError(t, err)
		again, err := DecodePermission(encoded)
		require.NoError(t, err)
		require.Equal(t, o.Cancelled == nil, again.Outcome.Cancelled == nil)
	})
}

func selected(id string, meta map[string]any) acp.RequestPermissionResponse {
	o := acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))
	o.Selected.Meta = meta
	return acp.RequestPermissionResponse{Outcome: o}
}

// What DecodePermission reads, on the wire, and what only exists there.
func TestRequestPermission(t *testing.T) {
	ask := func(t *testing.T, line string) (resp acp.RequestPermissionResponse, err error) {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, nil, nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				resp, err = p.conn.RequestPermission(t.Context(), acp.RequestPermissionRequest{SessionId: "s1"})
			}()
			require.Contains(t, p.read(), `"method":"session/request_permission","params":{`)
			p.write(line)
			<-done
		})
		return resp, err
	}
	t.Run("selected", func(t *testing.T) {
		got, err := ask(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"a","_meta":{"customText":"t"}}}}`)
		require.NoError(t, err)
		require.Equal(t, selected("a", map[string]any{"customText": "t"}), got)
	})
	t.Run("no outcome", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected"}}}`)
		require.ErrorIs(t, err, ErrProtocol)
	})
	t.Run("result missing", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1}`)
		require.ErrorIs(t, err, ErrProtocol)
	})
	t.Run("error", func(t *testing.T) {
		_, err := ask(t, `{"jsonrpc":"2.0","id":1,"error":"boom"}`)
		require.ErrorAs(t, err, new(*acp.RequestError))
		require.NotErrorIs(t, err, ErrProtocol)
	})
}
