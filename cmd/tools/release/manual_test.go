package main

import (
	"flag"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write the topics of the help anew that are made of comments")

// What the comments of packages tell users is in the help, too.
func TestManualWithoutACheckout(t *testing.T) {
	written(t, "../../acp-bridge/topics/claude.txt", "Coming from claude-agent-acp",
		docPart{Dir: "../../../internal/claude/backend", Heading: "Beside claude-agent-acp"})
}

// docPart is a section of a package's comment.
type docPart struct{ Dir, Heading string }

// written requires that a topic's text is what the comments of packages say, so
// that those who have no checkout read the same. With -update it is written anew.
func written(t *testing.T, file, title string, parts ...docPart) {
	t.Helper()
	text := title + "\n"
	for _, p := range parts {
		if len(parts) > 1 {
			text += "\n" + strings.ToUpper(p.Heading)
		}
		text += "\n" + topic(t, p)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(data), "%s is made of package comments: go -C cmd/tools test ./release -run %s -update writes it anew", file, t.Name())
}

// topic is one part of a package's comment as text.
func topic(t *testing.T, p docPart) string {
	t.Helper()
	doc := new(comment.Parser).Parse(packageComment(t, p.Dir))
	var found []comment.Block
	inside := false
	for _, block := range doc.Content {
		if h, ok := block.(*comment.Heading); ok {
			inside = headingText(h) == p.Heading
			continue
		}
		if inside {
			found = append(found, block)
		}
	}
	require.NotEmpty(t, found, "%s has no section %q", p.Dir, p.Heading)
	var out []string
	for _, block := range found {
		if code, ok := block.(*comment.Code); ok {
			out = append(out, asList(code.Text))
			continue
		}
		printer := comment.Printer{TextWidth: cli.Width}
		out = append(out, string(printer.Text(&comment.Doc{Content: []comment.Block{block}, Links: doc.Links})))
	}
	return linked.ReplaceAllString(strings.Join(out, "\n"), "$1")
}

// linked is the name of something of the package, as comments link to it.
var linked = regexp.MustCompile(`\[(\w[\w.]*)\]`)

func headingText(h *comment.Heading) string {
	text := ""
	for _, part := range h.Text {
		if plain, ok := part.(comment.Plain); ok {
			text += string(plain)
		}
	}
	return text
}

func packageComment(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		if f.Doc != nil && !strings.HasSuffix(name, "_test.go") {
			return f.Doc.Text()
		}
	}
	require.Fail(t, "no comment", "%s has no package comment", dir)
	return ""
}

// asList makes a list of a table that is too wide for a terminal: a row with what
// its columns are called. Any other code stays as it is.
func asList(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if !strings.HasPrefix(lines[0], "|") {
		return cli.Indent(code, "  ")
	}
	names, b := cellsOf(lines[0]), strings.Builder{}
	for _, line := range lines[2:] {
		row := cellsOf(line)
		fmt.Fprintf(&b, "  %s\n", row[0])
		for i, cell := range row[1:] {
			if cell != "" {
				b.WriteString(cli.Indent(cli.Wrap(names[i+1]+": "+cell, cli.Width-6), "      "))
			}
		}
	}
	return b.String()
}

func cellsOf(line string) []string {
	list := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range list {
		list[i] = strings.ReplaceAll(strings.TrimSpace(list[i]), "**", "")
	}
	return list
}
