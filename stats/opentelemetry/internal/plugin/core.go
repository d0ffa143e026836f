// SPDX-License-Identifier: Apache-2.0

package plugin

import "go.opentelemetry.io/otel/trace"

// channel is the plugin of one channel.
type channel struct {
	*Client
	target   string
	exchange Exchange // nil: the RPCs take no part
	methods  cache[string, *points]
}

// callKey finds the call of a channel's plugin in a context.
type callKey struct{ c *channel }

// Client is the plugin of channels.
type Client struct {
	config      Config
	instruments clientInstruments
	on          optional
	tracer      trace.Tracer // nil: nothing is traced
	recorder    *recorder    // nil: nothing is measured
}
