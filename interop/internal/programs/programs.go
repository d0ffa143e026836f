// SPDX-License-Identifier: Apache-2.0

// Package programs builds the client and the server of package interop: with this module,
// with the published one, and with this module for other systems.
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

// The folders of the sources, below the root of the module, and their import paths.
const (
	sourceDir    = "interop"
	publishedDir = "interop/published"
	sourcePath   = "google.golang.org/grpc/interop"
	copiedPath   = "google.golang.org/grpc/interop/published"
)

// Programs has the paths of the two programs of one implementation.
type Programs struct{ Client, Server string }

// Build builds the two programs of an implementation into dir. If race is true, it builds this
// module's programs with the race detector. The working directory must be the root of the
// module.
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

// BuildFor builds this module's programs for another system into dir. system is GOOS/GOARCH.
// The working directory must be the root of the module.
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
	source     string // the folder with the folders client and server
	flags, env []string
	stem       string // the beginning of the paths of the programs
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

// moveImports replaces the import paths of the interop packages by those of the copies. It
// replaces the packages below interop first, because the path of the copy of interop itself
// looks like the path of such a package.
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
