// SPDX-License-Identifier: Apache-2.0

package internal

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// Modules that are released on their own, google.golang.org/grpc/security/advancedtls,
// .../stats/opencensus, .../gcp/observability and .../examples, import names of this
// module's internal packages, and those that are released already can't be changed. What
// they use of package internal is in this file, and beside it
//
//	internal/credentials	advancedtls: SPIFFEIDFromState, CloneTLSConfig, AppendH2ToNextProtos, WrapSyscallConn
//	internal/grpcsync	examples, observability's tests: Event
//	internal/grpcutil	observability: ParseMethod
//	internal/envconfig	observability: ObservabilityConfig, ObservabilityConfigFile
//	internal/binarylog	observability: the loggers of RPCs in logger.go
//	internal/grpctest	tests of all: Tester, RunSubTests
//	internal/leakcheck	tests of opencensus and observability: RegisterIgnoreGoroutine
//	internal/stubserver	tests of opencensus and observability
//	internal/testutils	tests of opencensus and observability
//
// `go mod tidy` of a program looks at tests of what it imports, too. `make thirdparty` runs
// these tests, and holds this list against what the modules import.

// CanonicalString is a func(codes.Code) string: a code's name as JSON and metrics spell it.
// It is an any because its users assert its type.
var CanonicalString any = canonicalString

// JoinDialOptions is a func(...grpc.DialOption) grpc.DialOption: several options as one.
// Package grpc sets it.
var JoinDialOptions any

// ParseServiceConfig is a func(string) *serviceconfig.ParseResult: a channel's service config
// of its JSON text. Package grpc sets it.
var ParseServiceConfig any

// ORCAAllowAnyMinReportingInterval is a func(*orca.ServiceOptions): the service takes
// MinReportingInterval also below 30 seconds. Package orca sets it.
var ORCAAllowAnyMinReportingInterval any

// What gcp/observability sets for a whole program. Package grpc sets all of them.
var (
	// AddGlobalDialOptions is a func(...grpc.DialOption): options that come before those
	// of every channel made from now on.
	AddGlobalDialOptions any
	// ClearGlobalDialOptions takes them back, for channels made from now on.
	ClearGlobalDialOptions func()
	// DisableGlobalDialOptions is a func() grpc.DialOption, for a channel without them.
	DisableGlobalDialOptions any
	// AddGlobalServerOptions is a func(...grpc.ServerOption), the same for servers.
	AddGlobalServerOptions any
	// ClearGlobalServerOptions takes them back, for servers made from now on.
	ClearGlobalServerOptions func()
	// WithBinaryLogger is a func(binarylog.Logger) grpc.DialOption, of package
	// internal/binarylog: RPCs of the channel are logged as the Logger says too.
	WithBinaryLogger any
	// BinaryLogger is a func(binarylog.Logger) grpc.ServerOption, the same for a server.
	BinaryLogger any
)

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
