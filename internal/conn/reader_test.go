package conn

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`

// What the peer sends, and what it gets for it. Each line is followed by a ping
// that must be answered.
func TestBadLines(t *testing.T) {
	invalid := func(id, reason string) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid request: %s"}}`, id, reason)}
	}
	const batch = "a message must be a JSON object, batches are not supported"
	for name, tc := range map[string]struct {
		line string
		want []string
	}{
		"not JSON":               {`secret`, []string{parseError}},
		"half an object":         {`{"id":1,"method":"m"`, []string{parseError}},
		"two objects":            {`{"id":1,"method":"m"}{"id":2,"method":"m"}`, []string{parseError}},
		"bytes that are nothing": {"\xff\xfe\x00", []string{parseError}},
		"control character":      {"{\"id\":1,\"method\":\"a\x01\"}", []string{parseError}},
		"deep nesting":           {strings.Repeat("[", 9<<20), []string{parseError}},
		"batch":                  {`[{"id":1,"method":"m"}]`, invalid(`null`, batch)},
		"empty batch":            {`[]`, invalid(`null`, batch)},
		"scalar":                 {`42`, invalid(`null`, batch)},
		"blank":                  {"  \t\r", nil},
		"neither id nor method":  {`{"jsonrpc":"2.0","params":{}}`, nil},
		"request id null":        {`{"id":null,"method":"m"}`, invalid(`null`, "id must be a string or a number")},
		"request id an object":   {`{"id":{"a":1},"method":"m"}`, invalid(`null`, "id must be a string or a number")},
		"request id a bool":      {`{"id":true,"method":"m"}`, invalid(`null`, "id must be a string or a number")},
		"method a number":        {`{"id":"x","method":1}`, invalid(`"x"`, "method must be a string")},
		"method a number, no id": {`{"method":1}`, invalid(`null`, "method must be a string")},
		"unknown response":       {`{"id":99,"result":{}}`, nil},
		"response id null":       {`{"id":null,"error":{"code":-32700,"message":"Parse error"}}`, nil},
		"notification":           {`{"method":"n","params":[]}`, nil},
		"request":                {`{"jsonrpc":"2.0","id":"a\u0062","method":"m"}`, []string{`{"jsonrpc":"2.0","id":"a\u0062","result":"m"}`}},
		"big id":                 {`{"id":123456789012345678901234567890,"method":"m"}`, []string{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":"m"}`}},
		"cancel of nothing":      {`{"method":"$/cancel_request"}`, nil},
		"cancel of unknown":      {`{"method":"$/cancel_request","params":{"requestId":5}}`, nil},
		"cancel, bad params":     {`{"method":"$/cancel_request","params":[{}]}`, nil},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			p := newPeer(t, funcs{}, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			p.write(tc.line)
			for _, want := range tc.want {
				require.Equal(t, want, p.read())
			}
			p.write(`{"id":7,"method":"ping"}`)
			require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":"ping"}`, p.read())
			require.NotContains(t, log.String(), "secret")
		})
	}
}

func TestLastLine(t *testing.T) {
	for name, tc := range map[string]struct {
		tail string
		want string
	}{
		"whole":      {`{"id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":1,"result":"m"}`},
		"broken off": {`{"id":1,"method":`, parseError},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, funcs{}, nil)
			io.WriteString(p.in, tc.tail)
			p.in.Close()
			require.Equal(t, tc.want, p.read())
			<-p.conn.Done()
			require.NoError(t, p.conn.Close())
		})
	}
	bubble(t, "answer broken off", func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.discard()
		done := p.call(t.Context(), "m", nil)
		synctest.Wait()
		io.WriteString(p.in, `{"id":1,"result":{"outc`)
		p.in.Close()
		require.ErrorIs(t, (<-done).err, ErrClosed)
	})
}

func TestOverlongLines(t *testing.T) {
	const limit = 1000
	long := strings.Repeat("x", 3*limit)
	refusal := func(id string, line string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid request: a line of %d bytes is over the limit of %d"}}`, id, len(line), limit)
	}
	for name, tc := range map[string]struct{ line, id string }{
		"request":              {`{"id":5,"method":"m","params":"` + long + `"}`, `5`},
		"request, id last":     {`{"method":"m","params":{"id":9,"x":"` + long + `\"}"},"id":"five"}`, `"five"`},
		"request, id an array": {`{"id":[5],"method":"m","params":"` + long + `"}`, `null`},
		"notification":         {`{"method":"m","params":"` + long + `"}`, `null`},
		"garbage":              {long, `null`},
		"id without end":       {`{"method":"m","id":` + long, `null`},
		"unknown response":     {`{"id":5,"result":"` + long + `"}`, ``},
		"response without id":  {`{"id":{},"result":"` + long + `"}`, ``},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newPeer(t, funcs{}, &Options{MaxLine: limit})
			p.write(tc.line)
			if tc.id != "" {
				require.Equal(t, refusal(tc.id, tc.line), p.read())
			}
			p.write(`{"id":7,"method":"ping"}`)
			require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":"ping"}`, p.read())
		})
	}
	bubble(t, "answer", func(t *testing.T) {
		p := newPeer(t, nil, &Options{MaxLine: limit})
		p.discard()
		for i, format := range []string{`{"id":%d,"result":"%s"}`, `{"result":{"id":77,"x":"%[2]s"},"id":%[1]d}`} {
			done := p.call(t.Context(), "m", nil)
			synctest.Wait()
			p.write(fmt.Sprintf(format, i+1, long))
			r := <-done
			require.ErrorIs(t, r.err, ErrProtocol)
			require.ErrorContains(t, r.err, "over the limit of 1000")
		}
	})
	bubble(t, "the limit itself", func(t *testing.T) {
		p := newPeer(t, funcs{}, &Options{MaxLine: limit})
		head := `{"id":5,"method":"m","params":"`
		fits := head + strings.Repeat("x", limit-len(head)-2) + `"}`
		require.Len(t, fits, limit)
		p.write(fits)
		require.Equal(t, `{"jsonrpc":"2.0","id":5,"result":"m"}`, p.read())
		over := strings.Replace(fits, "x", "xx", 1)
		p.write(over)
		require.Equal(t, refusal("5", over), p.read())
	})
}

func TestOverlongLineTakesBoundedMemory(t *testing.T) {
	p := newPeer(t, funcs{}, &Options{MaxLine: 1 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	io.WriteString(p.in, `{"id":5,"method":"m","params":"`)
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	for range 64 << 20 / len(chunk) {
		p.in.Write(chunk)
	}
	p.write(`"}`)
	require.Contains(t, p.read(), `"id":5,"error":{"code":-32600`)
	runtime.ReadMemStats(&after)
	limit := uint64(16 << 20)
	if leaktest.Race { // pools drop
		limit = 40 << 20 // still far less than the line
	}
	require.Less(t, after.TotalAlloc-before.TotalAlloc, limit)
}

func TestDefaultLimitTakesLinesTheSDKTakes(t *testing.T) {
	p := newPeer(t, funcs{}, nil)
	p.write(`{"id":5,"method":"m","params":"` + strings.Repeat("x", 9<<20) + `"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":5,"result":"m"}`, p.read())
}

func TestReadErrorEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, nil)
		p.in.CloseWithError(io.ErrNoProgress)
		<-p.conn.Done()
		require.ErrorIs(t, p.conn.Err(), io.ErrNoProgress)
		require.ErrorIs(t, p.conn.Err(), ErrClosed)
	})
}

// Garbage from a peer that reads nothing fills no memory and stops no reader.
func TestGarbageFloodWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil, &Options{HighWater: 1 << 10})
		for range 1000 {
			p.write("garbage", "[]")
		}
		synctest.Wait()
		require.Less(t, len(p.conn.out.queue), 2<<10)
		ctx, cancel := context.WithCancel(t.Context())
		done := p.call(ctx, "m", nil)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-done).err, context.Canceled)
	})
}

// Nothing of a line that cannot be read is logged but its length and its method.
func TestUnusableLinesAreNotLogged(t *testing.T) {
	for line, method := range map[string]string{
		`{"jsonrpc":"2.0","id":79,"method":"session/new","params":{"mcpServers":[{"env":[{"name":"K","value":"hunter2"}]`: "session/new",
		`{"method":"hunter2","params":{`:   "",
		`[{"value":"hunter2"}]`:            "",
		`{"params":{"value":"hunter2"}}`:   "",
		`{"id":{"a":1},"method":"hunter"}`: "hunter",
		"hunter2":                          "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := newPeer(t, funcs{}, &Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			p.discard()
			p.write(line)
			synctest.Wait()
			p.close()
			synctest.Wait() // for what is logged at the end
			require.NotContains(t, log.String(), "hunter2", line)
			require.Contains(t, log.String(), fmt.Sprintf("bytes=%d", len(line)), line)
			if method == "" {
				method = `""`
			}
			require.Contains(t, log.String(), "method="+method, line)
		})
	}
}
