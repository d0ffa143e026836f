// SPDX-License-Identifier: Apache-2.0

// Package programs builds the client and the server of package interop, with this module
// and with the published one, and with this module for other systems.
package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The implementations.
const (
	Ours      = "ours"
	Published = "published"
)

// Where the sources are, from the root of the module, and what they are imported as.
const (
	sourceDir    = "interop"
	publishedDir = "interop/published"
	sourcePath   = "google.golang.org/grpc/interop"
	copiedPath   = "google.golang.org/grpc/interop/published"
)

// Programs are the paths of the two built programs of one implementation.
type Programs struct{ Client, Server string }

// Build builds the two programs of an implementation into dir, ours with the race detector if
// wanted. It has to run in the root of the module.
func Build(ctx context.Context, impl, dir string, race bool) (Programs, error) {
	source := sourceDir
	if impl == Published {
		race = false
		source = filepath.Join(dir, "src")
		if err := copySources(source); err != nil {
			return Programs{}, fmt.Errorf("copying the sources: %w", err)
		}
	}
	o := order{source: source, stem: filepath.Join(dir, impl), goos: runtime.GOOS}
	if race {
		o.flags = []string{"-race"}
	}
	return o.build(ctx)
}

// BuildFor builds those of this module for another system, GOOS/GOARCH, into dir. It has to
// run in the root of the module.
func BuildFor(ctx context.Context, system, dir string) (Programs, error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return Programs{}, fmt.Errorf("%q is not a system like linux/arm64", system)
	}
	return order{
		source: sourceDir,
		env:    []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"},
		stem:   filepath.Join(dir, goos+"-"+goarch),
		goos:   goos,
	}.build(ctx)
}

// order says what to build.
type order struct {
	source     string // the folder of the two programs' folders
	flags, env []string
	stem       string // what the paths of the programs begin with
	goos       string
}

func (o order) build(ctx context.Context) (Programs, error) {
	suffix := ""
	if o.goos == "windows" {
		suffix = ".exe"
	}
	p := Programs{Client: o.stem + "-client" + suffix, Server: o.stem + "-server" + suffix}
	for _, prog := range []struct{ name, out string }{{"client", p.Client}, {"server", p.Server}} {
		args := append([]string{"build", "-o", prog.out}, o.flags...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./"+prog.name)...)
		cmd.Dir = o.source
		cmd.Env = append(os.Environ(), o.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("building %s: %w\n%s", filepath.Base(prog.out), err, out)
		}
	}
	return p, nil
}

// copySources makes dir a module that holds the interop sources and requires the
// published implementation. The published module has packages at the same import paths,
// so the copies get paths of their own.
func copySources(dir string) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(publishedDir, name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	for _, pkg := range []string{".", "grpc_testing", "client", "server"} {
		files, err := filepath.Glob(filepath.Join(sourceDir, pkg, "*.go"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return errors.New("no Go files in " + filepath.Join(sourceDir, pkg) + "; run in the root of the module")
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, pkg, filepath.Base(file))
			if err := write(to, moveImports(data)); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveImports rewrites the import paths of the interop packages to those of the copies.
// The packages below come first: a moved path looks like one of them.
func moveImports(src []byte) []byte {
	for _, end := range []string{`/`, `"`} {
		src = bytes.ReplaceAll(src, []byte(`"`+sourcePath+end), []byte(`"`+copiedPath+end))
	}
	return src
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), fs.ModePerm); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
