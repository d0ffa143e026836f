// SPDX-License-Identifier: Apache-2.0

package grpc

// Version is the version of grpc-go whose API this module implements. It is also part of
// the user-agent of clients.
const Version = "1.85.0"

// Generated code refers to the newest of these constants that it needs, so it does not compile with a
// version of this package that is too old for it. Applications have no use for them.
const (
	SupportPackageIsVersion3 = true
	SupportPackageIsVersion4
	SupportPackageIsVersion5
	SupportPackageIsVersion6
	SupportPackageIsVersion7
	SupportPackageIsVersion8
	SupportPackageIsVersion9
)
