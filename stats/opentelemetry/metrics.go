// SPDX-License-Identifier: Apache-2.0

package opentelemetry

import "google.golang.org/grpc/stats/opentelemetry/internal/plugin"

// The metrics of a channel's RPCs (gRFC A66). All have the labels grpc.method and
// grpc.target. Those that are recorded when an attempt or RPC ends also have grpc.status.
const (
	// ClientAttemptStartedMetricName counts the attempts that began.
	ClientAttemptStartedMetricName string = plugin.AttemptStarted
	// ClientAttemptDurationMetricName is how long attempts took, in seconds, including the
	// pick of a connection.
	ClientAttemptDurationMetricName string = plugin.AttemptDuration
	// ClientAttemptSentCompressedTotalMessageSizeMetricName is the size of all messages that
	// an attempt sent, in bytes, compressed, without framing.
	ClientAttemptSentCompressedTotalMessageSizeMetricName string = plugin.AttemptSent
	// ClientAttemptRcvdCompressedTotalMessageSizeMetricName is the size of all messages that
	// an attempt received, in bytes, compressed, without framing.
	ClientAttemptRcvdCompressedTotalMessageSizeMetricName string = plugin.AttemptReceived
	// ClientCallDurationMetricName is how long RPCs took, in seconds, as the program sees
	// them, with all their attempts.
	ClientCallDurationMetricName string = plugin.CallDuration
)

// The metrics of a server's RPCs (gRFC A66). All have the label grpc.method. Those that are
// recorded when an RPC ends also have grpc.status.
const (
	// ServerCallStartedMetricName counts the RPCs that a server received.
	ServerCallStartedMetricName string = plugin.ServedStarted
	// ServerCallSentCompressedTotalMessageSizeMetricName is the size of all messages that the
	// server sent in an RPC, in bytes, compressed, without framing.
	ServerCallSentCompressedTotalMessageSizeMetricName string = plugin.ServedSent
	// ServerCallRcvdCompressedTotalMessageSizeMetricName is the size of all messages that the
	// server received in an RPC, in bytes, compressed, without framing.
	ServerCallRcvdCompressedTotalMessageSizeMetricName string = plugin.ServedReceived
	// ServerCallDurationMetricName is how long RPCs took, in seconds.
	ServerCallDurationMetricName string = plugin.ServedDuration
)

// The bucket boundaries of histograms (gRFC A66). Instruments are made with them as
// advice, which a MeterProvider of OpenTelemetry's SDK follows unless a view says otherwise. A
// program may replace them before it makes the options: they are read then.
var (
	// DefaultLatencyBounds are the default bucket boundaries of histograms of durations, in
	// seconds.
	DefaultLatencyBounds = plugin.LatencyBounds
	// DefaultSizeBounds are the default bucket boundaries of histograms of sizes, in bytes.
	DefaultSizeBounds = plugin.SizeBounds
)
