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
	"slices"
	"strings"

	"google.golang.org/grpc/internal/checkout"
)

// The implementations by name. Any other name is the path of a victim that was built
// before, such as one of an earlier commit.
const (
	Ours      = "ours"
	Published = "published"
)

// Build builds the victim of an implementation and returns the path of the program. Extras is for
// the victim that has more than programs usually have.
func Build(ctx context.Context, impl string, extras bool) (string, error) {
	name := "victim-" + impl
	var tags []string
	if extras {
		tags, name = append(tags, "extras"), name+"-extras"
	}
	return build(ctx, impl, []string{"build"}, "./cmd/victim", name, tags)
}

// BuildPeer is Build for one side of a hunt.
func BuildPeer(ctx context.Context, impl string) (string, error) {
	return build(ctx, impl, []string{"build"}, "./cmd/peer", "peer-"+impl, nil)
}

// BuildSide is Build for one side of a crossing, which is a program of tests.
func BuildSide(ctx context.Context, impl string) (string, error) {
	return build(ctx, impl, []string{"test", "-c"}, "./internal/side", "side-"+impl, nil)
}

func build(ctx context.Context, impl string, args []string, pkg, name string, tags []string) (string, error) {
	switch impl {
	case Ours:
	case Published:
		args, tags = append(args, "-modfile=published.mod"), append(tags, "published")
	default:
		if slices.Contains(tags, "extras") {
			impl += "-extras"
		}
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
	path := filepath.Join(out, name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-tags="+strings.Join(tags, ","), "-o", path, pkg)...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s of %s: %w\n%s", pkg, impl, err, text)
	}
	return path, nil
}

var checkedOut = checkout.Program{Name: "attack", Mark: "cmd/victim/main.go"}

// Root is the folder of this module.
func Root() (string, error) { return checkedOut.Root() }

// OutDir is the folder for results, which is made when it does not exist.
func OutDir() (string, error) { return checkedOut.Out() }
