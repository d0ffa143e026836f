// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// What gRFC A105 has guarded until it is proven: several connections to one address where
// RPCs wait because of the server's SETTINGS_MAX_CONCURRENT_STREAMS.
var (
	// ConnectionScaling has the field connectionScaling of service configs obeyed.
	// GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING, false unless it is set.
	ConnectionScaling = boolean(os.Getenv("GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING"), false)
	// XDSConnectionScaling has max_connections of a cluster's per-host thresholds obeyed.
	// GRPC_EXPERIMENTAL_XDS_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING, false unless it is set.
	XDSConnectionScaling = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING"), false)
)
