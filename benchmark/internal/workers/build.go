// SPDX-License-Identifier: Apache-2.0

// Package workers builds the worker against each implementation, and starts it in pairs
// of a server and a client.
package workers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The implementations by name, beside the peers. Any other name is the path of a worker that
// was built before, such as one of an earlier commit.
const (
	Ours      = "ours"
	Published = "published"
)

// What turns something of this module off, behind the name of an implementation.
const (
	NoPool  = "+nopool"  // read buffers are the connections' own
	NoReuse = "+noreuse" // goroutines are not used again
	NoPulse = "+nopulse" // the scheduler is told of each system call
)

// switches are the environment for it.
var switches = map[string]string{
	NoPool:  "GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING=false",
	NoReuse: "GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES=false",
	NoPulse: "GRPC_GO_EXPERIMENTAL_RAW_SYSCALLS=false",
}

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
		return "grpc-go " + publishedVersion()
	case Published + NoPool:
		return "grpc-go " + publishedVersion() + ", pooling off"
	}
	return filepath.Base(impl)
}

// Handed, behind the name of an implementation, has watchers' streams hold no goroutine on
// either side: see package experimental/streams.
const Handed = "+handed"

// handedEnv is how that is told.
const handedEnv = "GRPC_BENCH_HANDED=1"

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

// settings splits what stands behind the name of an implementation from it.
func settings(name string) (base string, env []string) {
	base, isHanded := strings.CutSuffix(name, Handed)
	if isHanded {
		env = append(env, handedEnv)
	}
	for at := strings.LastIndex(base, "+"); at >= 0; at = strings.LastIndex(base, "+") {
		s, ok := switches[base[at:]]
		if !ok {
			break
		}
		base, env = base[:at], append(env, s)
	}
	return base, env
}

func build(ctx context.Context, name string) (Impl, error) {
	base, env := settings(name)
	if peer, ok := PeerNamed(name); ok {
		return peer.Build(ctx)
	}
	impl := Impl{Name: name, Env: env}
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
