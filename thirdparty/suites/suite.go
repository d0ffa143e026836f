// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/internal/checkout"
)

const grpcModule = "google.golang.org/grpc"

// test copies the suite's module and runs its tests there, against this module.
func (w workshop) test(ctx context.Context, s suite) (*outcome, error) {
	dir, err := w.copyModule(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := w.redirect(ctx, dir, s); err != nil {
		return nil, err
	}
	// The copy's go.mod and go.sum follow from the replacement, and so does its version of Go,
	// with which vet looks for more than the authors had it look for.
	args := append([]string{"test", "-mod=mod", "-vet=off", "-json", "-count=1", "-timeout=20m"}, w.args...)
	if s.tags != "" {
		args = append(args, "-tags="+s.tags)
	}
	if s.short {
		args = append(args, "-short")
	}
	if s.run != "" {
		args = append(args, "-run="+s.run)
	}
	o, err := w.runTests(ctx, dir, append(args, s.packages...))
	if err != nil {
		return nil, err
	}
	if len(s.builds) > 0 {
		if err := buildAll(ctx, dir, s, o); err != nil {
			return nil, err
		}
	}
	if s.script != "" {
		if err := testPairs(ctx, dir, s, o); err != nil {
			return nil, err
		}
	}
	if s.mesh != "" {
		module, _, _ := strings.Cut(s.module, "@")
		o.note(testID{pkg: module, test: s.mesh}, func() (string, error) { return w.runMesh(ctx, dir, s.mesh) })
	}
	return o, nil
}

// runTests runs `go test -json` with the arguments.
func (workshop) runTests(ctx context.Context, dir string, args []string) (*outcome, error) {
	cmd := goCommand(ctx, dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o, readErr := readOutcome(out)
	switch err := cmd.Wait(); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("broken off: %w", ctx.Err())
	case readErr != nil:
		return nil, fmt.Errorf("%w\n%s", readErr, stderr.Bytes())
	case err != nil && len(o.failed) == 0:
		return nil, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	return o, nil
}

// copyModule returns the copy's folder, which may be written to.
func (w workshop) copyModule(ctx context.Context, s suite) (dir string, err error) {
	source := filepath.Join(w.root, s.module)
	if s.module[0] != '.' {
		var info struct{ Dir, Error string }
		if err := goJSON(ctx, w.dir, &info, "mod", "download", "-json", s.module); err != nil {
			return "", fmt.Errorf("%w %s", err, info.Error)
		}
		source = info.Dir
	}
	if dir, err = os.MkdirTemp(w.dir, "suite"); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return "", err
	}
	for _, name := range s.remove {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return "", err
		}
	}
	// What the module cache holds is read-only; `go test` writes to these two, and tests
	// write beside themselves.
	return dir, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o755)
		case d.Name() == "go.mod" || d.Name() == "go.sum":
			return os.Chmod(path, 0o644)
		}
		return nil
	})
}

// redirect has the copy use the module under test. Other replacements stay, but for those that
// lead to folders, which only the suite's own repository has.
func (w workshop) redirect(ctx context.Context, dir string, s suite) error {
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := goJSON(ctx, dir, &mod, "mod", "edit", "-json"); err != nil {
		return err
	}
	edit := []string{"mod", "edit"}
	for _, r := range mod.Replace {
		if r.New.Version != "" && r.Old.Path != grpcModule {
			continue
		}
		old := r.Old.Path
		if r.Old.Version != "" {
			old += "@" + r.Old.Version
		}
		edit = append(edit, "-dropreplace="+old)
	}
	for _, r := range s.drop {
		edit = append(edit, "-droprequire="+r)
	}
	for _, r := range s.require {
		edit = append(edit, "-require="+r)
	}
	if w.grpc == "" {
		version, err := checkout.PublishedVersion(w.root)
		if err != nil {
			return err
		}
		edit = append(edit, "-require="+grpcModule+"@"+version)
	} else {
		edit = append(edit, "-replace="+grpcModule+"="+w.grpc)
	}
	cmd := goCommand(ctx, dir, edit...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
