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

// A test file is in the folder of the code that it tests, and is named after it. In the folder
// of X_test.go, or of X_aspect_test.go, which tests one aspect of X, there must be
//
//   - X.go, or X_more.go for one system or build tag, or
//   - package X, if the file tests the package as a whole.
//
// Test files without a test, benchmark, fuzz target or example (a harness, a fake, TestMain)
// may have any name. So may test files in a folder that has only tests: they test code of
// other folders, and are named after that.

// lonely returns the test files below root, of all modules, that are not named after code in
// their folder.
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

// folder has what lonely must know of a folder of Go files.
type folder struct {
	path  string
	pkg   string   // the package's name; "" if the folder has only tests and documentation
	stems []string // the names of its files, without ".go"
	tests []string // the names of files with tests, without "_test.go"
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

// has reports whether the folder has a file or package that a test file with this stem is named
// after.
func (f *folder) has(test string) bool {
	for _, stem := range append(f.stems, f.pkg, filepath.Base(f.path)) {
		if test == stem || strings.HasPrefix(test, stem+"_") || strings.HasPrefix(stem, test+"_") {
			return true
		}
	}
	return false
}

// tests reports whether a file has a function, other than TestMain, that `go test` runs.
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
