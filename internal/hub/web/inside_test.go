package web

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A page goes on at the very moment of the last record.
func TestNextIsExact(t *testing.T) {
	at := time.Unix(1000, 123456789)
	next, err := base64.RawURLEncoding.DecodeString(nextOf([]*hub.Record{{End: &hub.End{At: at}}}))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(at.UnixNano(), " "), string(next))
	p, err := placeNamed(base64.RawURLEncoding.EncodeToString(append(next, "key"...)))
	require.NoError(t, err)
	require.True(t, p.At.Equal(at))
	require.Equal(t, "key", p.Key)
}

func TestBounds(t *testing.T) {
	groups := make([]string, maxGroups+1)
	for i := range groups {
		groups[i] = fmt.Sprint("g", i)
	}
	require.NoError(t, checkGroups(groups[:maxGroups]))
	require.ErrorContains(t, checkGroups(groups), "at most")
	require.Equal(t, 512, mostStreams(1024), "the other half is for those who ask and answer")
	require.Equal(t, 10_000, mostStreams(1<<20))
	require.Greater(t, openFiles(), 100)
	s := &Server{streams: maxStreams - 1, most: maxStreams, of: map[string]int{}}
	phone := Device{Name: "phone", Can: CanAnswer}
	require.NoError(t, s.enter(phone))
	require.ErrorContains(t, s.enter(phone), "at most 10000,", "one too many")
	s.leave(phone)
	require.NoError(t, s.enter(phone))
	s.streams, s.of["phone"], s.of["owner"] = 0, maxStreamsOf, maxStreamsOf
	require.ErrorContains(t, s.enter(phone), "256 of a device")
	require.NoError(t, s.enter(Device{Name: "other", Can: CanAnswer}), "that is another one")
	require.NoError(t, s.enter(Device{Name: Owner, Can: CanAdmin}))
}

// A conversation of OpenCode's keeps its name in the owner's group only: another
// group may have one of the same name.
func TestSessionsOfOpenCode(t *testing.T) {
	session := func(group, conversation string) string {
		return openCodeSession(&hub.Record{Group: group, Conversation: conversation})
	}
	require.Equal(t, "ses_1", session("", "ses_1"))
	require.Regexp(t, "^ses_", session("", "c"))
	require.NotEqual(t, "ses_1", session("red", "ses_1"))
	require.NotEqual(t, session("blue", "ses_1"), session("red", "ses_1"))
}

// The same input in another order is the same; what is no JSON is as it is.
func TestCanonicalInput(t *testing.T) {
	same := canonical([]byte(`{"a":1,"b":{"c":2,"d":3}}`))
	require.Equal(t, string(same), string(canonical([]byte(` {"b": {"d":3,"c":2}, "a":1}`))))
	require.NotEqual(t, string(same), string(canonical([]byte(`{"a":1,"b":{"c":2,"d":4}}`))))
	require.Equal(t, "{no JSON", string(canonical([]byte("{no JSON"))))
}

// A script is served without some of its spaces; its texts are as they were written.
func TestSqueezedAsWritten(t *testing.T) {
	for _, name := range append([]string{"worker"}, modules...) {
		data := source(name + ".js")
		served := string(squeezed(name+".js", data))
		require.Equal(t, texts.FindAllString(string(withoutComments(data)), -1), texts.FindAllString(served, -1), name)
		require.NotContains(t, string(data), "\n  /*", "a comment that is served")
	}
}
