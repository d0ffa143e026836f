// SPDX-License-Identifier: Apache-2.0

package transport

import "google.golang.org/grpc/internal/transport/grpcwire"

// What the floors above have to know of the wire, they know by these names.

// UserAgent returns the user-agent value: that of the module, at its version, behind what
// the application asked for, which includes the space between them.
func UserAgent(prefix, version string) string { return grpcwire.UserAgent(prefix, version) }
