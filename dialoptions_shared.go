// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"weak"

	ibackoff "google.golang.org/grpc/internal/backoff"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport/grpcwire"
)

// settleServiceConfig parses the default service config.
func (o *dialOptions) settleServiceConfig() error {
	if o.defaultServiceConfig == nil {
		return nil
	}
	parsed := parseServiceConfig(*o.defaultServiceConfig)
	if parsed.Err != nil {
		return fmt.Errorf("grpc: the provided default service config is invalid: %w", parsed.Err)
	}
	o.fallback = parsed.Config.(*ServiceConfig)
	return nil
}

// settleInterceptors makes one function of those of each kind.
func (o *dialOptions) settleInterceptors() {
	if o.unary != nil {
		o.chainUnary = append([]UnaryClientInterceptor{o.unary}, o.chainUnary...)
	}
	if o.stream != nil {
		o.chainStream = append([]StreamClientInterceptor{o.stream}, o.chainStream...)
	}
	o.invoker, o.streamer = chainUnary(o.chainUnary), chainStream(o.chainStream)
}

// settleTransport completes what connections are made with. The proxy's dialer, if any,
// is there already.
func (o *dialOptions) settleTransport() {
	c := &o.transport
	c.Creds = o.creds
	c.UserAgent = grpcwire.UserAgent(o.userAgent, Version)
	if o.dialer != nil {
		c.Dial = o.dialer
	}
	c.Prepare()
}

// recentOptions are those that channels made last. They are not kept alive by it.
var recentOptions struct {
	sync.Mutex
	list [4]weak.Pointer[channelOptions]
	next int
}

// shareOptions returns options for a channel to keep: a copy of o, or those of another
// channel that are the same. Of thousands of channels most are made alike.
func shareOptions(o *channelOptions) *channelOptions {
	recent := &recentOptions
	recent.Lock()
	defer recent.Unlock()
	for _, w := range recent.list {
		if other := w.Value(); other != nil && o.sameAs(other) {
			return other
		}
	}
	kept := new(channelOptions)
	*kept = *o
	kept.recorders = istats.NewRecorders(kept.transport.StatsHandlers, kept.telemetry.Recorders()...)
	recent.list[recent.next] = weak.Make(kept)
	recent.next = (recent.next + 1) % len(recent.list)
	return kept
}

// sameAs says whether a channel may as well have the options p. What can't be compared,
// such as functions, counts as different. The recorders follow from the handlers.
func (o *channelOptions) sameAs(p *channelOptions) bool {
	return o.dialer == nil && p.dialer == nil &&
		o.invoker == nil && p.invoker == nil &&
		o.streamer == nil && p.streamer == nil &&
		len(o.telemetry) == 0 && len(p.telemetry) == 0 &&
		o.fallback == p.fallback &&
		o.userAgent == p.userAgent &&
		o.minConnectTimeout == p.minConnectTimeout &&
		o.maxAttempts == p.maxAttempts &&
		o.idleTimeout == p.idleTimeout &&
		o.noServiceConfig == p.noServiceConfig &&
		o.noHealthCheck == p.noHealthCheck &&
		o.noRetry == p.noRetry &&
		sameValue(o.creds, p.creds) &&
		sameValue(o.bundle, p.bundle) &&
		sameValue(o.bundled, p.bundled) &&
		sameValue(o.compressor, p.compressor) &&
		sameValue(o.decompressor, p.decompressor) &&
		sameBackoff(o.backoff, p.backoff) &&
		slices.EqualFunc(o.perRPC, p.perRPC, sameValue) &&
		slices.EqualFunc(o.callOptions, p.callOptions, sameValue) &&
		o.transport.SameAs(&p.transport)
}

func sameBackoff(a, b ibackoff.Strategy) bool {
	p, ok := a.(*ibackoff.Exponential)
	q, also := b.(*ibackoff.Exponential)
	if ok && also {
		return p.Config == q.Config && p.Random == nil && q.Random == nil
	}
	return sameValue(a, b)
}

// sameValue compares what two interfaces hold, if that can be compared.
func sameValue[T any](a, b T) bool {
	x, y := any(a), any(b)
	return x == nil && y == nil || reflect.ValueOf(x).Comparable() && x == y
}
