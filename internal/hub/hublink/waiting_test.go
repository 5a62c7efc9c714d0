package hublink_test

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// A history is read page by page, each once.
func TestHistoryIsReadToItsEnd(t *testing.T) {
	pages := map[string]string{"": `{"history":[1,2],"next":"p2"}`, "p2": `{"history":[3],"next":"p3"}`, "p3": `{"history":[]}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hash := sha256.Sum256([]byte("token")); r.URL.Path == hublink.ProofPath {
			proof, _ := hublink.Proof(r, [][]byte{hash[:]})
			io.WriteString(w, proof)
			return
		}
		after := r.URL.Query().Get("after")
		io.WriteString(w, pages[after])
		delete(pages, after)
	}))
	defer server.Close()
	t.Setenv(hublink.TokenVariable, "token")
	n := hublink.Named{Address: server.URL}
	require.NoError(t, n.Read())
	read := ""
	require.NoError(t, n.History(t.Context(), url.Values{}, func(settled json.RawMessage) error { read += string(settled); return nil }))
	require.Equal(t, "123", read)
	require.Empty(t, pages)
}
