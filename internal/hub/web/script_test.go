package web_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// TestScripts plays each file of each testdata/scripts/*.txtar: requests to a hub of its own. A
// line is a command; one that begins with # is a comment. 'x y' is one word, $name a variable.
//
//	device bot ask                   a device with a right, and its groups
//	202 POST @c1/ask $database as bot   a request to conversation c1, and its status; who sends
//	                                 it, if not the owner
//	  state.type = working           what is true of the reply; see checks
//	415 POST @c1/respond x Accept:text/html   with a header
//	keep first state.revision        a variable is a part of the reply; let NAME TEXT: a text
//	open 1                           so many questions are open
//	mark c1                          this question is remembered;
//	same c1                          it is as it was
//
// What a hub refuses is JSON with one sentence, unless it was asked for something else.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scripts/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, script := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+script.Name, func(t *testing.T) {
				t.Parallel()
				s := &scripted{site: newSite(t, hub.Options{}), marked: map[string]*hub.Record{}, vars: map[string]string{
					"database": database, "features": features, "azure": blueCall, "sqlite": `{"answers":{"Which database?":"SQLite"}}`,
					"owner": "Bearer " + token, "large": strings.Repeat("x", 1<<20+1), "form": "application/x-www-form-urlencoded",
				}}
				for line := range strings.Lines(string(archive.Comment) + string(script.Data)) {
					if s.line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "let ") || !strings.Contains(string(archive.Comment), line) {
						s.play(scriptWords(t, s.line))
					}
				}
			})
		}
	}
}

var scriptWord = regexp.MustCompile(`'[^']*'|\S+`)

func scriptWords(t *testing.T, line string) (list []string) {
	for _, w := range scriptWord.FindAllString(line, -1) {
		if w[0] == '\'' {
			require.True(t, len(w) > 1 && strings.HasSuffix(w, "'"), line)
			w = w[1 : len(w)-1]
		}
		list = append(list, w)
	}
	return list
}

// scripted is a hub with a script.
type scripted struct {
	*site
	line   string
	vars   map[string]string
	marked map[string]*hub.Record
	reply  string // the body of the last one
	never  []string
}

var (
	scriptVar = regexp.MustCompile(`\$[a-z]+`)
	header    = regexp.MustCompile(`^[A-Z][A-Za-z-]+:`)
)

func (s *scripted) play(a []string) {
	s.t.Helper()
	if len(a) == 0 || a[0][0] == '#' {
		return
	}
	for i := range a {
		a[i] = scriptVar.ReplaceAllStringFunc(a[i], func(name string) string {
			v, ok := s.vars[name[1:]]
			require.True(s.t, ok, "no %s: %s", name, s.line)
			return v
		})
	}
	switch {
	case s.line[0] == ' ':
		s.checks(a)
		return
	case a[0][0] >= '1' && a[0][0] <= '9':
		status, err := strconv.Atoi(a[0])
		require.NoError(s.t, err, s.line)
		s.requests(status, a[1], a[2], a[3:])
		return
	}
	switch a[0] {
	case "device":
		s.vars[a[1]] = "Bearer " + s.device(a[1], web.Can(a[2]), a[3:]...)
	case "remove":
		require.NoError(s.t, s.access.Remove(a[1]))
	case "starts": // a hub, with what another one left
		require.NoError(s.t, s.server.Abandon(s.t.Context()))
	case "let":
		s.vars[a[1]] = a[2]
	case "keep":
		s.vars[a[1]] = gjson.Get(s.reply, a[2]).String()
	case "never": // is one of these in a reply from here on, however it is written
		s.never = a[1:]
	case "open":
		_, open := s.board.Waiting(10)
		require.Equal(s.t, a[1], strconv.Itoa(open), s.line)
	case "mark":
		s.marked[a[1]] = s.find(a[1], "")
	case "same":
		require.Equal(s.t, s.marked[a[1]], s.find(a[1], ""), s.line)
	default:
		require.Fail(s.t, "no such command", s.line)
	}
}

// requests sends a request: METHOD PATH, and then the body, Header:value, as NAME in any order.
func (s *scripted) requests(status int, method, path string, more []string) {
	s.t.Helper()
	body, asked := "", "application/json"
	var headers []string
	for i := 0; i < len(more); i++ {
		switch name, value, _ := strings.Cut(more[i], ":"); {
		case more[i] == "as":
			i++
			headers = append(headers, "Authorization", s.vars[more[i]])
		case header.MatchString(more[i]):
			if headers = append(headers, name, value); name == "Accept" {
				asked = value
			}
		default:
			body = more[i]
		}
	}
	if rest, ok := strings.CutPrefix(path, "@"); ok {
		path = "/conversations/" + rest
	}
	reply, data := s.request(method, path, body, headers...)
	require.Equal(s.t, status, reply.StatusCode, "%s: %s", s.line, data)
	for _, text := range s.never {
		require.NotContains(s.t, strings.ToLower(data), text, s.line)
	}
	if s.reply = data; status >= http.StatusBadRequest && asked == "application/json" && method != http.MethodHead {
		require.Equal(s.t, "application/json", reply.Header.Get("Content-Type"), s.line)
		require.True(s.t, json.Valid([]byte(data)), "%s: %s", s.line, data)
		require.Regexp(s.t, `^[^\n]+$`, gjson.Get(data, "error").Str, s.line)
	}
}

// checks holds the last reply against what a script says of it: PATH = V, != V, ~ V (it holds V), !~ V,
// json V, shorter N, exists, absent. The path . is all of it.
func (s *scripted) checks(a []string) {
	s.t.Helper()
	for ; len(a) > 1; a = a[2:] {
		got := gjson.Get(s.reply, a[0])
		text := got.String()
		if a[0] == "." {
			got.Raw, text = s.reply, s.reply
		}
		if a[1] == "exists" || a[1] == "absent" {
			require.Equal(s.t, a[1] == "exists", got.Exists(), "%s: %s", s.line, s.reply)
			continue
		}
		require.Greater(s.t, len(a), 2, s.line)
		switch a[1] {
		case "=":
			require.Equal(s.t, a[2], text, "%s: %s", s.line, s.reply)
		case "~":
			require.Contains(s.t, text, a[2], s.line)
		case "!=":
			require.NotEqual(s.t, a[2], text, s.line)
		case "!~":
			require.NotContains(s.t, text, a[2], s.line)
		case "shorter":
			most, err := strconv.Atoi(a[2])
			require.NoError(s.t, err, s.line)
			require.Less(s.t, len(text), most, s.line)
		case "json":
			require.JSONEq(s.t, a[2], got.Raw, s.line)
		default:
			require.Fail(s.t, "no such check", s.line)
		}
		a = a[1:]
	}
	require.Empty(s.t, a, s.line)
}
