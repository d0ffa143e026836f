// SPDX-License-Identifier: Apache-2.0

package plugin

import "go.opentelemetry.io/otel/trace"

// channel is the plugin of one channel.
type channel struct {
	*Client
	target   string
	exchange Exchange // nil if the channel's RPCs do not take part
	methods  cache[string, *points]
}

// callKey is the context key of the call that a channel's plugin has made.
type callKey struct{ c *channel }

// Client is the plugin of channels.
type Client struct {
	config      Config
	instruments clientInstruments
	on          optional
	tracer      trace.Tracer // nil if nothing is traced
	recorder    *recorder    // nil if nothing is measured
}
