// SPDX-License-Identifier: Apache-2.0

package grpcwire

// UserAgent returns the user-agent value: "grpc-go/" and the module's version. prefix is what
// the application asked for, with a space at its end, or empty.
func UserAgent(prefix, version string) string { return prefix + "grpc-go/" + version }
