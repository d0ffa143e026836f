// SPDX-License-Identifier: Apache-2.0

package grpcwire

// UserAgent returns the user-agent value: "grpc-go/" and the module's version, with what
// the application asked for in front of it.
func UserAgent(custom, version string) string {
	const library = "grpc-go/"
	if custom == "" {
		return library + version
	}
	return custom + " " + library + version
}
