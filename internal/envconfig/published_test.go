// SPDX-License-Identifier: Apache-2.0

package envconfig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublishedVariables holds testdata/published.txt against what this package reads.
func TestPublishedVariables(t *testing.T) {
	text, err := os.ReadFile("testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	read := variablesRead(t)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, excused := strings.Cut(line, ": ")
		switch {
		case excused && reason == "":
			t.Errorf("%s means nothing here, and no reason says why", name)
		case !excused && !read[name]:
			t.Errorf("%s is not read", name)
		}
	}
}

// variablesRead finds the names that os.Getenv and os.LookupEnv are called with, and has
// each documented in the file that reads it.
func variablesRead(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]bool)
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
		for _, name := range namesIn(f) {
			read[name] = true
			if !strings.Contains(comments.String(), name) {
				t.Errorf("%s: no comment documents %s", file, name)
			}
		}
	}
	return read
}

func namesIn(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		fn, isSelector := call.Fun.(*ast.SelectorExpr)
		arg, isLiteral := call.Args[0].(*ast.BasicLit)
		if isSelector && isLiteral && (fn.Sel.Name == "Getenv" || fn.Sel.Name == "LookupEnv") {
			if name, err := strconv.Unquote(arg.Value); err == nil {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}
