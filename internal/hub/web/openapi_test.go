package web_test

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// openAPI is the description of the routes, as far as tests read it.
type openAPI struct {
	Info  struct{ Version string }
	Paths map[string]map[string]struct {
		Summary    string
		Tags       []string
		Can        []web.Can `json:"x-can"`
		Security   *[]any
		Parameters []struct{ Name, In string }
		Body       *struct{ Content content } `json:"requestBody"`
		Responses  map[string]struct{ Content content }
	}
	Components struct{ Schemas map[string]any }
	defs       any
	mux        *http.ServeMux
}

// content is a schema by media type.
type content map[string]struct{ Schema map[string]any }

// described is the description, read once. Objects take none but the members that
// it names: what a client gets is what is written down.
var described = sync.OnceValue(func() *openAPI {
	d := &openAPI{mux: http.NewServeMux()}
	text := strings.ReplaceAll(string(web.OpenAPI), "#/components/schemas/", "#/$defs/")
	var all any
	for _, v := range []any{&all, d} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			panic(err)
		}
	}
	closeObjects(d.Components.Schemas)
	d.defs = d.Components.Schemas
	for path, methods := range d.Paths {
		for method := range methods {
			d.mux.Handle(patternOf(method, path), http.NotFoundHandler())
		}
	}
	return d
})

// closeObjects closes all objects that name their members.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			closeObjects(x)
		}
	case []any:
		for _, x := range v {
			closeObjects(x)
		}
	}
}

func patternOf(method, path string) string {
	if path == "/" {
		path = "/{$}"
	}
	return strings.ToUpper(method) + " " + path
}

const howTo = "describe it in internal/hub/web/openapi.json, as POST /conversations/{id}/ask is there: summary, x-can (or security: [] where no token is needed), parameters, requestBody, responses"

// Every route is described, and every description is of a route: who may use it,
// its parameters where it changes something, the members of its body.
func TestEveryRouteIsInOpenAPI(t *testing.T) {
	s := newSite(t, hub.Options{})
	d := described()
	var listed []string
	for path, methods := range d.Paths {
		for method, op := range methods {
			pattern := patternOf(method, path)
			listed = append(listed, pattern)
			require.NotEmpty(t, op.Summary, pattern)
			require.Len(t, op.Tags, 1, pattern)
			can, query, members, guarded := s.server.Taken(pattern)
			require.Equal(t, guarded, op.Security == nil, "%s: security", pattern)
			if !guarded {
				continue
			}
			if len(can) == 0 {
				can = []web.Can{web.CanAdmin}
			}
			require.Equal(t, can, op.Can, "%s: x-can", pattern)
			var params, path []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					params = append(params, p.Name)
				} else {
					path = append(path, p.Name)
				}
			}
			for _, p := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(pattern, -1) {
				require.Contains(t, path, p[1], pattern)
			}
			if method != "get" {
				require.ElementsMatch(t, strings.Fields(query), params, "%s: parameters", pattern)
			}
			if op.Body != nil && members != "" {
				for kind, c := range op.Body.Content {
					properties, _ := c.Schema["properties"].(map[string]any)
					want := slices.DeleteFunc(strings.Fields(members), func(n string) bool { return strings.HasSuffix(n, "*") })
					require.ElementsMatch(t, want, slices.Collect(maps.Keys(properties)), "%s: members of %s", pattern, kind)
				}
			}
		}
	}
	for _, pattern := range s.server.Patterns() {
		if pattern != "/" {
			require.True(t, slices.Contains(listed, pattern), "the hub has %s, and nobody is told: %s", pattern, howTo)
		}
	}
	for _, pattern := range listed {
		require.True(t, slices.Contains(s.server.Patterns(), pattern), "openapi.json has %s, and the hub does not", pattern)
	}
}

// The description is served to anybody, as the newest version's.
func TestOpenAPIIsServed(t *testing.T) {
	s := newSite(t, hub.Options{})
	require.Equal(t, string(web.OpenAPI), s.expect(http.StatusOK, "GET", "/openapi.json", "", "Authorization", ""))
	changes := acptest.Must(os.ReadFile("../../../CHANGELOG.md"))
	require.Contains(t, string(changes), "\n## "+described().Info.Version)
	for _, schema := range described().Components.Schemas {
		acptest.Must(schemaOf(schema.(map[string]any)))
	}
}

func schemaOf(schema map[string]any) (*jsonschema.Resolved, error) {
	whole := maps.Clone(schema)
	whole["$defs"] = described().defs
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

var resolved sync.Map // by pattern, status and media type

// fitsOpenAPI requires that a reply is one that the description knows. All requests
// of the tests go through it.
func fitsOpenAPI(t testing.TB, req *http.Request, reply *http.Response, body string) {
	t.Helper()
	d := described()
	_, pattern := d.mux.Handler(req)
	method, path, _ := strings.Cut(pattern, " ")
	op, ok := d.Paths[strings.TrimSuffix(path, "{$}")][strings.ToLower(method)]
	if !ok || method != req.Method || reply.StatusCode == http.StatusNotModified {
		return
	}
	status := strconv.Itoa(reply.StatusCode)
	response, ok := op.Responses[status]
	if !ok {
		require.GreaterOrEqual(t, reply.StatusCode, 400, "%s: %s is not in internal/hub/web/openapi.json", pattern, status)
		status, response = "default", op.Responses["default"]
	}
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	c, ok := response.Content[kind]
	switch {
	case !ok && (body == "" || reply.StatusCode >= 300 && kind == "text/html"): // a redirect, or an error as a page
		return
	case !ok:
		require.Fail(t, "undescribed", "%s: a reply %s of %s is not in internal/hub/web/openapi.json: %s", pattern, status, kind, body)
	case kind != "application/json":
		return
	}
	key := pattern + status
	schema, ok := resolved.Load(key)
	if !ok {
		made := maps.Clone(c.Schema)
		closeObjects(made)
		s, err := schemaOf(made)
		require.NoError(t, err, key)
		schema = s
		resolved.Store(key, s)
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(body), &v), "%s: %s", pattern, body)
	require.NoError(t, schema.(*jsonschema.Resolved).Validate(v), "%s: a reply %s has what internal/hub/web/openapi.json does not have: add it there.\n%s", pattern, status, body)
}
