// SPDX-License-Identifier: Apache-2.0

// Package process builds the victims and runs them.
package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"google.golang.org/grpc/internal/checkout"
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

var checkedOut = checkout.Program{Name: "attack", Mark: "cmd/victim/main.go"}

// Root is the folder of this module.
func Root() (string, error) { return checkedOut.Root() }

// OutDir is the folder for results, which is made when it does not exist.
func OutDir() (string, error) { return checkedOut.Out() }
