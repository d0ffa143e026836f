// SPDX-License-Identifier: Apache-2.0

package internal

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// Modules that are released on their own, google.golang.org/grpc/security/advancedtls,
// .../stats/opencensus, .../gcp/observability and .../examples, import names of this
// module's internal packages, and those that are released already can't be changed. What
// is there for them alone is in this file and in package internal/grpcsync, and for their
// tests, which `go mod tidy` of a program looks at too, in packages internal/grpctest,
// internal/stubserver and internal/testutils. `make thirdparty` runs these tests.
// gcp/observability needs more, and does not build with this module.

// CanonicalString is a func(codes.Code) string: a code's name as JSON and metrics spell it.
// It is an any because its users assert its type.
var CanonicalString any = canonicalString

// JoinDialOptions is a func(...grpc.DialOption) grpc.DialOption: several options as one.
// Package grpc sets it.
var JoinDialOptions any

func canonicalString(c codes.Code) string {
	switch c {
	case codes.OK:
		return "OK"
	case codes.Canceled:
		return "CANCELLED" // the wire's spelling, not Go's
	}
	var b strings.Builder
	for i, r := range c.String() {
		if 'A' <= r && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}
