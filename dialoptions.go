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

// defaultBackoff is a variable so that converting it to an interface allocates only once.
var defaultBackoff ibackoff.Strategy = &ibackoff.Default

// dialOptions is what the options of a new channel have set.
type dialOptions struct {
	channelOptions

	authority   string
	noProxy     bool
	localDNS    bool
	proxyFor    func(*url.URL) (*url.URL, error)                          // nil: the environment decides
	proxyDialer func(proxy *url.URL, userAgent string) transport.DialFunc // nil: dials as for HTTPS_PROXY
	// proxyDefaultPort makes the channel ask a proxy for port 443 if the target names no port.
	proxyDefaultPort bool

	plugins []*telemetryPlugin // settleTelemetry makes channelOptions.telemetry of them

	// Interceptors are called in this order: first, then unary or stream, which may be nil, then the chain.
	unary       UnaryClientInterceptor
	chainUnary  []UnaryClientInterceptor
	stream      StreamClientInterceptor
	first       firstInterceptors
	chainStream []StreamClientInterceptor

	resolvers            []resolver.Builder
	defaultServiceConfig *string
	channelz             channelz.Identifier

	// Only Dial and DialContext use these.
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

// take applies an option, and looks for the methods that options of other packages have.
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

// DialOption configures a [ClientConn]. Options are applied in the order in which they are given.
type DialOption interface {
	apply(*dialOptions)
}

// EmptyDialOption changes nothing. Packages can embed it in options that they define for their own
// interceptors.
//
// Experimental: this API may change in a later release.
type EmptyDialOption struct{}

func (EmptyDialOption) apply(*dialOptions) {}

// optionFunc is a DialOption that calls a function. Options are pointers to it, because programs
// compare options and use them as keys of maps.
type optionFunc struct{ f func(*dialOptions) }

func (o *optionFunc) apply(to *dialOptions) { o.f(to) }

func dialOption(f func(*dialOptions)) DialOption { return &optionFunc{f} }

// WithTransportCredentials returns a DialOption that sets the credentials that secure the channel's
// connections: those of TLS, for example, or of package insecure. A channel needs this option or
// WithCredentialsBundle.
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

// WithAuthority returns a DialOption that sets the :authority of all RPCs, in place of the one from the
// target or, for a single address, from the resolver. TLS also verifies the server by it.
func WithAuthority(a string) DialOption {
	return dialOption(func(o *dialOptions) { o.authority = a })
}

// WithUserAgent returns a DialOption that puts s and a space in front of this module's own user-agent,
// even if s is empty.
func WithUserAgent(s string) DialOption {
	return dialOption(func(o *dialOptions) { o.userAgent = s + " " })
}

// WithContextDialer returns a DialOption that sets the function that opens connections. f gets a
// context with a deadline, and the address as the resolver gave it. The address of a unix socket is
// "unix:///absolute/path", "unix:relative/path" or "unix:@abstract-name". The channel then uses no
// proxy. NewClient resolves names before it dials: f sees the target itself only if the target's
// scheme is "passthrough".
//
// f must not return a *tls.Conn, as the channel's credentials run the handshake.
func WithContextDialer(f func(context.Context, string) (net.Conn, error)) DialOption {
	return dialOption(func(o *dialOptions) { o.Dialer = f })
}

// WithDialer is like WithContextDialer, but f takes the time that is left instead of a context.
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

// WithNoProxy returns a DialOption that keeps the channel from using a proxy that the environment
// names. It makes no difference to a channel with a dialer of its own.
//
// Experimental: this API may change in a later release.
func WithNoProxy() DialOption { return dialOption(func(o *dialOptions) { o.noProxy = true }) }

// WithLocalDNSResolution returns a DialOption for channels behind a proxy: the client itself resolves
// the names of dns targets, and asks the proxy for the addresses. By default it asks the proxy for the
// name.
//
// Experimental: this API may change in a later release.
func WithLocalDNSResolution() DialOption {
	return dialOption(func(o *dialOptions) { o.localDNS = true })
}

// WithUnaryInterceptor returns a DialOption that sets the interceptor of unary RPCs that is called
// first, before those of WithChainUnaryInterceptor. The last such option counts; nil stands for no
// interceptor.
func WithUnaryInterceptor(f UnaryClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.unary = f })
}

// WithChainUnaryInterceptor adds interceptors of unary RPCs. The first is the
// outermost.
func WithChainUnaryInterceptor(interceptors ...UnaryClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.chainUnary = append(o.chainUnary, interceptors...) })
}

// WithStreamInterceptor returns a DialOption that sets the interceptor of streaming RPCs that is called
// first, before those of WithChainStreamInterceptor. The last such option counts; nil stands for no
// interceptor.
func WithStreamInterceptor(f StreamClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.stream = f })
}

// WithChainStreamInterceptor adds interceptors of streaming RPCs. The first is the
// outermost.
func WithChainStreamInterceptor(interceptors ...StreamClientInterceptor) DialOption {
	return dialOption(func(o *dialOptions) { o.chainStream = append(o.chainStream, interceptors...) })
}

// WithDefaultCallOptions returns a DialOption that adds options to every RPC of the channel. They come
// before the RPC's own options.
func WithDefaultCallOptions(cos ...CallOption) DialOption {
	return dialOption(func(o *dialOptions) { o.callOptions = append(o.callOptions, cos...) })
}

// WithMaxMsgSize limits the size of messages that are received, in bytes.
//
// Deprecated: use WithDefaultCallOptions with MaxCallRecvMsgSize.
func WithMaxMsgSize(s int) DialOption { return WithDefaultCallOptions(MaxCallRecvMsgSize(s)) }

// WithCodec sets the codec of all RPCs.
//
// Deprecated: use WithDefaultCallOptions with ForceCodecV2.
func WithCodec(c Codec) DialOption { return WithDefaultCallOptions(CallCustomCodec(c)) }

// WithCompressor sets the compressor of messages that are sent. UseCompressor overrides it.
//
// Deprecated: use UseCompressor.
func WithCompressor(cp Compressor) DialOption {
	return dialOption(func(o *dialOptions) { o.compressor = cp })
}

// WithDecompressor sets the decompressor of received messages whose encoding is dc.Type().
//
// Deprecated: register a compressor with package encoding.
func WithDecompressor(dc Decompressor) DialOption {
	return dialOption(func(o *dialOptions) { o.decompressor = dc })
}

// WithStatsHandler adds a handler that is told of the channel's RPCs and connections.
// A nil handler is ignored.
func WithStatsHandler(h stats.Handler) DialOption {
	return dialOption(func(o *dialOptions) {
		if h == nil {
			logger.Error("ignoring nil parameter in grpc.WithStatsHandler ClientOption")
			return
		}
		o.Transport.StatsHandlers = append(o.Transport.StatsHandlers, h)
	})
}

// WithResolvers returns a DialOption that adds resolvers for this channel. They take precedence over
// registered resolvers of the same scheme.
//
// Experimental: this API may change in a later release.
func WithResolvers(rs ...resolver.Builder) DialOption {
	return dialOption(func(o *dialOptions) { o.resolvers = append(o.resolvers, rs...) })
}

// WithDefaultServiceConfig returns a DialOption that sets the service config, in JSON, that applies
// while the resolver provides none. NewClient fails if s is invalid.
func WithDefaultServiceConfig(s string) DialOption {
	return dialOption(func(o *dialOptions) { o.defaultServiceConfig = &s })
}

// WithDisableServiceConfig returns a DialOption that makes the channel ignore the resolver's service
// configs. That of WithDefaultServiceConfig still applies.
func WithDisableServiceConfig() DialOption {
	return dialOption(func(o *dialOptions) { o.NoServiceConfig = true })
}

// WithDisableHealthCheck returns a DialOption that turns off client-side health checking (gRFC A17),
// even if the service config asks for it.
//
// Experimental: this API may change in a later release.
func WithDisableHealthCheck() DialOption {
	return dialOption(func(o *dialOptions) { o.NoHealthCheck = true })
}

// WithDisableRetry returns a DialOption that turns off the retries and the hedging that a service config
// configures. An RPC that never reached a server is still tried again (gRFC A6).
func WithDisableRetry() DialOption { return dialOption(func(o *dialOptions) { o.noRetry = true }) }

// WithMaxCallAttempts returns a DialOption that limits the attempts of one RPC, including the first. The
// service config's retry policy may allow fewer. A value below 2 stands for the default, 5.
func WithMaxCallAttempts(n int) DialOption {
	return dialOption(func(o *dialOptions) {
		if n < 2 {
			n = defaultMaxCallAttempts
		}
		o.maxAttempts = n
	})
}

// WithConnectParams returns a DialOption that sets the pauses between attempts to connect, and the time
// that an attempt may take at least; see [ConnectParams].
func WithConnectParams(p ConnectParams) DialOption {
	return dialOption(func(o *dialOptions) {
		o.MinConnectTimeout = p.minConnectTimeout()
		o.Backoff = &ibackoff.Exponential{Config: ibackoff.Sane(p.Backoff)}
	})
}

// WithBackoffMaxDelay limits the pause between attempts to connect.
//
// Deprecated: use WithConnectParams.
func WithBackoffMaxDelay(md time.Duration) DialOption {
	return WithBackoffConfig(BackoffConfig{MaxDelay: md})
}

// WithBackoffConfig limits the pause between attempts to connect.
//
// Deprecated: use WithConnectParams.
func WithBackoffConfig(b BackoffConfig) DialOption {
	c := backoff.DefaultConfig
	c.MaxDelay = b.MaxDelay
	return dialOption(func(o *dialOptions) { o.Backoff = &ibackoff.Exponential{Config: ibackoff.Sane(c)} })
}

// WithIdleTimeout returns a DialOption that sets how long the channel waits without an RPC before it
// goes idle. An idle channel has closed its connections and forgotten what the resolver found, until
// the next RPC or Connect. 0 stands for never, and less than 0 for no time. The default is 30 minutes.
//
// Experimental: this API may change in a later release.
func WithIdleTimeout(d time.Duration) DialOption {
	if d < 0 {
		d = 1
	}
	return dialOption(func(o *dialOptions) { o.IdleTimeout = d })
}

// WithKeepaliveParams returns a DialOption that sets when the channel probes its connections. Time is at
// least 10 seconds, even if it is not set. On systems that have such a socket option (Linux, macOS,
// FreeBSD, Windows), Timeout also limits how long any data sent over a TCP connection, not only probes,
// may stay unacknowledged before the connection is closed (gRFC A18).
func WithKeepaliveParams(kp keepalive.ClientParameters) DialOption {
	if kp.Time < transport.MinClientPingInterval {
		logger.Warningf("Adjusting keepalive ping interval to minimum period of %v", transport.MinClientPingInterval)
		kp.Time = transport.MinClientPingInterval
	}
	return dialOption(func(o *dialOptions) { o.Transport.Keepalive = kp })
}

// WithInitialWindowSize returns a DialOption that sets the initial receive window of a stream, in bytes.
// The default is 64 KiB; smaller values are ignored. The window grows with what the path can carry, up to
// 16 MiB; WithStaticStreamWindowSize keeps it fixed.
func WithInitialWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.InitialWindow = s })
}

// WithInitialConnWindowSize returns a DialOption that sets the initial receive window of a connection, in
// bytes. Values below 64 KiB are ignored. By default the window is 1 MiB, from the first window update
// on. It grows as a stream's window does.
func WithInitialConnWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.InitialConnWindow = s })
}

// WithStaticStreamWindowSize returns a DialOption that sets the receive window of a stream, in bytes,
// and keeps windows from growing with what the path can carry: that of the connection too, which stays
// at 64 KiB without WithStaticConnWindowSize. Values below 64 KiB count as 64 KiB.
//
// Experimental: this API may change in a later release.
func WithStaticStreamWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) {
		o.Transport.InitialWindow = s
		o.Transport.StaticWindow = true
	})
}

// WithStaticConnWindowSize returns a DialOption that sets the receive window of a connection, in bytes,
// and keeps windows from growing with what the path can carry: those of streams too, which stay at
// 64 KiB without WithStaticStreamWindowSize. Values below 64 KiB count as 64 KiB.
//
// Experimental: this API may change in a later release.
func WithStaticConnWindowSize(s int32) DialOption {
	return dialOption(func(o *dialOptions) {
		o.Transport.InitialConnWindow = s
		o.Transport.StaticWindow = true
	})
}

// WithReadBufferSize returns a DialOption that sets how many bytes one read takes at most. The default
// is 32 KiB, which 0 stands for too; values below 16 KiB and 9 bytes, which
// one frame may have, count as that. A connection holds the buffer only while there is data in it.
func WithReadBufferSize(s int) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.ReadBufferSize = s })
}

// WithWriteBufferSize returns a DialOption that sets how many bytes of messages one write takes at most.
// The default, 256 KiB, is also the minimum; the maximum is 1 MiB. A write takes what is waiting to be
// written, and a connection holds the buffer only during the write.
func WithWriteBufferSize(s int) DialOption {
	return dialOption(func(o *dialOptions) { o.Transport.WriteBufferSize = s })
}

// WithSharedWriteBuffer has no effect: write buffers are always shared.
//
// Deprecated: it is the only behaviour.
func WithSharedWriteBuffer(bool) DialOption { return EmptyDialOption{} }

// MaxHeaderListSizeDialOption is the option that WithMaxHeaderListSize returns.
type MaxHeaderListSizeDialOption struct {
	// MaxHeaderListSize is in bytes, as RFC 9113 section 6.5.2 counts them.
	MaxHeaderListSize uint32
}

func (m MaxHeaderListSizeDialOption) apply(o *dialOptions) {
	size := m.MaxHeaderListSize
	o.Transport.MaxHeaderListSize = &size
}

// WithMaxHeaderListSize returns a DialOption that limits the header list that the client accepts, in
// bytes as RFC 9113 section 6.5.2 counts them. The default is 16 MiB; 0 accepts no field at all. A server
// of this module that would send more fails the RPC with codes.Internal.
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

// WithReturnConnectionError makes Dial wait as WithBlock does. If the context ends first, Dial returns
// the last error of a connection too. NewClient ignores it.
//
// Deprecated: see the documentation of Dial.
func WithReturnConnectionError() DialOption {
	return dialOption(func(o *dialOptions) { o.block, o.returnLastError = true, true })
}

// FailOnNonTempDialError makes a Dial with WithBlock return the first connection error that says that it
// is not temporary. NewClient ignores it.
//
// Deprecated: see the documentation of Dial.
func FailOnNonTempDialError(f bool) DialOption {
	return dialOption(func(o *dialOptions) { o.failOnNonTemp = f })
}

// WithTimeout limits how long a Dial with WithBlock may take. NewClient ignores it.
//
// Deprecated: use DialContext with a context that ends.
func WithTimeout(d time.Duration) DialOption {
	return dialOption(func(o *dialOptions) { o.timeout = d })
}
