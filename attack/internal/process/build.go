// SPDX-License-Identifier: Apache-2.0

// Package process builds the victims and runs them.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The implementations by name. Any other name is the path of a victim that was built
// before, such as one of an earlier commit.
const (
	Ours      = "ours"
	Published = "published"
)

// Build builds the victim of an implementation and returns the path of the program.
func Build(ctx context.Context, impl string) (string, error) {
	args := []string{"build"}
	switch impl {
	case Ours:
	case Published:
		args = append(args, "-modfile=published.mod", "-tags=published")
	default:
		path, err := filepath.Abs(impl)
		if err == nil {
			_, err = os.Stat(path)
		}
		return path, err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	out, err := OutDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(out, "victim-"+impl)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, "./cmd/victim")...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the victim of %s: %w\n%s", impl, err, text)
	}
	return path, nil
}

// Root is the folder of this module, found from the current folder: there, below or above.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "attack")} {
			_, err := os.Stat(filepath.Join(candidate, "cmd", "victim", "main.go"))
			if err == nil {
				return candidate, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run this in a checkout of the module")
		}
		dir = up
	}
}

// OutDir is the folder for results, which is made when it does not exist.
func OutDir() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(root), "out", "attack")
	return dir, os.MkdirAll(dir, 0o755)
}
