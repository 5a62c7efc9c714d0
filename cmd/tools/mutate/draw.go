package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// drawn is a small change that nobody chose. It stands in the code beside what it
// changes; a switch says which of the two is done.
type drawn struct {
	name  string // of the file, the function, what is changed: it stays when lines move
	dir   string // of the package
	file  string
	line  int
	edits []edit
	rank  uint64
}

// edit is a piece of text in place of another. %d in it is the number of the switch.
type edit struct {
	from, to int
	text     string
	nth      int // of the file's changes: what is around another comes before it
	closes   bool
}

// draw returns every small change that could be made to the code of the packages
// whose folder matches, in an order given by the seed: a condition is negated, && and
// || take each other's place, a comparison is off by one, a call is left out. What
// only says something in a log stays as it is, and so do packages that are there for
// tests, modules below this one, and code for other systems. A change keeps its place in the order when other
// code changes.
func draw(root string, packages *regexp.Regexp, seed uint64) (list []drawn, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		_, err = os.Stat(filepath.Join(path, "go.mod"))
		switch {
		case d.IsDir() && name != "." && (err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"), !packages.MatchString(filepath.Dir(name)), !hasTests(filepath.Dir(path)):
			return nil
		}
		if here, err := build.Default.MatchFile(filepath.Dir(path), d.Name()); err != nil || !here {
			return err
		}
		some, err := changes(path, name)
		list = append(list, some...)
		return err
	})
	for i := range list {
		list[i].rank = rank(seed, list[i].name)
	}
	slices.SortFunc(list, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	return list, err
}

func rank(seed uint64, name string) uint64 {
	h := fnv.New128a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	h.Write([]byte(name))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

func hasTests(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return len(files) > 0
}

// swapped are operators, what takes their place, and the function of the switch.
var swapped = map[token.Token][2]string{
	token.LAND: {"||", "mutantAnd"}, token.LOR: {"&&", "mutantOr"},
	token.LSS: {"<=", "mutantLess"}, token.LEQ: {"<", "mutantAtMost"}, token.GTR: {">=", "mutantMore"}, token.GEQ: {">", "mutantAtLeast"},
}

// changes are those of one file.
func changes(path, name string) (list []drawn, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	within := ""
	times := map[string]int{}
	add := func(what string, n ast.Node, edits ...edit) {
		from, to := offset(n.Pos()), offset(n.End())
		title := fmt.Sprintf("%s %s: %s: %s", name, within, what, strings.Join(strings.Fields(string(text[from:to])), " "))
		if times[title]++; times[title] > 1 {
			title += fmt.Sprintf(" (%d)", times[title])
		}
		for i := range edits {
			edits[i].nth = len(list)
		}
		list = append(list, drawn{name: title, dir: filepath.ToSlash(filepath.Dir(name)), file: name, line: files.Position(n.Pos()).Line, edits: edits})
	}
	around := func(n ast.Node, before, after string) []edit {
		from, to := offset(n.Pos()), offset(n.End())
		return []edit{{from: from, to: from, text: before}, {from: to, to: to, text: after, closes: true}}
	}
	for _, d := range file.Decls {
		within = nameOf(d)
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if n.Else == nil && saysOnly(n.Body.List) {
					return false
				}
				add("negated", n.Cond, around(n.Cond, "mutantNot(%d, ", ")")...)
			case *ast.BinaryExpr:
				with := swapped[n.Op]
				if with[0] == "" {
					return true
				}
				then, end := ",", ")"
				if n.Op == token.LAND || n.Op == token.LOR {
					then, end = ", func() bool { return (", ") })"
				}
				op := offset(n.OpPos)
				add(n.Op.String()+" becomes "+with[0], n, append(around(n, with[1]+"(%d, ", end), edit{from: op, to: op + len(n.Op.String()), text: then})...)
			case *ast.ExprStmt:
				if _, ok := n.X.(*ast.CallExpr); ok && !tells(n) {
					add("left out", n, around(n, "if !mutant(%d) { ", " }")...)
				}
			}
			return true
		})
	}
	return list, nil
}

// nameOf is the name of a function with its receiver's, or var.
func nameOf(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return "var"
	}
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// saysOnly reports whether statements do nothing but write to a log.
func saysOnly(list []ast.Stmt) bool {
	for _, s := range list {
		if !tells(s) {
			return false
		}
	}
	return len(list) > 0
}

// tells reports whether a statement only writes to a log.
func tells(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "Debug" || f.Sel.Name == "Info" || f.Sel.Name == "Warn" || f.Sel.Name == "Error")
}

// equivalent reads the changes that change nothing anybody could see, each with a
// reason: a name, a tab, the reason.
func equivalent(root string) (map[string]string, error) {
	file, err := os.Open(filepath.Join(root, "cmd", "tools", "mutate", "testdata", "equivalent.tsv"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reasons := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, reason, ok := strings.Cut(lines.Text(), "\t"); ok {
			reasons[name] = reason
		}
	}
	return reasons, nil
}
