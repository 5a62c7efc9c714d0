package web

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	clock "github.com/acp-bridge/acp-bridge/internal/seen"
)

// A page goes on at the very moment of the last record.
func TestNextIsExact(t *testing.T) {
	at := time.Unix(1000, 123456789)
	next := acptest.Must(base64.RawURLEncoding.DecodeString(nextOf([]*hub.Record{{End: &hub.End{At: at}}})))
	require.Equal(t, fmt.Sprint(at.UnixNano(), " "), string(next))
	p := acptest.Must(placeNamed(base64.RawURLEncoding.EncodeToString(append(next, "key"...))))
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
	s := &Server{most: maxStreams, of: map[string]int{"": maxStreams - 1}}
	phone := Device{Name: "phone", Can: CanAnswer}
	require.NoError(t, s.enter(phone))
	require.ErrorContains(t, s.enter(phone), "at most 10000,", "one too many")
	s.leave(phone)
	require.NoError(t, s.enter(phone))
	s.of[""], s.of["phone"], s.of["owner"] = 0, maxStreamsOf, maxStreamsOf
	require.ErrorContains(t, s.enter(phone), "256 of a device")
	require.NoError(t, s.enter(Device{Name: "other", Can: CanAnswer}), "that is another one")
	require.NoError(t, s.enter(Device{Name: Owner, Can: CanAdmin}))
}

// The same input in another order is the same; what is no JSON is as it is.
func TestCanonicalInput(t *testing.T) {
	same := canonical([]byte(`{"a":1,"b":{"c":2,"d":3}}`))
	require.Equal(t, string(same), string(canonical([]byte(` {"b": {"d":3,"c":2}, "a":1}`))))
	require.NotEqual(t, string(same), string(canonical([]byte(`{"a":1,"b":{"c":2,"d":4}}`))))
	require.Equal(t, "{no JSON", string(canonical([]byte("{no JSON"))))
	forms := map[string]int{}
	for i, ways := range passInputs {
		for _, input := range ways {
			of, known := forms[string(canonical([]byte(input)))]
			require.True(t, !known || of == i, input)
			forms[string(canonical([]byte(input)))] = i
		}
	}
	require.Len(t, forms, len(passInputs))
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

// The page's clock is in its script, and its time is that of package seen.
func TestRule3PageHasTheSameClock(t *testing.T) {
	script := acptest.Must(files.ReadFile("page/page.js"))
	require.Contains(t, string(script), fmt.Sprintf("settling = %d", clock.Card.Milliseconds()))
}

// A byte of the list of devices that is damaged gives nobody another right, and takes
// none away, without a word: the hub does not start, and leaves the file as it is. One
// without a sum, of an older hub, is read.
func TestDamagedListOfDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.json")
	const token = "the-token-of-the-owner"
	a := acptest.Must(OpenAccess(path, token))
	acptest.Must(a.Add("phone", CanAnswer, "red"))
	text := acptest.Must(os.ReadFile(path))
	for at := range text {
		for _, bit := range []byte{1, 4, 32} {
			damaged := append([]byte{}, text...)
			damaged[at] ^= bit
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			now, err := OpenAccess(path, token)
			kept, _ := os.ReadFile(path)
			if err != nil {
				require.ErrorContains(t, err, "damaged", "byte %d", at)
				require.Equal(t, damaged, kept)
				continue
			}
			require.Equal(t, a.List(), now.List(), "byte %d: %s", at, damaged)
		}
	}
	require.NoError(t, os.WriteFile(path, acptest.Must(unsealed(text)), 0o600))
	now := acptest.Must(OpenAccess(path, token))
	require.Equal(t, a.List(), now.List())
}

// An event is encoded once for all who watch, and never shown for another one. What waits
// behind it is looked for once: who sees its own questions only has an event of its own.
func TestFrames(t *testing.T) {
	var f frames
	asked := func(id, text string) *hub.Record {
		return &hub.Record{Conversation: "c", ID: id, Call: convert.Call{Questions: []convert.Question{{Text: text}}}}
	}
	looked := 0
	event := func(of *hub.Record, to string, then *hub.Record) []byte {
		return f.event(of, to, func() *hub.Record { looked++; return then })
	}
	over, one, two := asked("over", "Done?"), asked("one", "Which?"), asked("two", "When?")
	over.End = &hub.End{Outcome: "answered"}
	first := event(over, "", nil)
	require.Contains(t, string(first), `"type":"working"`)
	require.Same(t, &first[0], &event(over, "", one)[0])
	require.Contains(t, string(event(over, "bot", one)), `"tool_use_id":"one"`)
	require.Contains(t, string(event(over, "other", two)), `"tool_use_id":"two"`)
	require.Same(t, &first[0], &event(over, "", two)[0])
	require.Equal(t, 3, looked)

	long := asked("long", strings.Repeat("x", 1<<20))
	require.Equal(t, event(long, "", nil), event(long, "", nil))
	require.Contains(t, string(event(over, "third", long)), `"tool_use_id":"long"`)
	require.Len(t, f.kept, 3, "what is long is not kept, also if it is what waits")
	for range 2 * keepFrames >> 20 {
		event(asked("long", strings.Repeat("x", 1<<20)), "", nil)
	}
	require.Same(t, &first[0], &event(over, "", nil)[0], "what is long takes the place of nothing")
	for range keepFrames / 100 {
		event(asked("more", "What?"), "", nil)
	}
	require.Equal(t, first, event(over, "", nil))
	require.NotSame(t, &first[0], &event(over, "", nil)[0]) // it was the oldest
	require.Len(t, f.old, len(f.kept))
	size := 0
	for _, e := range f.old {
		size += len(e.data)
	}
	require.Equal(t, f.size, size)
	require.LessOrEqual(t, size, keepFrames)
	require.Greater(t, size, keepFrames/2)
}
