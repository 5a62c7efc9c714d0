package web

import (
	_ "embed" // for OpenAPI
	"net/http"
)

// OpenAPI describes every route, as OpenAPI 3.1. A test holds it against the
// routes, and against the replies in the tests.
//
//go:embed openapi.json
var OpenAPI []byte

// mux remembers its patterns.
type mux struct {
	*http.ServeMux
	patterns []string
}

func (m *mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.HandleFunc(pattern, h)
}
