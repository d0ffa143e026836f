// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// The names of the metrics of RPCs (gRFC A66, A96).
const (
	AttemptStarted    = "grpc.client.attempt.started"
	AttemptDuration   = "grpc.client.attempt.duration"
	AttemptSent       = "grpc.client.attempt.sent_total_compressed_message_size"
	AttemptReceived   = "grpc.client.attempt.rcvd_total_compressed_message_size"
	CallDuration      = "grpc.client.call.duration"
	CallRetries       = "grpc.client.call.retries"
	CallTransparent   = "grpc.client.call.transparent_retries"
	CallHedges        = "grpc.client.call.hedges"
	CallRetryDelay    = "grpc.client.call.retry_delay"
	ServedStarted     = "grpc.server.call.started"
	ServedSent        = "grpc.server.call.sent_total_compressed_message_size"
	ServedReceived    = "grpc.server.call.rcvd_total_compressed_message_size"
	ServedDuration    = "grpc.server.call.duration"
	unitAttempts      = "{attempt}"
	unitCalls         = "{call}"
	unitBytes         = "By"
	unitSeconds       = "s"
	unitRetries       = "{retry}"
	unitTransparent   = "{transparent_retry}"
	unitHedges        = "{hedge}"
	textRetries       = "EXPERIMENTAL. Number of retries during the client call. If there were no retries, 0 is not reported."
	textTransparent   = "EXPERIMENTAL. Number of transparent retries during the client call. If there were no transparent retries, 0 is not reported."
	textHedges        = "EXPERIMENTAL. Number of hedges during the client call. If there were no hedges, 0 is not reported."
	textRetryDelay    = "EXPERIMENTAL. Total time of delay while there is no active attempt during the client call."
	textStarted       = "Number of client call attempts started."
	textDuration      = "End-to-end time taken to complete a client call attempt."
	textSent          = "Compressed message bytes sent per client call attempt."
	textReceived      = "Compressed message bytes received per call attempt."
	textCall          = "Time taken by gRPC to complete an RPC from application's perspective."
	textServed        = "Number of server calls started."
	textServedSent    = "Compressed message bytes sent per server call."
	textServedRecv    = "Compressed message bytes received per server call."
	textServedSeconds = "End-to-end time taken to complete a call from server transport's perspective."
)

// LatencyBounds and SizeBounds are the bucket boundaries of histograms that gRFC A66
// recommends, in seconds and in bytes.
var (
	LatencyBounds = []float64{
		0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008,
		0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4,
		0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100,
	}
	SizeBounds = []float64{
		0, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20,
		256 << 20, 1 << 30, 4 << 30,
	}
	retryBounds       = []float64{1, 2, 3, 4, 5}
	transparentBounds = []float64{1, 2, 3, 4, 5, 10}
)

// clientInstruments are the instruments for a channel's RPCs. An instrument that is off is nil.
type clientInstruments struct {
	started        metric.Int64Counter
	duration       metric.Float64Histogram
	sent, received metric.Int64Histogram

	call        metric.Float64Histogram
	retries     metric.Int64Histogram
	transparent metric.Int64Histogram
	hedges      metric.Int64Histogram
	retryDelay  metric.Float64Histogram
}

// countsRetries reports whether any instrument for retries is on.
func (i *clientInstruments) countsRetries() bool {
	return i.retries != nil || i.transparent != nil || i.hedges != nil || i.retryDelay != nil
}

func newClientInstruments(meter metric.Meter, c *Config) clientInstruments {
	m := maker{meter, c}
	return clientInstruments{
		started:     m.counter(AttemptStarted, unitAttempts, textStarted),
		duration:    m.seconds(AttemptDuration, textDuration),
		sent:        m.histogram(AttemptSent, unitBytes, textSent, c.Sizes),
		received:    m.histogram(AttemptReceived, unitBytes, textReceived, c.Sizes),
		call:        m.seconds(CallDuration, textCall),
		retries:     m.histogram(CallRetries, unitRetries, textRetries, retryBounds),
		transparent: m.histogram(CallTransparent, unitTransparent, textTransparent, transparentBounds),
		hedges:      m.histogram(CallHedges, unitHedges, textHedges, retryBounds),
		retryDelay:  m.seconds(CallRetryDelay, textRetryDelay),
	}
}

// serverInstruments are the instruments for a server's RPCs. An instrument that is off is nil.
type serverInstruments struct {
	started        metric.Int64Counter
	duration       metric.Float64Histogram
	sent, received metric.Int64Histogram
}

func newServerInstruments(meter metric.Meter, c *Config) serverInstruments {
	m := maker{meter, c}
	return serverInstruments{
		started:  m.counter(ServedStarted, unitCalls, textServed),
		duration: m.seconds(ServedDuration, textServedSeconds),
		sent:     m.histogram(ServedSent, unitBytes, textServedSent, c.Sizes),
		received: m.histogram(ServedReceived, unitBytes, textServedRecv, c.Sizes),
	}
}

// maker makes the instruments that are on. If one can't be made, it is off, and OpenTelemetry's
// error handler gets the error.
type maker struct {
	meter  metric.Meter
	config *Config
}

func (m maker) wants(name string) bool { return m.config.Metrics.Metrics()[name] }

func (m maker) counter(name, unit, text string) metric.Int64Counter {
	if !m.wants(name) {
		return nil
	}
	i, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return made(i, err)
}

func (m maker) seconds(name, text string) metric.Float64Histogram {
	if !m.wants(name) {
		return nil
	}
	i, err := m.meter.Float64Histogram(name, metric.WithUnit(unitSeconds), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(m.config.Latencies...))
	return made(i, err)
}

func (m maker) histogram(name, unit, text string, bounds []float64) metric.Int64Histogram {
	if !m.wants(name) {
		return nil
	}
	i, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(bounds...))
	return made(i, err)
}

func made[I any](instrument I, err error) I {
	if err != nil {
		otel.Handle(err)
		var none I
		return none
	}
	return instrument
}
