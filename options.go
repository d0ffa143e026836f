// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
	"weak"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/same"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/serviceconfig"
)

// EnableTracing makes RPCs appear on the pages of golang.org/x/net/trace, in a program that
// imports google.golang.org/grpc/experimental/nettrace or is built with the tag grpctrace. In
// any other program it has no effect, so that programs need not link golang.org/x/net/trace. Set
// it before the first RPC.
var EnableTracing bool

// What init sets is for the modules beside this one (see internal/siblings.go), and for simulations.
func init() {
	internal.JoinDialOptions = joinDialOptions
	internal.ParseServiceConfig = func(js string) *serviceconfig.ParseResult {
		return parseServiceConfig(js, envconfig.ConnectionScaling)
	}
	internal.AddGlobalDialOptions = func(opts ...DialOption) { globalOptions.addDial(opts) }
	internal.ClearGlobalDialOptions = func() { globalOptions.clearDial() }
	internal.DisableGlobalDialOptions = func() DialOption { return noGlobalOptions{} }
	internal.AddGlobalServerOptions = func(opts ...ServerOption) { globalOptions.addServer(opts) }
	internal.ClearGlobalServerOptions = func() { globalOptions.clearServer() }
	internal.WithBinaryLogger = withBinaryLogger
	internal.BinaryLogger = binaryLogger
	internal.WithGround = withGround
	internal.Ground = ground
}

// joinDialOptions combines options into one.
func joinDialOptions(opts ...DialOption) DialOption {
	return dialOption(func(o *dialOptions) {
		for _, opt := range opts {
			o.take(opt)
		}
	})
}

// withBinaryLogger makes l log the channel's RPCs, in addition to the log that the environment configures.
func withBinaryLogger(l binarylog.Logger) DialOption {
	return dialOption(func(o *dialOptions) { o.binaryLogger = l })
}

// binaryLogger does for a server what withBinaryLogger does for a channel.
func binaryLogger(l binarylog.Logger) ServerOption {
	return serverOption(func(o *serverOptions) { o.binaryLogger = l })
}

// withGround makes the channel's connections stand on g.
func withGround(g *park.Ground) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.Ground = g })
}

// ground does for a server what withGround does for a channel.
func ground(g *park.Ground) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Ground = g })
}

// globalOptions are put before the options of every channel and server that is made from now on.
var globalOptions optionLists

type optionLists struct {
	mu     sync.Mutex
	dial   []DialOption
	server []ServerOption
}

func (l *optionLists) addDial(opts []DialOption) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = append(slices.Clip(l.dial), opts...)
}

func (l *optionLists) clearDial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = nil
}

func (l *optionLists) addServer(opts []ServerOption) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = append(slices.Clip(l.server), opts...)
}

func (l *optionLists) clearServer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = nil
}

// noGlobalOptions is an option that keeps a channel from having global options.
type noGlobalOptions struct{ EmptyDialOption }

// withGlobalOptions returns opts with the global options before them, unless opts has noGlobalOptions.
func withGlobalOptions(opts []DialOption) []DialOption {
	for _, opt := range opts {
		if _, none := opt.(noGlobalOptions); none {
			return opts
		}
	}
	globalOptions.mu.Lock()
	defer globalOptions.mu.Unlock()
	if len(globalOptions.dial) == 0 {
		return opts
	}
	return slices.Concat(globalOptions.dial, opts)
}

func globalServerOptions() []ServerOption {
	globalOptions.mu.Lock()
	defer globalOptions.mu.Unlock()
	return globalOptions.server
}

// firstInterceptors are the interceptors that packages below experimental put before the program's.
type firstInterceptors struct {
	unary  []UnaryClientInterceptor
	stream []StreamClientInterceptor
}

func (f *firstInterceptors) prepend(o *dialOptions) {
	o.chainUnary = append(f.unary, o.chainUnary...)
	o.chainStream = append(f.stream, o.chainStream...)
}

// takeMore looks for the methods that options of packages below experimental have.
func (o *dialOptions) takeMore(opt DialOption) {
	if p, ok := opt.(interface {
		FirstInterceptors() (UnaryClientInterceptor, StreamClientInterceptor)
	}); ok {
		unary, stream := p.FirstInterceptors()
		o.first.unary = append(o.first.unary, unary)
		o.first.stream = append(o.first.stream, stream)
	}
	if p, ok := opt.(interface{ ChannelStableAfter() time.Duration }); ok {
		o.StableAfter = p.ChannelStableAfter()
	}
	if p, ok := opt.(interface{ ChannelNesting() int }); ok {
		o.Nesting = p.ChannelNesting()
	}
	if p, ok := opt.(interface{ ChannelResolveEvery() time.Duration }); ok {
		o.ResolveEvery = p.ChannelResolveEvery()
	}
	if p, ok := opt.(interface {
		ChannelOnState(s connectivity.State, failure error)
	}); ok {
		o.addOnState(p.ChannelOnState)
	}
	if p, ok := opt.(interface {
		ChannelProxy() (proxy *url.URL, dial func(*url.URL, string) transport.DialFunc)
	}); ok {
		proxy, dial := p.ChannelProxy()
		o.proxyFor = func(*url.URL) (*url.URL, error) { return proxy, nil }
		o.proxyDialer = dial
	}
	// This option makes another option for each channel.
	if p, ok := opt.(interface{ NextDialOption() DialOption }); ok {
		o.take(p.NextDialOption())
	}
	if p, ok := opt.(interface{ ChannelProbes() net.KeepAliveConfig }); ok {
		cfg := p.ChannelProbes()
		o.Transport.Probes = &cfg
	}
}

// addOnState adds f to the functions that are told of the channel's states. Functions that were added before
// are told first.
func (o *dialOptions) addOnState(f func(connectivity.State, error)) {
	before := o.OnState
	o.OnState = func(s connectivity.State, failure error) {
		if before != nil {
			before(s, failure)
		}
		f(s, failure)
	}
}

// settleTelemetry tells the plugins the target, which is now known.
func (o *dialOptions) settleTelemetry(to *channel.Target) {
	for _, p := range o.plugins {
		p.channel = p.client.Channel(to.CanonicalTarget())
		o.telemetry = append(o.telemetry, p.channel)
	}
}

// settleServiceConfig parses the default service config.
func (o *dialOptions) settleServiceConfig() error {
	if o.defaultServiceConfig == nil {
		return nil
	}
	parsed, err := channel.ParseServiceConfig(*o.defaultServiceConfig, o.Scale)
	if err != nil {
		return fmt.Errorf("grpc: the provided default service config is invalid: %w", err)
	}
	o.Fallback = parsed
	return nil
}

// settleProxy finds out whether connections go through a proxy. They do not if the program brings its
// own dialer.
func (o *dialOptions) settleProxy(to *channel.Target) (err error) {
	if o.Dialer != nil || o.noProxy {
		return nil
	}
	o.Transport.Dial, err = to.SettleProxy(channel.ProxyParams{
		UserAgent:   transport.UserAgent(o.userAgent, Version),
		LocalDNS:    o.localDNS,
		DefaultPort: o.proxyDefaultPort,
		For:         o.proxyFor,
		Dialer:      o.proxyDialer,
	})
	return err
}

// settleInterceptors combines the interceptors of each kind into one function.
func (o *dialOptions) settleInterceptors() {
	if o.unary != nil {
		o.chainUnary = append([]UnaryClientInterceptor{o.unary}, o.chainUnary...)
	}
	if o.stream != nil {
		o.chainStream = append([]StreamClientInterceptor{o.stream}, o.chainStream...)
	}
	o.first.prepend(o)
	o.invoker, o.streamer = chainUnary(o.chainUnary), chainStream(o.chainStream)
}

// settleTransport completes the transport's configuration. settleProxy must be called before: it sets
// the proxy's dialer, if there is a proxy.
func (o *dialOptions) settleTransport() {
	c := &o.Transport
	c.Creds = o.Creds
	c.UserAgent = transport.UserAgent(o.userAgent, Version)
	if o.Dialer != nil {
		c.Dial = o.Dialer
	}
	c.FailOnNonTemp = o.failOnNonTemp
	c.Prepare()
}

// recentOptions has the options of the last few channels that could not share another's. Its pointers
// are weak, so it does not keep the options alive.
var recentOptions struct {
	sync.Mutex
	list [4]weak.Pointer[channelOptions]
	next int
}

// shareOptions returns options for a channel to keep: those of another channel if they are the same
// as o, otherwise a copy of o. Programs with thousands of channels make most of them alike.
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
	kept.Recorders = istats.NewRecorders(kept.Transport.StatsHandlers, kept.telemetry.Recorders()...)
	recent.list[recent.next] = weak.Make(kept)
	recent.next = (recent.next + 1) % len(recent.list)
	return kept
}

// sameAs reports whether o and p are interchangeable. Values that can't be compared, such as functions,
// count as different.
func (o *channelOptions) sameAs(p *channelOptions) bool {
	return o.Options.SameAs(&p.Options) &&
		o.invoker == nil && p.invoker == nil &&
		o.streamer == nil && p.streamer == nil &&
		len(o.telemetry) == 0 && len(p.telemetry) == 0 &&
		o.userAgent == p.userAgent &&
		o.maxAttempts == p.maxAttempts &&
		o.noRetry == p.noRetry &&
		same.Value(o.compressor, p.compressor) &&
		same.Value(o.decompressor, p.decompressor) &&
		same.Value(o.binaryLogger, p.binaryLogger) &&
		slices.EqualFunc(o.callOptions, p.callOptions, same.Value)
}

var errNoCredentials = errors.New("grpc: no transport security set (use grpc.WithTransportCredentials(insecure.NewCredentials()) explicitly or set credentials)")

// checkCredentials determines the transport credentials. It fails if per-RPC credentials require
// security that those do not provide.
func (o *dialOptions) checkCredentials() error {
	switch {
	case o.Creds == nil && o.Bundle == nil:
		return errNoCredentials
	case o.Creds != nil && o.Bundle != nil:
		return errors.New("grpc: credentials.Bundle may not be used with individual TransportCredentials")
	case o.Bundle != nil:
		if o.Creds = o.Bundle.TransportCredentials(); o.Creds == nil {
			return errors.New("grpc: credentials.Bundle must return non-nil transport credentials")
		}
	}
	if o.Creds.Info().SecurityProtocol != "insecure" {
		return nil
	}
	for _, c := range o.PerRPC {
		if c.RequireTransportSecurity() {
			return errors.New("grpc: the credentials require transport level security (use grpc.WithTransportCredentials() to set)")
		}
	}
	return nil
}
