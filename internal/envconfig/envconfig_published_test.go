// SPDX-License-Identifier: Apache-2.0

package envconfig

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublishedVariables holds testdata/published.txt against what this package reads, with what
// default, and against README, which tells of what differs.
func TestPublishedVariables(t *testing.T) {
	text, err := os.ReadFile("testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := variablesRead(t)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, differs := strings.Cut(line, ": ")
		name, published, ok := strings.Cut(what, " ")
		if !ok {
			t.Errorf("%q: no default", line)
		}
		if differs {
			if reason == "" || !bytes.Contains(readme, []byte("`"+name+"`")) {
				t.Errorf("%s differs, and no reason says why, or README does not", name)
			}
			continue
		}
		switch def, read := defaults[name]; {
		case !read:
			t.Errorf("%s is not read", name)
		case def != published:
			t.Errorf("%s: the default is %s, want %s", name, def, published)
		}
	}
}

// variablesRead finds the names that os.Getenv and os.LookupEnv are called with, and the
// defaults that boolean and number give them, "-" where there is none. It has each name
// documented in the file that reads it.
func variablesRead(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	defaults := make(map[string]string)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		var comments strings.Builder
		for _, c := range f.Comments {
			comments.WriteString(c.Text())
		}
		ast.Inspect(f, func(n ast.Node) bool {
			name, def := variableIn(n)
			if name != "" && !strings.Contains(comments.String(), name) {
				t.Errorf("%s: no comment documents %s", file, name)
			}
			// The call with the default is around the one that reads.
			if _, known := defaults[name]; name != "" && !known {
				defaults[name] = def
			}
			return true
		})
	}
	return defaults
}

// variableIn reads the calls os.Getenv("X"), and f(os.Getenv("X"), default).
func variableIn(n ast.Node) (name, def string) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", ""
	}
	if len(call.Args) == 2 {
		name, _ = variableIn(call.Args[0])
		return name, valueOf(call.Args[1])
	}
	fn, isSelector := call.Fun.(*ast.SelectorExpr)
	arg, isLiteral := call.Args[0].(*ast.BasicLit)
	if isSelector && isLiteral && (fn.Sel.Name == "Getenv" || fn.Sel.Name == "LookupEnv") {
		name, _ = strconv.Unquote(arg.Value)
	}
	return name, "-"
}

// valueOf is the value of a default, that of bounds{def: ...} too, and "-" for a string.
func valueOf(e ast.Expr) string {
	if lit, ok := e.(*ast.CompositeLit); ok {
		e = lit.Elts[0].(*ast.KeyValueExpr).Value
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(e))
	if err != nil || v.Value == nil || v.Value.Kind() == constant.String {
		return "-"
	}
	return v.Value.ExactString()
}
