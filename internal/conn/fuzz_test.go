package conn

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever comes in, the connection answers what comes after it.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "garbage", "[]", "{}", "\ufeff{}", `{"id":1,"method":"m"}`, `{"id":"1","result":{}}`,
		`{"id":1,"error":"boom"}`, `{"id":null,"method":"m"}`, `{"method":"$/cancel_request","params":{"requestId":1}}`,
		`{"id":1,"result":` + strings.Repeat("[", 600), `{"method":"m","params":"` + strings.Repeat("x", 600) + `","id":1}`,
		"{\"id\":1,\"result\":\"\xff\"}\n{\"id\":1,\"result\":2}", `{"id":1e400,"method":"m"}`, `{"id":-0,"method":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := New(inR, outW, funcs{}, &Options{MaxLine: 500, Logger: slog.New(slog.DiscardHandler)})
		called := make(chan error, 1)
		go func() {
			_, err := c.Call(t.Context(), "m", nil) // may be answered by data
			called <- err
		}()
		go func() {
			inW.Write(data)
			io.WriteString(inW, "\n"+`{"id":"the end","method":"ping"}`+"\n")
		}()

		timeout := time.AfterFunc(5*time.Minute, func() { outR.CloseWithError(io.ErrNoProgress) })
		defer timeout.Stop()
		dec := json.NewDecoder(outR)
		dec.UseNumber()
		for {
			var m struct {
				JSONRPC string
				ID      any
				Result  any
			}
			require.NoError(t, dec.Decode(&m), "no answer to the ping")
			require.Equal(t, "2.0", m.JSONRPC)
			if m.ID == "the end" && m.Result == "ping" {
				break
			}
		}
		go io.Copy(io.Discard, outR)
		inW.Close()
		<-called
		<-c.Done()
		require.NoError(t, c.Close())
		outR.Close()
	})
}
