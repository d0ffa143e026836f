// SPDX-License-Identifier: Apache-2.0

// Package published pins the published google.golang.org/grpc that the interoperability
// programs are also built against. It has no code of its own: interop/matrix copies the
// sources of package interop and of its programs over this module and builds them there.
package published

import (
	// What those sources import, so that `go mod tidy` keeps it.
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
