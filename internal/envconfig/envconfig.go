// SPDX-License-Identifier: Apache-2.0

// Package envconfig holds every environment variable that this module obeys.
// Each is read once, when the program starts (but CSM_* and GCE_METADATA_HOST,
// which are asked for later), into one documented variable; code
// that wants another value in a test takes it as a parameter or a field instead
// of reading this package itself.
//
// HTTPS_PROXY and NO_PROXY are not here: golang.org/x/net/http/httpproxy reads them.
// Nor are those that golang.org/x/oauth2 and OpenTelemetry read (GOOGLE_APPLICATION_CREDENTIALS, OTEL_*).
package envconfig

import "os"

// Reading and the wire.
var (
	// HTTPFramerReadBufferPooling says whether a connection takes its read buffer
	// from a pool when bytes arrive and gives it back when they are consumed.
	// "false" gives every connection a buffer of its own for its whole life.
	// GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING, true unless "false".
	HTTPFramerReadBufferPooling = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING"), true)

	// MaxBytesHeld bounds the memory, in bytes, that the peer of a connection makes it hold; the options of
	// package experimental take precedence. The default is far above what a program meets whose peers mean
	// well. GRPC_GO_EXPERIMENTAL_MAX_BYTES_HELD, at least 1 MiB, 256 MiB by default.
	MaxBytesHeld = number(os.Getenv("GRPC_GO_EXPERIMENTAL_MAX_BYTES_HELD"), bounds{def: 256 << 20, min: 1 << 20, max: 1 << 62})

	// BusyHeap bounds, in bytes, the heap for which the garbage collector waits in a process that carries
	// messages and collects often. It waits for 16 MiB, and for more where that much is allocated in a
	// tenth of a second. Go's own is 4 MiB. Package internal/ballast says how.
	// GRPC_GO_EXPERIMENTAL_BUSY_HEAP, up to 1 GiB; 0, the default, leaves the collector alone.
	BusyHeap = number(os.Getenv("GRPC_GO_EXPERIMENTAL_BUSY_HEAP"), bounds{max: 1 << 30})

	// ReuseGoroutines says whether goroutines of handlers and readers are kept for a moment, for the next
	// task. Package internal/warm says what such a goroutine carries, and what it buys.
	// GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES, true unless "false".
	ReuseGoroutines = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES"), true)

	// SmallDefaultHeaderList limits the header list that a peer may send to 8 KiB instead of 16 MiB, if no
	// option sets a limit. GRPC_GO_EXPERIMENTAL_ENABLE_8KB_DEFAULT_HEADER_LIST_SIZE, false unless "true".
	SmallDefaultHeaderList = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_ENABLE_8KB_DEFAULT_HEADER_LIST_SIZE"), false)

	// DisableStrictPathChecking lets a server accept a :path that does not begin
	// with a slash, which PROTOCOL-HTTP2 does not allow.
	// GRPC_GO_EXPERIMENTAL_DISABLE_STRICT_PATH_CHECKING, false unless "true".
	DisableStrictPathChecking = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_DISABLE_STRICT_PATH_CHECKING"), false)
)

// TLS and ALTS.
var (
	// EnforceALPN says whether a TLS handshake whose peer did not choose "h2" by
	// ALPN fails. GRPC_ENFORCE_ALPN_ENABLED, true unless "false".
	EnforceALPN = boolean(os.Getenv("GRPC_ENFORCE_ALPN_ENABLED"), true)

	// RawSyscalls says whether system calls that never wait may be made without telling Go's
	// scheduler of them, while connections are busy, on Linux. Package internal/pulse says why.
	// GRPC_GO_EXPERIMENTAL_RAW_SYSCALLS, true unless "false".
	RawSyscalls = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_RAW_SYSCALLS"), true)

	// TLSIdleRelease says whether a TLS connection may take the buffers of crypto/tls
	// away while they are empty, which saves up to 32 KiB for each idle connection. It
	// has no effect without HTTPFramerReadBufferPooling, nor in a build with the tag
	// grpcnotlsrelease.
	// GRPC_GO_EXPERIMENTAL_TLS_IDLE_RELEASE, true unless "false".
	TLSIdleRelease = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_TLS_IDLE_RELEASE"), true)

	// TLSIdleCiphers says whether the ciphers of idle TLS 1.3 connections, in crypto/tls, may be
	// replaced by ones that keep the key alone, which saves 0.8 KB in each direction. It
	// has no effect without TLSIdleRelease.
	// GRPC_GO_EXPERIMENTAL_TLS_IDLE_CIPHERS, false unless "true".
	TLSIdleCiphers = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_TLS_IDLE_CIPHERS"), false)

	// XDSSPIFFE says whether the configuration of certificate provider file_watcher may
	// name a SPIFFE bundle map (gRFC A87).
	// GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE, false unless "true".
	XDSSPIFFE = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE"), false)

	// ALTSMaxConcurrentHandshakes bounds the ALTS handshakes that one process runs
	// at a time, clients and servers each.
	// GRPC_ALTS_MAX_CONCURRENT_HANDSHAKES, 1 to 100, 100 by default.
	ALTSMaxConcurrentHandshakes = number(os.Getenv("GRPC_ALTS_MAX_CONCURRENT_HANDSHAKES"), bounds{def: 100, min: 1, max: 100})

	// ALTSMaxFrameSize is the largest ALTS record, in bytes, that a handshake offers.
	// Buffers are sized by what arrives, so a large limit costs an idle connection
	// nothing. GRPC_GO_EXPERIMENTAL_ALTS_MAX_FRAME_SIZE, 4 KiB to 1 MiB, 1 MiB by default.
	ALTSMaxFrameSize = number(os.Getenv("GRPC_GO_EXPERIMENTAL_ALTS_MAX_FRAME_SIZE"), bounds{def: 1 << 20, min: 4 << 10, max: 1 << 20})

	// ALTSHandshakerKeepalive says whether the connection to the ALTS handshaker
	// service sends keepalive pings.
	// GRPC_EXPERIMENTAL_ALTS_HANDSHAKER_KEEPALIVE_PARAMS, false unless "true".
	ALTSHandshakerKeepalive = boolean(os.Getenv("GRPC_EXPERIMENTAL_ALTS_HANDSHAKER_KEEPALIVE_PARAMS"), false)
)

// Names and balancing.
var (
	// IgnoreTXTErrors says whether the dns resolver goes on without a service
	// config when the lookup of its TXT record fails.
	// GRPC_GO_IGNORE_TXT_ERRORS, true unless "false".
	IgnoreTXTErrors = boolean(os.Getenv("GRPC_GO_IGNORE_TXT_ERRORS"), true)

	// EnableTXTServiceConfig says whether the dns resolver looks for a service config,
	// which is a TXT record. GRPC_ENABLE_TXT_SERVICE_CONFIG, true unless "false".
	EnableTXTServiceConfig = boolean(os.Getenv("GRPC_ENABLE_TXT_SERVICE_CONFIG"), true)

	// DefaultPortForProxyTarget says whether a target that goes through an HTTP
	// CONNECT proxy and names no port gets port 443.
	// GRPC_EXPERIMENTAL_ENABLE_DEFAULT_PORT_FOR_PROXY_TARGET, true unless "false".
	DefaultPortForProxyTarget = boolean(os.Getenv("GRPC_EXPERIMENTAL_ENABLE_DEFAULT_PORT_FOR_PROXY_TARGET"), true)

	// RingHashCap bounds the rings of ring_hash, whatever their configuration says.
	// GRPC_RING_HASH_CAP, 1 to 8,388,608 entries, 4,096 by default.
	RingHashCap = number(os.Getenv("GRPC_RING_HASH_CAP"), bounds{def: 4096, min: 1, max: 8 << 20})

	// RingHashHeader says whether ring_hash may hash a header that its configuration names in
	// requestHashHeader (gRFC A76). Otherwise it ignores that field.
	// GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY, true unless "false".
	RingHashHeader = boolean(os.Getenv("GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY"), true)

	// PickFirstWeightedShuffling says whether pick_first uses the weights of endpoints when it shuffles
	// (gRFC A113). GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING, true unless "false".
	PickFirstWeightedShuffling = boolean(os.Getenv("GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING"), true)

	// CaseSensitiveBalancerRegistries says whether balancer names that differ only
	// in letter case are different balancers.
	// GRPC_GO_EXPERIMENTAL_CASE_SENSITIVE_BALANCER_REGISTRIES, true unless "false".
	CaseSensitiveBalancerRegistries = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_CASE_SENSITIVE_BALANCER_REGISTRIES"), true)
)

// Logs.
var (
	// LogSeverityLevel is the lowest severity that the default logger writes:
	// "info", "warning" or "error" in any letter case; errors only when it is
	// empty. GRPC_GO_LOG_SEVERITY_LEVEL.
	LogSeverityLevel = os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL")

	// LogVerbosityLevel is the verbosity of the default logger, a decimal number;
	// 0 when it is empty or no number. GRPC_GO_LOG_VERBOSITY_LEVEL.
	LogVerbosityLevel = os.Getenv("GRPC_GO_LOG_VERBOSITY_LEVEL")

	// LogFormatter is the form of the default logger's lines: "json" in any letter
	// case gives one JSON object a line, anything else plain text.
	// GRPC_GO_LOG_FORMATTER.
	LogFormatter = os.Getenv("GRPC_GO_LOG_FORMATTER")

	// HTTP2Trace says where to write a line for each HTTP/2 frame, and for each time that a connection
	// begins, parks, wakes or ends: "stderr", "stdout", or the name of a file, to which lines are appended.
	// Empty, the default, writes nothing and costs nothing. See docs/trace.md. GRPC_GO_HTTP2_TRACE.
	HTTP2Trace = os.Getenv("GRPC_GO_HTTP2_TRACE")

	// HTTP2TraceOptions are words for HTTP2Trace, with commas between them: "json" makes each line a JSON
	// object; "values" makes lines show the values of header fields, which may be secret.
	// GRPC_GO_HTTP2_TRACE_OPTIONS.
	HTTP2TraceOptions = os.Getenv("GRPC_GO_HTTP2_TRACE_OPTIONS")

	// BinaryLogFilter says which methods the binary log records, in the syntax of
	// gRFC A16; none when it is empty. GRPC_BINARY_LOG_FILTER.
	BinaryLogFilter = os.Getenv("GRPC_BINARY_LOG_FILTER")
)
