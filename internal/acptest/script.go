package acptest

import (
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"golang.org/x/tools/txtar"
)

// Script is one of a txtar file, with one row of each of its tables. A line is a command, one
// that begins with # a comment. 'x y' and "x\n" are one word, ” within the first is a quote, and
// $name is a variable.
//
// A table stands behind "each NAME..."; its rows begin with a tab, and give those variables. The
// script is played for each row of each table. "?name COMMAND" is for rows that have a value there
// which is neither empty nor no, "!name COMMAND" for the others.
type Script struct {
	Name  string
	Lines []string
	Vars  map[string]string
	// Uses, if set, is called before a variable is put in.
	Uses func(name string)
}

// Scripts are those of the files that a pattern names. Lines above the first of a file that
// begin with let are of all in it.
func Scripts(t *testing.T, pattern string) (scripts []*Script) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		require.NotEmpty(t, archive.Files, file)
		lets := strings.Join(regexp.MustCompile(`(?m)^let .*\n`).FindAllString(string(archive.Comment), -1), "")
		for _, f := range archive.Files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + f.Name
			scripts = append(scripts, tables(t, name, lets+string(f.Data))...)
		}
	}
	return scripts
}

// tables takes the tables off a script.
func tables(t *testing.T, name, text string) []*Script {
	rows := []*Script{{Name: name, Vars: map[string]string{}}}
	var lines, names []string
	var of []*Script // what a table multiplies
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "each "):
			names, of, rows = Words(t, line)[1:], rows, nil
		case strings.HasPrefix(line, "\t"):
			values := Words(t, line)
			require.Len(t, values, len(names), line)
			for _, r := range of {
				next := &Script{Name: r.Name + "/" + values[0], Vars: maps.Clone(r.Vars)}
				for i, v := range values {
					next.Vars[names[i]] = v
				}
				rows = append(rows, next)
			}
		case line != "" && line[0] != '#':
			lines = append(lines, line)
		}
	}
	for _, r := range rows {
		r.Lines = lines
	}
	return rows
}

var word = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\S+`)

// Words cuts a line of a script into words.
func Words(t testing.TB, line string) (list []string) {
	for _, w := range word.FindAllString(line, -1) {
		switch w[0] {
		case '\'':
			require.True(t, len(w) > 1 && strings.HasSuffix(w, "'"), line)
			w = strings.ReplaceAll(w[1:len(w)-1], "''", "'")
		case '"':
			text, err := strconv.Unquote(w)
			require.NoError(t, err, line)
			w = text
		}
		list = append(list, w)
	}
	return list
}

var variable = regexp.MustCompile(`\$[a-z]+`)

// Command is what a line says: its words, with variables and those that stand in them, or
// none if the line is not for this row.
func (s *Script) Command(t testing.TB, line string) []string {
	a := Words(t, line)
	for ; len(a[0]) > 1 && (a[0][0] == '?' || a[0][0] == '!'); a = a[1:] {
		v, ok := s.Vars[a[0][1:]]
		require.True(t, ok, line)
		if (v != "" && v != "no") != (a[0][0] == '?') {
			return nil
		}
	}
	for i := range a {
		for range 3 {
			a[i] = variable.ReplaceAllStringFunc(a[i], func(name string) string {
				if s.Uses != nil {
					s.Uses(name[1:])
				}
				v, ok := s.Vars[name[1:]]
				require.True(t, ok, "no %s: %s", name, line)
				return v
			})
		}
	}
	return a
}

// Check holds a value against what a script says of it, and returns the words behind that: = V,
// != V, ~ V (it holds V), !~ V, ^ V, $ V (it begins, ends with V), json V, raw V, shorter N, exists,
// absent.
func Check(t testing.TB, line string, got gjson.Result, a []string) (rest []string) {
	t.Helper()
	if a[0] == "exists" || a[0] == "absent" {
		require.Equal(t, a[0] == "exists", got.Exists(), "%s: %s", line, got.Raw)
		return a[1:]
	}
	require.Greater(t, len(a), 1, line)
	text, want := got.String(), a[1]
	switch a[0] {
	case "=":
		require.Equal(t, want, text, line)
	case "!=":
		require.NotEqual(t, want, text, line)
	case "~":
		require.Contains(t, text, want, line)
	case "!~":
		require.NotContains(t, text, want, line)
	case "^":
		require.Regexp(t, "^"+regexp.QuoteMeta(want), text, line)
	case "$":
		require.Regexp(t, regexp.QuoteMeta(want)+"$", text, line)
	case "json":
		require.JSONEq(t, want, got.Raw, line)
	case "raw":
		require.Equal(t, want, got.Raw, line)
	case "shorter":
		most, err := strconv.Atoi(want)
		require.NoError(t, err, line)
		require.Less(t, len(text), most, line)
	default:
		require.Fail(t, "no such check", line)
	}
	return a[2:]
}

// Whole is a text as [Check] takes it.
func Whole(text string) gjson.Result { return gjson.Result{Type: gjson.String, Str: text, Raw: text} }
