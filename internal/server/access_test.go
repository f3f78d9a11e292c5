package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A route without a check of access does not exist: methods take a grant, which only package access makes, and only
// package route registers them, behind the check.
func TestRoutes_HaveOneCheckOfAccess(t *testing.T) {
	fset, registered, takes := token.NewFileSet(), 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		made := func(n ast.Node, what ast.Expr) {
			if dir != "access" && isOf(what, "access", "Grant") {
				t.Errorf("%s: a grant that no check has made", fset.Position(n.Pos()))
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CompositeLit:
				made(x, x.Type)
			case *ast.ValueSpec:
				made(x, x.Type)
			case *ast.CallExpr:
				if isOf(x.Fun, "huma", "Register") {
					registered++
					if dir != "route" {
						t.Errorf("%s: registered without a check", fset.Position(x.Pos()))
					}
				}
				if id, is := x.Fun.(*ast.Ident); is && id.Name == "new" {
					made(x, x.Args[0])
				}
			case *ast.Field:
				if isOf(x.Type, "access", "Grant") {
					takes++
				}
			}
			return true
		})
		return nil
	})
	if err != nil || registered != 1 || takes < 40 {
		t.Errorf("%d registrations, %d methods with a grant: %v", registered, takes, err)
	}
}

// isOf reports whether an expression is a name of a package.
func isOf(x ast.Expr, pkg, name string) bool {
	s, is := x.(*ast.SelectorExpr)
	if !is {
		return false
	}
	id, is := s.X.(*ast.Ident)
	return is && id.Name == pkg && s.Sel.Name == name
}
