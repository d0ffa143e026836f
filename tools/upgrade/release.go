// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// release is what the command finds out about a release.
type release struct {
	dir      string   // the folder of a module that requires only this release
	packages []string // the packages of the module, without internal ones
	requires []string // "module version"
	tests    []string // "package: TestName"
}

// fetch downloads a release with the go command into the module cache, and returns what the
// command finds out about it.
func fetch(ctx context.Context, dir, version string) (r release, err error) {
	r.dir = dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	mod := "module upgrade\n\ngo 1.26.0\n\nrequire " + module + " " + version + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		return r, err
	}
	out, err := output(ctx, dir, "go", "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return r, err
	}
	var got struct{ Dir, GoMod string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		return r, err
	}
	if r.requires, err = requirements(ctx, dir, got.GoMod); err != nil {
		return r, err
	}
	if r.tests, err = testNames(got.Dir); err != nil {
		return r, err
	}
	list, err := output(ctx, dir, "go", "list", module+"/...")
	if err != nil {
		return r, err
	}
	for p := range strings.FieldsSeq(list) {
		if !slices.Contains(strings.Split(p, "/"), "internal") {
			r.packages = append(r.packages, p)
		}
	}
	return r, nil
}

// requirements returns the version of Go and the direct requirements in a go.mod.
func requirements(ctx context.Context, dir, gomod string) (found []string, err error) {
	out, err := output(ctx, dir, "go", "mod", "edit", "-json", gomod)
	if err != nil {
		return nil, err
	}
	var mod struct {
		Go      string
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return nil, err
	}
	found = append(found, "go "+mod.Go)
	for _, r := range mod.Require {
		if !r.Indirect {
			found = append(found, r.Path+" "+r.Version)
		}
	}
	return found, nil
}

// testNames returns the names of the tests below root. It looks only at names, not at the tests'
// code.
func testNames(root string) (found []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isTest(fn.Name.Name) {
				found = append(found, filepath.ToSlash(folder)+": "+fn.Name.Name)
			}
		}
		return nil
	})
	return found, err
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") && name != "TestMain" && name != "Test" ||
		strings.HasPrefix(name, "Fuzz")
}

// changes returns the entries that are in only one of two lists: first "new: x", then "gone: x".
func changes(older, newer []string) (found []string) {
	in := func(list []string) map[string]bool {
		set := make(map[string]bool, len(list))
		for _, s := range list {
			set[s] = true
		}
		return set
	}
	was, is := in(older), in(newer)
	for s := range is {
		if !was[s] {
			found = append(found, "new: "+s)
		}
	}
	for s := range was {
		if !is[s] {
			found = append(found, "gone: "+s)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if kind := strings.Compare(b[:3], a[:3]); kind != 0 {
			return kind
		}
		return strings.Compare(a, b)
	})
	return found
}
