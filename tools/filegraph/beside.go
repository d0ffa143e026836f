// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A test stands beside what it tests, and is named after it. X_test.go, or X_more_test.go
// where more says what of X it looks at, stands beside
//
//   - X.go, or X_more.go for one system or build tag, or
//   - package X, if it is of the package as a whole.
//
// Test files without a test, benchmark, fuzz target or example of their own (a harness, a
// fake, TestMain) may have any name. So may those of a folder that has nothing but tests:
// they test what stands elsewhere, and are named after that.

// lonely returns the test files below root, of all modules, that are named after nothing
// beside them.
func lonely(root string) (found []string, err error) {
	folders := map[string]*folder{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "out" || name == "testdata" || strings.HasPrefix(name, ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		dir := filepath.Dir(path)
		if folders[dir] == nil {
			folders[dir] = &folder{path: dir}
		}
		return folders[dir].add(d.Name())
	})
	for _, f := range folders {
		found = append(found, f.lonely()...)
	}
	return found, err
}

// folder is one of a module.
type folder struct {
	path  string
	pkg   string   // the package's name; "" if nothing but tests and documentation is here
	stems []string // of its files: their names without ".go"
	tests []string // the stems of files that test something, without "_test"
}

func (f *folder) add(name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(f.path, name), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	stem, isTest := strings.CutSuffix(strings.TrimSuffix(name, ".go"), "_test")
	switch {
	case isTest && tests(file):
		f.tests = append(f.tests, stem)
	case !isTest:
		f.stems = append(f.stems, stem)
		if stem != "doc" {
			f.pkg = file.Name.Name
		}
	}
	return nil
}

func (f *folder) lonely() (found []string) {
	if f.pkg == "" {
		return nil
	}
	for _, t := range f.tests {
		if !f.has(t) {
			found = append(found, fmt.Sprintf("%s_test.go", filepath.ToSlash(filepath.Join(f.path, t))))
		}
	}
	return found
}

// has reports whether something here is what a test is named after.
func (f *folder) has(test string) bool {
	for _, stem := range append(f.stems, f.pkg, filepath.Base(f.path)) {
		if test == stem || strings.HasPrefix(test, stem+"_") || strings.HasPrefix(stem, test+"_") {
			return true
		}
	}
	return false
}

// tests reports whether a file has a function that `go test` runs, but for TestMain.
func tests(file *ast.File) bool {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Name.Name == "TestMain" {
			continue
		}
		for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
			rest, ok := strings.CutPrefix(fn.Name.Name, prefix)
			if r, _ := utf8.DecodeRuneInString(rest); ok && !unicode.IsLower(r) {
				return true
			}
		}
	}
	return false
}
