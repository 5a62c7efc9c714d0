package adapter_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// budget is how large the main module may be. Whoever makes it smaller lowers
// the limit in the same commit.
var budget = []struct {
	what  string
	count func(counted) int
	limit int
}{
	{"code lines", func(s counted) int { return s.code }, 65_414},
	{"lines of tests", func(s counted) int { return s.tests }, 54_688},
	{"packages", func(s counted) int { return len(s.packages) }, 55},
	{"lock sites in adapter and internal", func(s counted) int { return s.locks }, 86},
	{`comments "mu is held" in adapter and internal`, func(s counted) int { return s.held }, 1},
	{"public names", func(s counted) int { return s.public }, 277},
}

// counted is what the budget counts.
type counted struct {
	code     int             // lines that hold a token, without tests
	tests    int             // lines of test files
	packages map[string]bool // folders with Go files
	locks    int
	held     int
	public   int // exported names that a Go host can import, methods and fields apart
}

func TestBudget(t *testing.T) {
	s := counted{packages: map[string]bool{}}
	nested := "" // the module below the main one that the walk is in
	require.NoError(t, fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			if _, err := os.Stat(filepath.Join("..", name, "go.mod")); err == nil {
				nested = name + "/"
			}
			return nil
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			return err
		}
		if nested == "" || !strings.HasPrefix(name, nested) {
			s.add(name, src)
		}
		if importable(name) {
			s.public += publicNames(t, name, src)
		}
		return nil
	}))
	require.Greater(t, s.code, 10_000, "the walk saw too little")
	for _, b := range budget {
		n := b.count(s)
		t.Logf("%s: %d of %d", b.what, n, b.limit)
		if n > b.limit {
			t.Errorf("%s: counted %d, the limit is %d", b.what, n, b.limit)
		}
	}
}

func TestBudgetCounts(t *testing.T) {
	s := counted{packages: map[string]bool{}}
	s.add("internal/a/a.go", []byte("// a is called while mu is held.\npackage a\n\nvar s = `one\n\ntwo` // a comment beside code\n\n/* another\nof two lines */\nfunc a() {\n\tmu.Lock()\n\tmu.RLock()\n}\n"))
	s.add("internal/a/a_test.go", []byte("package a\n\nvar _ = mu.Lock()\n"))
	s.add("cmd/b/b.go", []byte("package b // mu is held\n\nvar _ = mu.Lock()\n"))
	require.Equal(t, counted{code: 10, tests: 3, packages: map[string]bool{"internal/a": true, "cmd/b": true}, locks: 2, held: 1}, s)

	require.Equal(t, 4, publicNames(t, "a.go", []byte("package a\n\nconst A, b = 1, 2\n\nvar C int\n\ntype D struct{ E int }\n\nfunc (D) F() {}\n\nfunc G() {}\n\nfunc h() {}\n")))
	require.True(t, importable("convert/a.go"))
	for _, name := range []string{"convert/a_test.go", "cmd/a/a.go", "convert/internal/a.go", "internal/a/a.go"} {
		require.False(t, importable(name), name)
	}
}

var (
	lockSite = regexp.MustCompile(`\.R?Lock\(\)`)
	muIsHeld = regexp.MustCompile(`mu (is )?held`)
)

// add counts a file of the main module.
func (s *counted) add(name string, src []byte) {
	s.packages[path.Dir(name)] = true
	if strings.HasSuffix(name, "_test.go") {
		s.tests += strings.Count(string(src), "\n")
		return
	}
	s.code += codeLines(src)
	if strings.HasPrefix(name, "adapter/") || strings.HasPrefix(name, "internal/") {
		s.locks += len(lockSite.FindAll(src, -1))
		s.held += len(muIsHeld.FindAll(src, -1))
	}
}

// codeLines counts the lines that hold a token.
func codeLines(src []byte) int {
	f := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(f, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return len(lines)
		case tok == token.SEMICOLON && lit == "\n":
			continue
		}
		for i := range strings.Count(lit, "\n") + 1 {
			lines[f.Line(pos)+i] = true
		}
	}
}

// importable reports whether a file is of a package that a Go host can import.
func importable(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "cmd/") && !strings.Contains("/"+name, "/internal/")
}

// publicNames counts the names that a file exports, methods and fields apart.
func publicNames(t *testing.T, name string, src []byte) (n int) {
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	require.NoError(t, err)
	if f.Name.Name == "main" {
		return 0
	}
	var names []*ast.Ident
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name)
				case *ast.ValueSpec:
					names = append(names, spec.Names...)
				}
			}
		}
	}
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}
