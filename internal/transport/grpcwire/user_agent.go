// SPDX-License-Identifier: Apache-2.0

package grpcwire

// UserAgent returns the user-agent value: "grpc-go/" and the module's version, behind what
// the application asked for, which includes the space between them.
func UserAgent(prefix, version string) string { return prefix + "grpc-go/" + version }
