// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// gRFC A105 guards these until they are proven. They allow several connections to one address where RPCs
// wait because of the server's SETTINGS_MAX_CONCURRENT_STREAMS.
var (
	// ConnectionScaling says whether the field connectionScaling of service configs is obeyed.
	// GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING, false unless "true".
	ConnectionScaling = boolean(os.Getenv("GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING"), false)
	// XDSConnectionScaling says whether max_connections of a cluster's per-host thresholds is obeyed.
	// GRPC_EXPERIMENTAL_XDS_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING, false unless "true".
	XDSConnectionScaling = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING"), false)
)
