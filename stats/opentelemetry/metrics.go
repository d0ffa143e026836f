// SPDX-License-Identifier: Apache-2.0

package opentelemetry

import "google.golang.org/grpc/stats/opentelemetry/internal/plugin"

// The metrics of a channel's RPCs (gRFC A66). All have the labels grpc.method and
// grpc.target; those that are recorded at an end have grpc.status.
const (
	// ClientAttemptStartedMetricName counts the attempts that began.
	ClientAttemptStartedMetricName string = plugin.AttemptStarted
	// ClientAttemptDurationMetricName is how long attempts took, in seconds, the pick of a
	// connection included.
	ClientAttemptDurationMetricName string = plugin.AttemptDuration
	// ClientAttemptSentCompressedTotalMessageSizeMetricName is what each attempt sent in
	// messages, in bytes, compressed, without framing.
	ClientAttemptSentCompressedTotalMessageSizeMetricName string = plugin.AttemptSent
	// ClientAttemptRcvdCompressedTotalMessageSizeMetricName is what each attempt received
	// in messages, in bytes, compressed, without framing.
	ClientAttemptRcvdCompressedTotalMessageSizeMetricName string = plugin.AttemptReceived
	// ClientCallDurationMetricName is how long RPCs took, in seconds, as the program sees
	// them, with all their attempts.
	ClientCallDurationMetricName string = plugin.CallDuration
)

// The metrics of a server's RPCs (gRFC A66). All have the label grpc.method; those that are
// recorded at an end have grpc.status.
const (
	// ServerCallStartedMetricName counts the RPCs that came.
	ServerCallStartedMetricName string = plugin.ServedStarted
	// ServerCallSentCompressedTotalMessageSizeMetricName is what each RPC sent in messages,
	// in bytes, compressed, without framing.
	ServerCallSentCompressedTotalMessageSizeMetricName string = plugin.ServedSent
	// ServerCallRcvdCompressedTotalMessageSizeMetricName is what each RPC received in
	// messages, in bytes, compressed, without framing.
	ServerCallRcvdCompressedTotalMessageSizeMetricName string = plugin.ServedReceived
	// ServerCallDurationMetricName is how long RPCs took, in seconds.
	ServerCallDurationMetricName string = plugin.ServedDuration
)

// The limits between the buckets of histograms (gRFC A66). Instruments are made with them as
// advice, which a MeterProvider of OpenTelemetry's SDK follows unless a view says otherwise.
var (
	// DefaultLatencyBounds are those of durations, in seconds.
	DefaultLatencyBounds = plugin.LatencyBounds
	// DefaultSizeBounds are the default bucket bounds of histograms of sizes, in bytes.
	DefaultSizeBounds = plugin.SizeBounds
)
