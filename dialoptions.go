// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"net/url"
	"slices"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/channelz"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	ibackoff "google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
)

const (
	defaultIdleTimeout     = 30 * time.Minute
	defaultMaxCallAttempts = 5
)

// defaultBackoff is boxed once.
var defaultBackoff ibackoff.Strategy = &ibackoff.Default

// dialOptions is what a channel is made from.
type dialOptions struct {
	channelOptions

	authority   string
	noProxy     bool
	localDNS    bool
	proxyFor    func(*url.URL) (*url.URL, error)                          // nil: the environment decides; set by tests
	proxyDialer func(proxy *url.URL, userAgent string) transport.DialFunc // nil: as HTTPS_PROXY is dialed
	// proxyDefaultPort has a proxy asked for port 443 where a target names none.
	proxyDefaultPort bool

	plugins []*telemetryPlugin // channelOptions.telemetry is made of them

	// The interceptors: the one that is called first, or nil, and the others.
	unary       UnaryClientInterceptor
	chainUnary  []UnaryClientInterceptor
	stream      StreamClientInterceptor
	first       firstInterceptors
	chainStream []StreamClientInterceptor

	resolvers            []resolver.Builder
	defaultServiceConfig *string
	channelz             channelz.Identifier

	// For Dial and DialContext only.
	block           bool
	returnLastError bool
	failOnNonTemp   bool
	timeout         time.Duration
}

func newDialOptions(opts []DialOption) dialOptions {
	o := dialOptions{
		channelOptions: channelOptions{
			Options: channel.Options{
				Backoff:           defaultBackoff,
				MinConnectTimeout: defaultMinConnectTimeout,
				IdleTimeout:       defaultIdleTimeout,
				Fallback:          channel.NoServiceConfig,
				Scale:             envconfig.ConnectionScaling,
			},
			maxAttempts: defaultMaxCallAttempts,
		},
		proxyDefaultPort: envconfig.DefaultPortForProxyTarget,
	}
	plugins := telemetry.Global()
	for _, p := range plugins.Clients {
		o.addTelemetry(p)
	}
	o.Transport.StatsHandlers = slices.Clip(plugins.ClientHandlers)
	for _, opt := range opts {
		o.take(opt)
	}
	return o
}

// take applies an option, and the methods by which options of other packages say what they set.
func (o *dialOptions) take(opt DialOption) {
	opt.apply(o)
	if p, ok := opt.(interface{ ChannelTelemetry() telemetry.Client }); ok {
		o.addTelemetry(p.ChannelTelemetry())
	}
	if p, ok := opt.(interface{ ChannelBufferPool() mem.BufferPool }); ok {
		o.Transport.BufferPool = p.ChannelBufferPool()
	}
	if p, ok := opt.(interface{ ChannelMaxConnections() int }); ok {
		o.MaxScale = p.ChannelMaxConnections()
	}
	if p, ok := opt.(interface{ ChannelMaxBytesHeld() int64 }); ok {
		o.Transport.MaxBytesHeld = p.ChannelMaxBytesHeld()
	}
	o.takeMore(opt)
}

func (o *dialOptions) addTelemetry(c telemetry.Client) {
	p := &telemetryPlugin{client: c}
	o.plugins = append(o.plugins, p)
	o.chainUnary = append(o.chainUnary, p.unary)
	o.chainStream = append(o.chainStream, p.stream)
}

// DialOption says how a [ClientConn] is to be. Options are applied in the order they
// are given.
type DialOption interface {
	apply(*dialOptions)
}

// EmptyDialOption changes nothing. It is meant to be embedded in the options that
// other packages define for interceptors of theirs.
//
// Experimental: this API may change in a later release.
type EmptyDialOption struct{}

func (EmptyDialOption) apply(*dialOptions) {}

// optionFunc is a DialOption that calls a function. Programs compare options, and have
// them as keys of maps, so it is used by its address.
type optionFunc struct{ f func(*dialOptions) }

func (o *optionFunc) apply(to *dialOptions) { o.f(to) }

func dialOption(f func(*dialOptions)) DialOption { return &optionFunc{f} }

// WithTransportCredentials sets what secures the connections: TLS, for example, or
// package insecure's. A channel needs this or WithCredentialsBundle.
func WithTransportCredentials(creds credentials.TransportCredentials) DialOption {
	return dialOption(func(o *dialOptions) { o.Creds = creds })
}

// WithInsecure makes the channel's connections plaintext.
//
// Deprecated: use WithTransportCredentials with insecure.NewCredentials().
func WithInsecure() DialOption { return WithTransportCredentials(insecure.NewCredentials()) }

// WithCredentialsBundle sets transport and per-RPC credentials at once.
//
// Experimental: this API may change in a later release.
func WithCredentialsBundle(b credentials.Bundle) DialOption {
	return dialOption(func(o *dialOptions) { o.Bundle = b })
}

// WithPerRPCCredentials adds credentials that every RPC of the channel carries.
func WithPerRPCCredentials(creds credentials.PerRPCCredentials) DialOption {
	return dialOption(func(o *dialOptions) { o.PerRPC = append(o.PerRPC, creds) })
}

// WithAuthority sets the :authority of all RPCs, by which TLS also verifies the
// server, in place of what the target gives, or the resolver for an address.
func WithAuthority(a string) DialOption {
	return dialOption(func(o *dialOptions) { o.authority = a })
}

// WithUserAgent puts s, and a space, in front of this module's own user-agent, also where
// s is empty.
func WithUserAgent(s string) DialOption {
	return dialOption(func(o *dialOptions) { o.userAgent = s + " " })
}

// WithContextDialer sets who opens connections. f gets a context with a deadline and
// the address as the resolver gave it; one of a unix socket is "unix:///absolute/path",
// "unix:relative/path" or "unix:@abstract-name". No proxy is used then. NewClient
// resolves names before it dials: the target's scheme has to be "passthrough" for f to
// see the target itself.
//
// It must not return a *tls.Conn: credentials run the handshake.
func WithContextDialer(f func(context.Context, string) (net.Conn, error)) DialOption {
	return dialOption(func(o *dialOptions) { o.Dialer = f })
}

// WithDialer is WithContextDialer for a function that takes the time left instead of
// a context.
//
// Deprecated: use WithContextDialer.
func WithDialer(f func(string, time.Duration) (net.Conn, error)) DialOption {
	return WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		if deadline, ok := ctx.Deadline(); ok {
			return f(addr, time.Until(deadline))
		}
		return f(addr, 0)
	})
}

// WithNoProxy keeps the channel from using a proxy that the environment names. It
// makes no difference to a channel with a dialer of its own.
//
// Experimental: this API may change in a later release.
func WithNoProxy() DialOption { return dialOption(func(o *dialOptions) { o.noProxy = true }) }

// WithLocalDNSResolution has names of dns targets resolved here, and the proxy
// connect to the addresses, where it would otherwise be given the name.
//
// Experimental: this API may change in a later release.
func WithLocalDNSResolution() DialOption {
	return dialOption(func(o *dialOptions) { o.localDNS = true })
}

// WithUnaryInterceptor sets the interceptor of unary RPCs that is called first, before
// those of WithChainUnaryInterceptor. The last one given counts; nil is none.
func WithUnaryInterceptor(f UnaryClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.unary = f })
}

// WithChainUnaryInterceptor adds interceptors of unary RPCs. The first is the
// outermost.
func WithChainUnaryInterceptor(interceptors ...UnaryClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.chainUnary = append(o.chainUnary, interceptors...) })
}

// WithStreamInterceptor sets the interceptor of streaming RPCs that is called first,
// before those of WithChainStreamInterceptor. The last one given counts; nil is none.
func WithStreamInterceptor(f StreamClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.stream = f })
}

// WithChainStreamInterceptor adds interceptors of streaming RPCs. The first is the
// outermost.
func WithChainStreamInterceptor(interceptors ...StreamClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.chainStream = append(o.chainStream, interceptors...) })
}

// WithDefaultCallOptions adds options that every RPC of the channel has, before its
// own.
func WithDefaultCallOptions(cos ...CallOption) DialOption {
	return dialOption(func(o *dialOptions) { o.callOptions = append(o.callOptions, cos...) })
}

// WithMaxMsgSize bounds the messages that are received, in bytes.
//
// Deprecated: use WithDefaultCallOptions with MaxCallRecvMsgSize.
func WithMaxMsgSize(s int) DialOption { return WithDefaultCallOptions(MaxCallRecvMsgSize(s)) }

// WithCodec sets the codec of all RPCs.
//
// Deprecated: use WithDefaultCallOptions with ForceCodecV2.
func WithCodec(c Codec) DialOption { return WithDefaultCallOptions(CallCustomCodec(c)) }

// WithCompressor sets the compressor of what is sent. UseCompressor overrides it.
//
// Deprecated: use UseCompressor.
func WithCompressor(cp Compressor) DialOption {
	return dialOption(func(o *dialOptions) { o.compressor = cp })
}

// WithDecompressor sets who decompresses messages with its type of compression.
//
// Deprecated: register a compressor with package encoding.
func WithDecompressor(dc Decompressor) DialOption {
	return dialOption(func(o *dialOptions) { o.decompressor = dc })
}

// WithStatsHandler adds a handler that is told of the channel's RPCs and connections.
// A nil handler is left out.
func WithStatsHandler(h stats.Handler) DialOption {
	return dialOption(func(o *dialOptions) {
		if h == nil {
			logger.Error("ignoring nil parameter in grpc.WithStatsHandler ClientOption")
			return
		}
		o.Transport.StatsHandlers = append(o.Transport.StatsHandlers, h)
	})
}

// WithResolvers adds resolvers for this channel, which come before the registered
// ones of the same scheme.
//
// Experimental: this API may change in a later release.
func WithResolvers(rs ...resolver.Builder) DialOption {
	return dialOption(func(o *dialOptions) { o.resolvers = append(o.resolvers, rs...) })
}

// WithDefaultServiceConfig sets the service config, in JSON, for when the resolver
// brings none. An invalid one makes NewClient fail.
func WithDefaultServiceConfig(s string) DialOption {
	return dialOption(func(o *dialOptions) { o.defaultServiceConfig = &s })
}

// WithDisableServiceConfig has service configs of the resolver ignored. That of
// WithDefaultServiceConfig still applies.
func WithDisableServiceConfig() DialOption {
	return dialOption(func(o *dialOptions) { o.NoServiceConfig = true })
}

// WithDisableHealthCheck turns client-side health checking (gRFC A17) off, whatever
// the service config says.
//
// Experimental: this API may change in a later release.
func WithDisableHealthCheck() DialOption {
	return dialOption(func(o *dialOptions) { o.NoHealthCheck = true })
}

// WithDisableRetry turns retries off that a service config configures. An RPC that
// never reached a server is still tried again (gRFC A6).
func WithDisableRetry() DialOption { return dialOption(func(o *dialOptions) { o.noRetry = true }) }

// WithMaxCallAttempts bounds the attempts of one RPC, the first included, below what
// the service config's retry policy allows. Less than 2 stands for the default, 5.
func WithMaxCallAttempts(n int) DialOption {
	return dialOption(func(o *dialOptions) {
		if n < 2 {
			n = defaultMaxCallAttempts
		}
		o.maxAttempts = n
	})
}

// WithConnectParams sets the pauses between attempts to connect, and how long one may
// at least take; see [ConnectParams].
func WithConnectParams(p ConnectParams) DialOption {
	return dialOption(func(o *dialOptions) {
		o.MinConnectTimeout = p.minConnectTimeout()
		o.Backoff = &ibackoff.Exponential{Config: ibackoff.Sane(p.Backoff)}
	})
}

// WithBackoffMaxDelay bounds the pause between attempts to connect.
//
// Deprecated: use WithConnectParams.
func WithBackoffMaxDelay(md time.Duration) DialOption {
	return WithBackoffConfig(BackoffConfig{MaxDelay: md})
}

// WithBackoffConfig bounds the pause between attempts to connect.
//
// Deprecated: use WithConnectParams.
func WithBackoffConfig(b BackoffConfig) DialOption {
	c := backoff.DefaultConfig
	c.MaxDelay = b.MaxDelay
	return dialOption(func(o *dialOptions) { o.Backoff = &ibackoff.Exponential{Config: ibackoff.Sane(c)} })
}

// WithIdleTimeout sets after how long without an RPC the channel goes idle: it closes
// its connections, and forgets what the resolver found, until the next RPC or Connect.
// 0 stands for never. The default is 30 minutes.
//
// Experimental: this API may change in a later release.
func WithIdleTimeout(d time.Duration) DialOption {
	return dialOption(func(o *dialOptions) { o.IdleTimeout = d })
}

// WithKeepaliveParams sets when connections are probed. Time is at least 10 seconds, also if it
// is not set. On systems with such an option (Linux, macOS, FreeBSD, Windows), Timeout also bounds
// how long what was sent over a TCP connection may stay unacknowledged, any data and not only the
// probes, before the connection is closed (gRFC A18).
func WithKeepaliveParams(kp keepalive.ClientParameters) DialOption {
	kp.Time = max(kp.Time, transport.MinClientPingInterval)
	return dialOption(func(o *dialOptions) { o.Transport.Keepalive = kp })
}

// WithInitialWindowSize sets the receive window of a stream to begin with, in bytes, 64 KiB by default.
// Smaller values are ignored. From there it grows with what the path can carry, up to 16 MiB;
// WithStaticStreamWindowSize keeps it as it is.
func WithInitialWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.InitialWindow = s })
}

// WithInitialConnWindowSize sets the receive window of a connection to begin with, in
// bytes. Values below 64 KiB are ignored. By default it is 1 MiB from its first update on. It grows, as
// that of a stream does.
func WithInitialConnWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.InitialConnWindow = s })
}

// WithStaticStreamWindowSize sets the receive window of a stream, in bytes, and keeps
// windows from growing with what the path can carry.
//
// Experimental: this API may change in a later release.
func WithStaticStreamWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) {
		o.Transport.InitialWindow = s
		o.Transport.StaticWindow = true
	})
}

// WithStaticConnWindowSize sets the receive window of a connection, in bytes, and
// keeps windows from growing with what the path can carry.
//
// Experimental: this API may change in a later release.
func WithStaticConnWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) {
		o.Transport.InitialConnWindow = s
		o.Transport.StaticWindow = true
	})
}

// WithReadBufferSize sets how many bytes one read takes at most: 32 KiB by default.
// The buffer is held only while there is something in it.
func WithReadBufferSize(s int) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.ReadBufferSize = s })
}

// WithWriteBufferSize sets how many bytes of messages one write takes at most, from
// 256 KiB, which is the default and the least, to 1 MiB. What is written together is
// decided by what there is to write; the buffer is held only for the write.
func WithWriteBufferSize(s int) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.WriteBufferSize = s })
}

// WithSharedWriteBuffer has no effect: write buffers are always shared.
//
// Deprecated: it is the only behaviour.
func WithSharedWriteBuffer(bool) DialOption { return EmptyDialOption{} }

// MaxHeaderListSizeDialOption is the option that WithMaxHeaderListSize returns.
type MaxHeaderListSizeDialOption struct {
	// MaxHeaderListSize is in bytes, as RFC 9113 section 6.5.2 counts.
	MaxHeaderListSize uint32
}

func (m MaxHeaderListSizeDialOption) apply(o *dialOptions) {
	size := m.MaxHeaderListSize
	o.Transport.MaxHeaderListSize = &size
}

// WithMaxHeaderListSize bounds the header list that the client accepts, in bytes as
// RFC 9113 section 6.5.2 counts.
func WithMaxHeaderListSize(s uint32) DialOption { return MaxHeaderListSizeDialOption{s} }

// WithChannelzParentID makes the channel a child of another in channelz.
//
// Experimental: this API may change in a later release.
func WithChannelzParentID(c channelz.Identifier) DialOption {
	return dialOption(func(o *dialOptions) { o.channelz = c })
}

// WithBlock makes Dial wait until the channel is ready. NewClient ignores it.
//
// Deprecated: see the documentation of Dial.
func WithBlock() DialOption { return dialOption(func(o *dialOptions) { o.block = true }) }

// WithReturnConnectionError makes Dial wait as WithBlock does, and return the last
// error of a connection if its context ends first. NewClient ignores it.
//
// Deprecated: see the documentation of Dial.
func WithReturnConnectionError() DialOption {
	return dialOption(func(o *dialOptions) { o.block, o.returnLastError = true, true })
}

// FailOnNonTempDialError makes a Dial that waits fail at the first error of a
// connection which says that it is not temporary. NewClient ignores it.
//
// Deprecated: see the documentation of Dial.
func FailOnNonTempDialError(f bool) DialOption {
	return dialOption(func(o *dialOptions) { o.failOnNonTemp = f })
}

// WithTimeout bounds how long a Dial that waits may take. NewClient ignores it.
//
// Deprecated: use DialContext with a context that ends.
func WithTimeout(d time.Duration) DialOption {
	return dialOption(func(o *dialOptions) { o.timeout = d })
}
