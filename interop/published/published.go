// SPDX-License-Identifier: Apache-2.0

// Package published pins the version of the published google.golang.org/grpc against which
// the interoperability programs are also built. It has no code: package
// interop/internal/programs copies its go.mod and go.sum, and the sources of package interop
// and its programs, to a temporary folder and builds the programs there.
package published

import (
	// The imports of the copied sources, so that `go mod tidy` keeps the modules that they need.
	_ "github.com/cncf/xds/go/xds/data/orca/v3"
	_ "github.com/cncf/xds/go/xds/service/orca/v3"
	_ "google.golang.org/grpc"
	_ "google.golang.org/grpc/attributes"
	_ "google.golang.org/grpc/backoff"
	_ "google.golang.org/grpc/balancer/base"
	_ "google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	_ "google.golang.org/grpc/metadata"
	_ "google.golang.org/grpc/orca"
	_ "google.golang.org/grpc/peer"
	_ "google.golang.org/grpc/resolver"
	_ "google.golang.org/grpc/resolver/manual"
	_ "google.golang.org/grpc/stats"
	_ "google.golang.org/grpc/status"
	_ "google.golang.org/protobuf/proto"
)
