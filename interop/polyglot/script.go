// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// scripted is a peer whose programs are in a folder next to this file. The programs of all such
// peers take the same flags.
type scripted struct {
	// client and server are the commands, without flags.
	client, server func(*workshop) []string
	env            func(*workshop) []string
}

func (s scripted) command(ctx context.Context, w *workshop, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), s.env(w)...)
	return cmd
}

func (s scripted) serve(ctx context.Context, w *workshop, t target) *exec.Cmd {
	args := append(s.server(w), "--port", strconv.Itoa(t.port))
	if t.certs != nil {
		args = append(args, "--cert", t.certs.Cert, "--key", t.certs.Key)
	}
	return s.command(ctx, w, args)
}

func (s scripted) call(w *workshop, t target) []string {
	args := append(s.client(w), "--addr", t.addr())
	if t.certs != nil {
		args = append(args, "--ca", t.certs.CA, "--server-name", t.certs.serverName)
	}
	return args
}

func (s scripted) cases(ctx context.Context, w *workshop, t target, only []string) ([]result, error) {
	args := s.call(w, t)
	if len(only) > 0 {
		args = append(args, "--case", strings.Join(only, ","))
	}
	return readCases(ctx, s.command(ctx, w, args))
}

func (s scripted) load(ctx context.Context, w *workshop, t target, seconds float64) (outcomes, error) {
	return readLoad(ctx, s.command(ctx, w, append(s.call(w, t), "--load", strconv.FormatFloat(seconds, 'f', -1, 64))))
}

// into sets the functions of p that are the same for all scripted peers.
func (s scripted) into(p *peer) *peer {
	p.server, p.client, p.load = s.serve, s.cases, s.load
	return p
}

// Reasons to leave out cases that the library of a peer's server can't support.
const (
	noReports        = "the library has no load reports, or wants more packages for them"
	noTrailers       = "the library sends trailers with errors only"
	noCompressedFlag = "the library does not tell whether a message came compressed"
	noCompression    = "the library does not compress single replies"
)

var python = scripted{
	client: func(w *workshop) []string {
		return []string{w.path("python", "bin", "python"), filepath.Join(w.source, "python", "client.py")}
	},
	server: func(w *workshop) []string {
		return []string{w.path("python", "bin", "python"), filepath.Join(w.source, "python", "server.py")}
	},
	env: func(w *workshop) []string {
		return []string{"POLYGLOT_GENERATED=" + w.path("python", "generated"), "PYTHONDONTWRITEBYTECODE=1"}
	},
}

var pythonPeer = python.into(&peer{
	name:  "grpcio",
	tools: []string{"python3"},
	build: func(ctx context.Context, w *workshop) error {
		if err := do(ctx, w.dir, nil, "python3", "-m", "venv", w.path("python")); err != nil {
			return err
		}
		pip := []string{w.path("python", "bin", "pip"), "install", "--quiet", "--requirement", filepath.Join(w.source, "python", "requirements.txt")}
		if err := do(ctx, w.dir, nil, pip...); err != nil {
			return err
		}
		generated := w.path("python", "generated")
		if err := os.MkdirAll(generated, 0o755); err != nil {
			return err
		}
		return do(ctx, w.protos(), nil, w.path("python", "bin", "python"), "-m", "grpc_tools.protoc", "-I.",
			"--python_out="+generated, "--grpc_python_out="+generated,
			"grpc/testing/empty.proto", "grpc/testing/messages.proto", "grpc/testing/test.proto")
	},
	without: map[string]string{
		"client_compressed_unary":     noCompressedFlag,
		"client_compressed_streaming": noCompressedFlag,
		"orca_per_rpc":                noReports,
		"orca_oob":                    noReports,
	},
})

var node = scripted{
	client: func(w *workshop) []string { return []string{"node", w.path("node", "client.js")} },
	server: func(w *workshop) []string { return []string{"node", w.path("node", "server.js")} },
	env:    func(w *workshop) []string { return []string{"POLYGLOT_PROTO=" + w.protos()} },
}

var nodePeer = node.into(&peer{
	name:  "grpc-js",
	tools: []string{"node", "npm"},
	build: func(ctx context.Context, w *workshop) error {
		// node looks for modules in the script's folder and above it, so the scripts must be
		// where the modules are.
		if err := w.copySource("node"); err != nil {
			return err
		}
		return do(ctx, w.path("node"), nil, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
	},
	without: map[string]string{
		"client_compressed_unary":     noCompressedFlag,
		"client_compressed_streaming": noCompressedFlag,
		"server_compressed_unary":     noCompression,
		"server_compressed_streaming": noCompression,
		"orca_per_rpc":                noReports,
		"orca_oob":                    noReports,
	},
})

var rust = scripted{
	client: func(w *workshop) []string { return []string{w.path("rust", "target", "release", "client")} },
	server: func(w *workshop) []string { return []string{w.path("rust", "target", "release", "server")} },
	env:    func(*workshop) []string { return nil },
}

var rustPeer = rust.into(&peer{
	name:  "tonic",
	tools: []string{"cargo"},
	build: func(ctx context.Context, w *workshop) error {
		if err := w.copySource("rust"); err != nil {
			return err
		}
		return do(ctx, w.path("rust"), []string{"POLYGLOT_PROTO=" + w.protos()}, "cargo", "build", "--quiet", "--release")
	},
	without: map[string]string{
		"client_compressed_unary":     noCompressedFlag,
		"client_compressed_streaming": noCompressedFlag,
		"server_compressed_unary":     noCompression,
		"server_compressed_streaming": noCompression,
		"custom_metadata":             noTrailers,
		"per_rpc_credentials":         noTrailers,
		"orca_per_rpc":                noReports,
		"orca_oob":                    noReports,
	},
})

// path returns a path below the folder of packages and programs.
func (w *workshop) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

func (w *workshop) protos() string { return filepath.Join(w.root, "proto") }

// copySource copies a folder next to this file to the folder of packages and programs. It does
// not write files that are already there with the same text.
func (w *workshop) copySource(name string) error {
	from := filepath.Join(w.source, name)
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := w.path(name, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, data) {
			return nil // keeps the file's time, so that it is not built again
		}
		return os.WriteFile(to, data, 0o644)
	})
}
