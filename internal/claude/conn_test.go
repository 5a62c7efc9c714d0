package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func TestEncodeLine(t *testing.T) {
	line := acptest.Must(encodeLine(map[string]any{
		"raw":  json.RawMessage("{\"a\" :\n\r\t\"<\u2028\u2029&\\ud800\" }"),
		"text": "one\ntwo\r\u2028 \xff",
	}))
	require.Equal(t, `{"raw":{"a":"<\u2028\u2029&\ud800"},"text":"one\ntwo\r\u2028 \ufffd"}`+"\n", string(line))
	require.Error(t, acptest.Err(encodeLine(json.RawMessage("{broken"))))
}

func FuzzEncodeLine(f *testing.F) {
	f.Add([]byte("\xe2\x80\xa8\n\r\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{string(data), map[string]any{"k": json.RawMessage(data)}} {
			line, err := encodeLine(v)
			if err != nil {
				continue
			}
			require.True(t, json.Valid(line))
			require.Equal(t, len(line)-1, bytes.IndexAny(line, "\r\n"))
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","permission_suggestions":[1]}}`))
	f.Add([]byte(`{"type":"stream_event","event":7}`))
	f.Add([]byte(` { "type" : "x", "type":"y", "requ\u0065st_id" : "a\u0062", "event":null, "request": {"subtype":"\n"} } `))
	f.Add([]byte(`{"type":"x","requ\u0065st":"a","request":{"subtype":"\n"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, ok := ParseMessage(data); ok {
			require.NotEmpty(t, m.Type)
			m.ToolRequest()
			m.ParentToolUseID()
			parseInit(m.Raw)
			for _, path := range []string{"type", "request_id", "request.subtype", "request.permission_suggestions.0", "event", "none.at.all"} {
				if name, _, deeper := strings.Cut(path, "."); deeper && members(m.Raw, name) > 1 {
					continue // of two members with one name the first counts; gjson goes on to one that has the rest
				}
				want, got := gjson.GetBytes(m.Raw, path), m.Get(path)
				require.Equal(t, []any{want.Type, want.Raw, want.Str}, []any{got.Type, got.Raw, got.Str}, path)
			}
		}
	})
}

// members counts the members with a name.
func members(object []byte, name string) (n int) {
	gjson.ParseBytes(object).ForEach(func(key, _ gjson.Result) bool {
		if key.Str == name {
			n++
		}
		return true
	})
	return n
}

// Of two members with one name the first counts, for all that is read of it.
func TestTheFirstMemberCounts(t *testing.T) {
	m, ok := ParseMessage([]byte(`{"type":"control_request","request":"none","requ\u0065st":{"subtype":"can_use_tool","tool_name":"Bash"}}`))
	require.True(t, ok)
	require.Empty(t, m.Subtype)
	require.False(t, m.Get("request.subtype").Exists())
}

// A line of nothing but brackets must not overflow the stack.
func TestDeepLine(t *testing.T) {
	for _, n := range []int{20 << 10, 32 << 20} {
		deep := `{"type":"x","a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
		_, ok := ParseMessage([]byte(deep))
		require.Equal(t, len(deep) <= 64<<10, ok)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func atOnce(write func() error) { _ = write() }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestRepliesAreMatchedInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutbox(nopCloser{io.Discard}, outboxBytes, nil, atOnce)
		c := newConn(out, nil, discard(), nil)
		defer out.close()
		got := make([]string, 2)
		errs := make([]error, 2)
		for i := range got {
			go func() {
				raw, err := c.control(t.Context(), "x", nil)
				got[i], errs[i] = string(raw), err
			}()
			synctest.Wait()
		}
		c.handle([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"acp-bridge-2","response":{"n":2}}}`))
		c.handle([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"acp-bridge-2","response":{"n":3}}}`))
		c.handle([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":"acp-bridge-1"}}`))
		synctest.Wait()
		require.Equal(t, `{"n":2}`, got[1])
		require.NoError(t, errs[1])
		require.EqualError(t, errs[0], "Claude Code refused x: no reason given")
		require.Empty(t, c.requests.Value.pending, "a call is settled once")
	})
}

// A level of effort counts as set when the settings name one, for all models or for one.
func TestSettingsOfTheCLI(t *testing.T) {
	for reply, want := range map[string]Settings{
		`{"applied":{"model":"m","effort":"high"},"effective":{}}`:                                 {Model: "m", Effort: "high"},
		`{"applied":{"model":"m","effort":"low"},"effective":{"effortLevel":"low"}}`:               {Model: "m", Effort: "low", EffortSet: true},
		`{"applied":{"model":"m","effort":"low"},"effective":{"modelSettings":{"m":{}}}}`:          {Model: "m", Effort: "low", EffortSet: true},
		`{"applied":{"ultracodeRequested":true,"ultracodeAvailable":true},"effective":{}}`:         {Ultracode: true, UltracodeOffered: true},
		`{"applied":{"model":"m"},"effective":{"disableAutoMode":"disable"}}`:                      {Model: "m", AutoOff: true},
		`{"applied":{"model":"m"},"effective":{"permissions":{"disableAutoMode":"disable"}}}`:      {Model: "m", AutoOff: true},
		`{"applied":{"model":"m","effort":null},"effective":{"agent":"reviewer","effort":"high"}}`: {Model: "m", Agent: "reviewer"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Process{conn: newConn(newOutbox(nopCloser{io.Discard}, outboxBytes, nil, atOnce), nil, discard(), nil)}
			defer p.conn.out.close()
			go func() {
				synctest.Wait()
				p.conn.handle([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"acp-bridge-1","response":` + reply + `}}`))
			}()
			require.Equal(t, want, acptest.Must(p.Settings(t.Context())))
		})
	}
}

func TestOutboxNeverBlocksTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := newOutbox(w, 100, nil, atOnce)
		line := append(bytes.Repeat([]byte("x"), 200), '\n')
		require.NoError(t, out.send(line), "one is always taken")
		synctest.Wait()
		require.ErrorIs(t, out.send(line), ErrNotReading)
		acptest.Must(io.ReadFull(r, make([]byte, len(line))))
		synctest.Wait()
		require.NoError(t, out.send([]byte("{}\n")))
		r.Close()
		synctest.Wait()
		require.ErrorIs(t, out.send(line), ErrExited)
	})
}

// drained comes whenever the reader is about to wait, also behind lines that are
// for nobody, and with half a line in its buffer.
func TestDrained(t *testing.T) {
	var got []string
	c := newConn(newOutbox(nil, 1, nil, atOnce), func(m Message) { got = append(got, m.Type) }, discard(), nil)
	c.drained = func() { got = append(got, "drained") }
	pieces := []string{`{"type":"a"}` + "\n" + `{"type":"b"}` + "\n" + `{"ty`, `pe":"c"}` + "\n\nnonsense\n", `{"type":"d"}`}
	require.ErrorIs(t, c.read(ndjson.NewReader(&inPieces{pieces}, 1000), nil), io.EOF)
	require.Equal(t, []string{"drained", "a", "b", "drained", "c", "drained", "d", "drained"}, got)
}

// inPieces gives one piece to each Read.
type inPieces struct{ pieces []string }

func (r *inPieces) Read(b []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.pieces[0])
	r.pieces = r.pieces[1:]
	return n, nil
}

// A request that cannot be read is answered, and a reply that cannot be read ends
// the call that waits for it.
func TestUnreadableControlLines(t *testing.T) {
	deep := strings.Repeat("[", 40_000) + strings.Repeat("]", 40_000)
	long := `"` + strings.Repeat("x", 200_000) + `"`
	for name, body := range map[string]string{"too deep": deep, "cut off": `{"a":"b`, "garbage": `{"a" "b"}`, "too long": long} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent bytes.Buffer
				out := newOutbox(nopCloser{&sent}, outboxBytes, nil, atOnce)
				c := newConn(out, func(m Message) { t.Error("delivered", m.Type) }, discard(), nil)
				called := make(chan error, 1)
				go func() {
					_, err := c.control(t.Context(), "x", nil)
					called <- err
				}()
				synctest.Wait()
				sent.Reset()
				lines := `{"type":"control_request","request_id":"r-1","request":` + body + "}\n" +
					`{"type":"control_response","response":{"subtype":"success","request_id":"acp-bridge-1","response":` + body + "}}\n" +
					`{"type":"assistant","message":` + body + "}\n"
				require.ErrorIs(t, c.read(ndjson.NewReader(strings.NewReader(lines), 100_000, skimmed...), nil), io.EOF)
				synctest.Wait()
				require.Contains(t, sent.String(), `"request_id":"r-1","subtype":"error"`)
				require.Equal(t, 1, strings.Count(sent.String(), "\n"))
				require.ErrorContains(t, <-called, "the reply cannot be read")
			})
		})
	}
}

func TestReplyThatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent bytes.Buffer
		c := newConn(newOutbox(nopCloser{&sent}, outboxBytes, nil, atOnce), nil, discard(), nil)
		deep := json.RawMessage(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
		require.Error(t, c.reply("r-1", Allow(deep)))
		synctest.Wait()
		require.Contains(t, sent.String(), `"request_id":"r-1","subtype":"error"`)
	})
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }
func (brokenPipe) Close() error              { return nil }

// A request to a CLI that has just ended says how it ended, not that a pipe broke.
// One that goes on without reading is an error.
func TestRequestToACLIThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its end was noted when the request was half sent
		c := newConn(newOutbox(brokenPipe{}, outboxBytes, nil, atOnce), nil, discard(), nil)
		c.out.close()
		time.AfterFunc(1, func() { c.fail(&ExitError{Code: 7}) })
		require.ErrorAs(t, acptest.Err(c.control(t.Context(), "initialize", nil)), new(*ExitError))
	})
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newConn(newOutbox(brokenPipe{}, outboxBytes, nil, atOnce), nil, discard(), nil)
			for !errors.Is(c.send("x"), syscall.EPIPE) {
				synctest.Wait()
			}
			if ends {
				time.AfterFunc(readGrace, func() { c.fail(&ExitError{Code: 7}) })
			}
			_, err := c.control(t.Context(), "initialize", nil)
			if ended := new(ExitError); ends {
				require.ErrorAs(t, err, &ended)
				require.Equal(t, 7, ended.Code)
				return
			}
			require.ErrorIs(t, err, syscall.EPIPE)
		})
	}
}
