package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// draw returns every small change that could be made to the code of the packages
// whose folder matches, in an order given by the seed. Nobody chose them: a
// condition is negated, && and || take each other's place, a comparison is off by
// one, a call is left out. What only says something in a log stays as it is, and so
// do packages that are there for tests. The tests of each are those of its package.
func draw(root string, packages *regexp.Regexp, seed uint64) (list []mutation, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"), !packages.MatchString(filepath.Dir(name)), !hasTests(filepath.Dir(path)):
			return nil
		}
		some, err := changes(path, name)
		list = append(list, some...)
		return err
	})
	rnd := rand.New(rand.NewPCG(seed, 0))
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, err
}

func hasTests(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return len(files) > 0
}

// swapped are operators and what takes their place.
var swapped = map[token.Token]string{
	token.LAND: "||", token.LOR: "&&", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
}

// changes are those of one file.
func changes(path, name string) (list []mutation, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(what string, from, to token.Pos, with string) {
		at, end := files.Position(from), files.Position(to)
		list = append(list, mutation{
			set: "drawn", title: name + ":" + at.String()[len(path)+1:] + ": " + what, file: name,
			tests: []tests{{pkg: "./" + filepath.ToSlash(filepath.Dir(name))}},
			drawn: true, at: at.Offset, old: string(text[at.Offset:end.Offset]), new: with,
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if n.Else == nil && saysOnly(n.Body.List) {
				return false
			}
			cond := string(text[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset])
			add("the condition is negated", n.Cond.Pos(), n.Cond.End(), "!("+cond+")")
		case *ast.BinaryExpr:
			if with := swapped[n.Op]; with != "" {
				add(n.Op.String()+" becomes "+with, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
			}
		case *ast.ExprStmt:
			if _, ok := n.X.(*ast.CallExpr); ok && !tells(n) {
				add("a call is left out", n.Pos(), n.End(), "")
			}
		}
		return true
	})
	return list, nil
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
