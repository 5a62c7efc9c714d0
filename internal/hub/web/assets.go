package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

//go:embed page
var files embed.FS

// modules are the parts of the page's script, each behind those whose constants it needs.
var modules = []string{"keep", "seen", "act", "notify", "keys", "away", "rows", "page"}

// asset is something that the page needs besides itself, as it is served.
type asset struct {
	kind        string
	data, small []byte // small is for who takes gzip
	version     string
}

// assets are all of them, by name. To make them takes ten times as long as a program takes
// to start: only one that serves pages does.
var assets = sync.OnceValue(func() map[string]asset {
	return map[string]asset{
		"style.css":            newAsset("text/css; charset=utf-8", squeezed("style.css", source("style.css"))),
		"page.js":              newAsset("text/javascript; charset=utf-8", bundled()),
		"more.js":              newAsset("text/javascript; charset=utf-8", squeezed("more.js", source("more.js"))),
		"worker.js":            newAsset("text/javascript; charset=utf-8", squeezed("worker.js", source("worker.js"))),
		"manifest.webmanifest": newAsset("application/manifest+json", source("manifest.webmanifest")),
	}
})

func source(name string) []byte {
	data, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return data
}

func newAsset(kind string, data []byte) asset {
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
	_, _ = z.Write(data)
	_ = z.Close() // a buffer takes all
	sum := sha256.Sum256(data)
	return asset{kind, data, small.Bytes(), base64.RawURLEncoding.EncodeToString(sum[:9])}
}

// addressOf is where an asset is. A browser that has seen the address needs not ask again:
// what changes has another one.
func addressOf(name string) string { return "/" + name + "?v=" + assets()[name].version }

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.RawQuery == "v="+a.version {
		w.Header().Set("Cache-Control", "max-age=31536000, immutable")
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(a.small)
		return
	}
	_, _ = w.Write(a.data)
}

var ports = regexp.MustCompile(`(?m)^(import .*|export )`)

// bundled is the page's script: one request and one script instead of one for each module,
// which a slow phone notices. The modules share a scope, and no two a name: a browser would
// run none of it.
func bundled() []byte {
	var b bytes.Buffer
	b.WriteString("\"use strict\";{\n")
	for _, name := range modules {
		b.Write(squeezed(name+".js", ports.ReplaceAll(source(name+".js"), nil)))
	}
	b.WriteString("}")
	return b.Bytes()
}

// Spaces that a script, outside of its texts, or a style can do without.
var (
	scriptRoom = regexp.MustCompile(` ?([-+*/%=<>!&|?:;,(){}]|\[|\]) ?`)
	scriptEnds = strings.NewReplacer(";\n}", "}", ";}", "}", "}\n}", "}}", "{\n", "{", ";\n", ";", ",\n", ",")
	styleRoom  = strings.NewReplacer(" { ", "{", " {", "{", "; }", "}", " }", "}", "; ", ";", ": ", ":", ", ", ",", " > ", ">", "\n", "")
	texts      = regexp.MustCompile("\"[^\"\\n]*\"|`[^`]*`")
)

// squeezed is a script or a style without its indentation, its comments and the spaces
// that it needs not. What is served so has no text that goes over several lines.
func squeezed(name string, data []byte) []byte {
	lines := string(withoutComments(data))
	if strings.HasSuffix(name, ".css") {
		return []byte(styleRoom.Replace(lines))
	}
	var b bytes.Buffer
	from := 0
	for _, at := range texts.FindAllStringIndex(lines, -1) {
		b.WriteString(script(lines[from:at[0]]) + lines[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(script(lines[from:]))
	return b.Bytes()
}

// script is a piece of a script outside of its texts, without room around its signs.
// Patterns in it have no spaces.
func script(s string) string { return scriptEnds.Replace(scriptRoom.ReplaceAllString(s, "$1")) }

func withoutComments(data []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if i := bytes.LastIndex(line, []byte(" // ")); i > 0 && bytes.Count(line[:i], []byte{'"'})%2 == 0 && bytes.Count(line[:i], []byte{'`'})%2 == 0 {
			line = line[:i]
		}
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) && !(bytes.HasPrefix(line, []byte("/*")) && bytes.HasSuffix(line, []byte("*/"))) {
			b.Write(append(line, '\n'))
		}
	}
	return b.Bytes()
}
