// SPDX-License-Identifier: Apache-2.0

// Package workers builds the worker against each implementation, and starts it in pairs
// of a server and a client.
package workers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The implementations by name. Any other name is the path of a worker that was built
// before, such as one of an earlier commit.
const (
	Ours      = "ours"
	Published = "published"
)

// NoPool, behind the name of an implementation, turns the pooling of read buffers off.
const NoPool = "+nopool"

// Label is what people call an implementation.
func Label(impl string) string {
	switch impl {
	case Ours:
		return "this module"
	case Ours + NoPool:
		return "this module, pooling off"
	case Ours + Handed:
		return "this module, handed over"
	case Published:
		return "grpc-go v1.85.0"
	case Published + NoPool:
		return "grpc-go v1.85.0, pooling off"
	}
	return filepath.Base(impl)
}

// Handed, behind the name of an implementation, has watchers' streams hold no goroutine on
// either side: see package experimental/streams.
const Handed = "+handed"

// handedEnv is how that is told.
const handedEnv = "GRPC_BENCH_HANDED=1"

// noPoolEnv is how that is told.
const noPoolEnv = "GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING=false"

// Impl is an implementation to measure.
type Impl struct {
	Name string // as it was asked for
	Path string // of its worker
	Env  []string
	// Server is the implementation of the server, nil where it is the same.
	Server *Impl
}

// WithEnv adds to the environment of both sides.
func (i Impl) WithEnv(env string) Impl {
	i.Env = append(slices.Clip(i.Env), env)
	if i.Server != nil {
		server := i.Server.WithEnv(env)
		i.Server = &server
	}
	return i
}

// Build builds the worker of the named implementation, or those of client@server.
func Build(ctx context.Context, name string) (Impl, error) {
	client, server, mixed := strings.Cut(name, "@")
	impl, err := build(ctx, client)
	if err != nil || !mixed {
		return impl, err
	}
	other, err := build(ctx, server)
	impl.Name, impl.Server = name, &other
	return impl, err
}

func build(ctx context.Context, name string) (Impl, error) {
	base, isHanded := strings.CutSuffix(name, Handed)
	base, noPool := strings.CutSuffix(base, NoPool)
	impl := Impl{Name: name}
	if isHanded {
		impl.Env = append(impl.Env, handedEnv)
	}
	if noPool {
		impl.Env = append(impl.Env, noPoolEnv)
	}
	var args []string
	switch base {
	case Ours:
	case Published:
		args = append(args, "-modfile=published.mod", "-tags=published")
	default:
		path, err := filepath.Abs(base)
		if err == nil {
			_, err = os.Stat(path)
		}
		impl.Path = path
		return impl, err
	}
	root, err := Root()
	if err != nil {
		return impl, err
	}
	impl.Path = program(root, "worker-"+base)
	args = append([]string{"build", "-o", impl.Path}, args...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/worker")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return impl, fmt.Errorf("building the worker of %s: %w\n%s", base, err, out)
	}
	return impl, nil
}

// program is the path of a program that is built.
func program(root, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(root), "out", "benchmark", name)
}

// Root is the folder of this module, found from the current folder: there, below or above.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "benchmark")} {
			_, err := os.Stat(filepath.Join(candidate, "published.mod"))
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
	dir := filepath.Join(filepath.Dir(root), "out", "benchmark")
	return dir, os.MkdirAll(dir, fs.ModePerm)
}
