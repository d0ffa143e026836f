// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// What a struct may have at most. A larger one is several things: they get types of their
// own, as values inside it. Several bools are states that exclude each other.
const (
	maxFields = 25
	maxBools  = 4
)

// TestStructs walks the sources of the module, but not those of nested modules. Options
// are lists by nature, and are left out.
func TestStructs(t *testing.T) {
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && isModule(path):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				checkStruct(t, fset, spec)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isModule reports whether dir has a go.mod, or holds what is no source of the module.
func isModule(dir string) bool {
	if name := filepath.Base(dir); name == "testdata" || strings.HasPrefix(name, ".") {
		return true
	}
	found, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(found) > 0
}

func checkStruct(t *testing.T, fset *token.FileSet, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok || isOptions(spec.Name.Name) {
		return
	}
	fields, bools := 0, 0
	for _, f := range s.Fields.List {
		n := max(len(f.Names), 1)
		fields += n
		if id, ok := f.Type.(*ast.Ident); ok && id.Name == "bool" {
			bools += n
		}
	}
	if fields > maxFields {
		t.Errorf("%v: %s has %d fields, more than %d", fset.Position(spec.Pos()), spec.Name.Name, fields, maxFields)
	}
	if bools > maxBools {
		t.Errorf("%v: %s has %d bools, more than %d", fset.Position(spec.Pos()), spec.Name.Name, bools, maxBools)
	}
}

// isOptions reports whether a type of this name lists what a program may set, or is the
// published API's.
func isOptions(name string) bool {
	switch name {
	case "Begin": // stats
		return true
	case "Features", "LoadMetrics": // internal/xds/resource
		return true
	}
	for _, end := range []string{"Options", "options", "Config", "config", "Params"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
