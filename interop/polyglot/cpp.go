// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
)

var cpp = scripted{
	client: func(w *workshop) []string { return []string{w.path("cpp", "client")} },
	server: func(w *workshop) []string { return []string{w.path("cpp", "server")} },
	env:    func(*workshop) []string { return nil },
}

// cppPeer needs Debian's packages libgrpc++-dev, protobuf-compiler-grpc and libprotobuf-dev.
var cppPeer = cpp.into(&peer{
	name:  "grpc++",
	tools: []string{"g++", "pkg-config", "protoc", "grpc_cpp_plugin"},
	build: buildCpp,
	without: map[string]string{
		"client_compressed_unary":     noCompressedFlag,
		"client_compressed_streaming": noCompressedFlag,
		"server_compressed_streaming": noCompression,
		"orca_per_rpc":                noReports,
		"orca_oob":                    noReports,
	},
})

// buildCpp compiles without optimization, which takes a fifth of the time.
func buildCpp(ctx context.Context, w *workshop) error {
	if err := w.copySource("cpp"); err != nil {
		return err
	}
	dir := w.path("cpp")
	if err := do(ctx, w.protos(), nil, "sh", "-c", fmt.Sprintf(
		`protoc -I. --cpp_out=%q --grpc_out=%[1]q --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" `+
			`grpc/testing/empty.proto grpc/testing/messages.proto grpc/testing/test.proto`, dir)); err != nil {
		return err
	}
	generated := filepath.Join("grpc", "testing")
	for _, program := range []string{"client", "server"} {
		if err := do(ctx, dir, nil, "sh", "-c", fmt.Sprintf(
			`g++ -std=c++17 -I. -o %s %[1]s.cc %s/*.pb.cc $(pkg-config --cflags --libs grpc++ protobuf)`, program, generated)); err != nil {
			return err
		}
	}
	return nil
}
