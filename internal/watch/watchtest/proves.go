package watchtest

import (
	"crypto/sha256"
	"io"
	"net/http"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// Proves is a hub that knows one token, and proves it.
func Proves(token string, next http.HandlerFunc) http.Handler {
	hash := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != hublink.ProofPath {
			next(w, r)
		} else if proof, ok := hublink.Proof(r, [][]byte{hash[:]}); ok {
			_, _ = io.WriteString(w, proof)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
	})
}
