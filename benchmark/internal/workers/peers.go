// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Peer is another implementation of gRPC, whose worker is built from sources of its own.
type Peer struct {
	Name string
	dir  string // of its sources, below benchmark/peers
	// tools are the programs that it takes to build it, libraries what pkg-config has to know.
	tools, libraries []string
	// NoTLS says that its servers have none.
	NoTLS bool
	// build makes the program out of the sources in dir.
	build func(ctx context.Context, dir, out string) error
}

// Peers are the implementations beside the two in Go that have the same interface.
func Peers() []Peer {
	return []Peer{
		{Name: "connect-go", dir: "connect", build: buildGo},
		{Name: "kitex", dir: "kitex", NoTLS: true, build: buildGo},
		{Name: "tonic", dir: "tonic", tools: []string{"cargo"}, build: buildCargo},
		{
			Name:      "grpc++",
			dir:       "cpp",
			tools:     []string{"make", "g++", "pkg-config", "protoc", "grpc_cpp_plugin"},
			libraries: []string{"grpc++", "protobuf"},
			build:     buildMake,
		},
	}
}

// PeerNamed finds one.
func PeerNamed(name string) (Peer, bool) {
	all := Peers()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// Missing says what the machine lacks to build it, "" if nothing.
func (p Peer) Missing() string { return p.lacks(has) }

// lacks asks for what is needed one by one.
func (p Peer) lacks(has func(command ...string) bool) string {
	var missing []string
	for _, tool := range p.tools {
		if !has(tool) {
			missing = append(missing, tool)
		}
	}
	for _, library := range p.libraries {
		if !slices.Contains(missing, "pkg-config") && !has("pkg-config", "--exists", library) {
			missing = append(missing, "library "+library)
		}
	}
	return strings.Join(missing, ", ")
}

// has says whether there is a command; one with arguments is run, and has to succeed.
func has(command ...string) bool {
	path, err := exec.LookPath(command[0])
	if err != nil || len(command) == 1 {
		return err == nil
	}
	return exec.Command(path, command[1:]...).Run() == nil
}

// Build builds its worker.
func (p Peer) Build(ctx context.Context) (Impl, error) {
	impl := Impl{Name: p.Name}
	root, err := Root()
	if err != nil {
		return impl, err
	}
	impl.Path = program(root, "peer-"+p.Name)
	if err := os.MkdirAll(filepath.Dir(impl.Path), 0o755); err != nil {
		return impl, err
	}
	if err := p.build(ctx, filepath.Join(root, "peers", p.dir), impl.Path); err != nil {
		return impl, fmt.Errorf("building the worker of %s: %w", p.Name, err)
	}
	return impl, nil
}

func buildGo(ctx context.Context, dir, out string) error {
	return do(exec.CommandContext(ctx, "go", "build", "-o", out, "."), dir)
}

func buildMake(ctx context.Context, dir, out string) error {
	return do(exec.CommandContext(ctx, "make", "OUT="+out), dir)
}

func buildCargo(ctx context.Context, dir, out string) error {
	target := out + ".target"
	if err := do(exec.CommandContext(ctx, "cargo", "build", "--quiet", "--release", "--locked", "--target-dir", target), dir); err != nil {
		return err
	}
	program, err := os.ReadFile(filepath.Join(target, "release", "worker"))
	if err != nil {
		return err
	}
	return os.WriteFile(out, program, 0o755)
}

// do runs a command in a folder; what it printed is part of its error.
func do(cmd *exec.Cmd, dir string) error {
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
