// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"math"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"
)

// ServerOption configures a server. Pass it to [NewServer].
type ServerOption interface {
	apply(*serverOptions)
}

// serverOptions is what the options have set. It does not change once the server exists.
type serverOptions struct {
	transport transport.ServerConfig

	unary       UnaryServerInterceptor
	stream      StreamServerInterceptor
	chainUnary  []UnaryServerInterceptor
	chainStream []StreamServerInterceptor

	codec           encoding.CodecV2    // nil: the one of the content-subtype
	compressor      encoding.Compressor // nil: the one of the request
	decompressor    encoding.Compressor // for the encoding of its name; nil: only registered ones
	maxReceive      int
	maxSend         int
	unknownHandler  *StreamDesc
	waitForHandlers bool
	labelGoroutines bool
	stats           []stats.Handler
	rpcConfig       rpcconfig.Source // nil: connections have no Router
	telemetry       telemetry.Servers
	binaryLogger    binarylog.Logger // in addition to the environment's log; nil for none
	control         serverControl
	limits          serverLimits
	recoverPanics   *panicRecovery // nil: a panic ends the process
}

func defaultServerOptions() serverOptions {
	return serverOptions{
		maxReceive:      defaultMaxReceiveSize,
		maxSend:         defaultMaxSendSize,
		labelGoroutines: envconfig.ServerGoroutineMethod,
	}
}

func (o *serverOptions) add(opt ServerOption) {
	opt.apply(o)
	// Options of package experimental have the methods that follow.
	if p, ok := opt.(interface{ ServerBufferPool() mem.BufferPool }); ok {
		o.transport.BufferPool = p.ServerBufferPool()
	}
	if p, ok := opt.(interface{ ServerMaxBytesHeld() int64 }); ok {
		o.transport.MaxBytesHeld = p.ServerMaxBytesHeld()
	}
	if p, ok := opt.(interface{ ServerRPCConfig() rpcconfig.Source }); ok {
		o.rpcConfig = p.ServerRPCConfig()
	}
	if p, ok := opt.(interface{ ServerTelemetry() telemetry.Server }); ok {
		o.telemetry = append(o.telemetry, p.ServerTelemetry())
	}
	if p, ok := opt.(interface{ ServerProbes() *net.KeepAliveConfig }); ok {
		o.transport.Probes = p.ServerProbes()
	}
	if p, ok := opt.(interface{ ServerEndWait() time.Duration }); ok {
		o.transport.EndWait = p.ServerEndWait()
	}
	o.addControl(opt)
	o.addLimits(opt)
	o.addRecovery(opt)
	// This option, which package orca has, consists of two options.
	if p, ok := opt.(interface{ NextServerOption() ServerOption }); ok {
		o.add(p.NextServerOption())
	}
}

// finish sets what depends on several options.
func (o *serverOptions) finish() {
	if o.unary != nil {
		o.chainUnary = append([]UnaryServerInterceptor{o.unary}, o.chainUnary...)
	}
	if o.stream != nil {
		o.chainStream = append([]StreamServerInterceptor{o.stream}, o.chainStream...)
	}
	o.recoverFirst()
	o.unary = chainUnaryServer(o.chainUnary)
	o.stream = chainStreamServer(o.chainStream)
	if o.transport.BufferPool == nil {
		o.transport.BufferPool = mem.DefaultBufferPool()
	}
	o.transport.MaxRecvMsgSize = o.maxReceive
	o.transport.StatsHandlers = o.stats
	o.limits.finish(o)
	o.transport.Prepare()
}

// serverOptionFunc is a ServerOption that calls a function. Options are pointers to it, because programs
// compare options and use them as keys of maps.
type serverOptionFunc struct{ f func(*serverOptions) }

func (o *serverOptionFunc) apply(to *serverOptions) { o.f(to) }

func serverOption(f func(*serverOptions)) ServerOption { return &serverOptionFunc{f} }

// EmptyServerOption is a ServerOption that sets nothing. Packages can embed it in options that they
// define.
//
// Experimental: this API may change in a later release.
type EmptyServerOption struct{}

func (EmptyServerOption) apply(*serverOptions) {}

// Creds returns a ServerOption that sets the credentials of the server's connections. Without it,
// connections are not secured.
func Creds(c credentials.TransportCredentials) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Creds = c })
}

// ConnectionTimeout returns a ServerOption that limits how long the handshake of the credentials and
// the beginning of HTTP/2 (the client's preface and SETTINGS) may take together. The handshake includes the time that
// the net.Conn takes to tell its addresses: those of the PROXY protocol read them. The default is 120 seconds. Zero and
// negative values make every handshake fail.
//
// Experimental: this API may change in a later release.
func ConnectionTimeout(d time.Duration) ServerOption {
	if d <= 0 {
		d = time.Nanosecond // package transport replaces zero by the default
	}
	return serverOption(func(o *serverOptions) { o.transport.HandshakeTimeout = d })
}

// MaxRecvMsgSize returns a ServerOption that limits the size of a client's message, in bytes, both before
// and after decompression. The default is 4 MiB.
func MaxRecvMsgSize(m int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxReceive = max(m, 0) })
}

// MaxMsgSize is MaxRecvMsgSize.
//
// Deprecated: use MaxRecvMsgSize.
func MaxMsgSize(m int) ServerOption { return MaxRecvMsgSize(m) }

// MaxSendMsgSize returns a ServerOption that limits the size of a message to a client, in bytes after
// compression. The default is math.MaxInt32.
func MaxSendMsgSize(m int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxSend = max(m, 0) })
}

// MaxConcurrentStreams returns a ServerOption that limits how many RPCs of one connection may be under
// way at a time. Clients that obey the limit let further RPCs wait. By default, and with 0, there is no
// limit. A connection never has more running handlers than this, however fast its client cancels RPCs.
//
// Without a limit, 1,000 handlers of a connection may go on after their RPC is over. With so many, the
// connection waits up to half a second for one to return, and then refuses further RPCs, unprocessed
// (REFUSED_STREAM), while there are as many. A server whose handlers run long and don't look at their
// context should set a limit, which may be higher.
func MaxConcurrentStreams(n uint32) ServerOption {
	if n == 0 {
		n = math.MaxUint32
	}
	return serverOption(func(o *serverOptions) { o.transport.MaxStreams = n })
}

// KeepaliveParams returns a ServerOption that sets when connections are checked for being alive, and
// closed for being old or idle. A Time of less than a second counts as a second. On systems that have
// such a socket option (Linux, macOS, FreeBSD, Windows), Timeout also limits how long data sent over a
// TCP connection may stay unacknowledged before the connection is closed (gRFC A18). So the server
// notices that a client has vanished that long after the next reply. Without KeepaliveParams this limit
// is 20 s. With an infinite Time the system's setting stays.
func KeepaliveParams(kp keepalive.ServerParameters) ServerOption {
	if kp.Time > 0 && kp.Time < transport.MinServerPingInterval {
		logger.Warningf("Adjusting keepalive ping interval to minimum period of %v", transport.MinServerPingInterval)
		kp.Time = transport.MinServerPingInterval
	}
	return serverOption(func(o *serverOptions) { o.transport.Keepalive = kp })
}

// KeepaliveEnforcementPolicy returns a ServerOption that sets how often clients may ping. The server
// closes a connection whose client pings more often.
func KeepaliveEnforcementPolicy(kep keepalive.EnforcementPolicy) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Policy = kep })
}

// InitialWindowSize returns a ServerOption that sets how many bytes of an RPC a client may initially send
// ahead. The default is 64 KiB; smaller values are ignored. The window grows with what the path can carry,
// up to 16 MiB; StaticStreamWindowSize keeps it fixed.
func InitialWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.InitialWindow = s })
}

// InitialConnWindowSize returns a ServerOption that sets how many bytes of all RPCs of a connection
// together a client may initially send ahead. Values below 64 KiB are ignored. By default it is 1 MiB,
// from the first window update on. The window grows as a stream's window does.
func InitialConnWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.InitialConnWindow = s })
}

// StaticStreamWindowSize is like InitialWindowSize, but keeps windows from growing: that of the
// connection too, which stays at 64 KiB without StaticConnWindowSize.
func StaticStreamWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) {
		o.transport.InitialWindow = s
		o.transport.StaticWindow = true
	})
}

// StaticConnWindowSize is like InitialConnWindowSize, but keeps windows from growing: those of streams
// too, which stay at 64 KiB without StaticStreamWindowSize.
func StaticConnWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) {
		o.transport.InitialConnWindow = s
		o.transport.StaticWindow = true
	})
}

// ReadBufferSize returns a ServerOption that sets how many bytes one read of a connection takes at most.
// The default is 32 KiB, which 0 stands for too; values below 16 KiB and 9 bytes, which one
// frame may have, count as that. A connection holds the buffer only while there is data to
// read.
func ReadBufferSize(s int) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.ReadBufferSize = s })
}

// WriteBufferSize returns a ServerOption that sets how many bytes of messages one write takes at most. The
// default, 256 KiB, is also the minimum; the maximum is 1 MiB. What is queued during a write goes into
// the next one, and a connection holds the buffer only during the write.
func WriteBufferSize(s int) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.WriteBufferSize = s })
}

// SharedWriteBuffer has no effect: write buffers are always shared.
//
// Deprecated: there is nothing to choose.
func SharedWriteBuffer(bool) ServerOption { return EmptyServerOption{} }

// NumStreamWorkers has no effect. Each RPC that is under way has a goroutine for its handler, which is kept for the
// next one for 50 to 100 ms, unless GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES is false or the race detector is on.
//
// Experimental: this API may change in a later release.
func NumStreamWorkers(uint32) ServerOption { return EmptyServerOption{} }

// MaxHeaderListSizeServerOption is the option that MaxHeaderListSize returns.
type MaxHeaderListSizeServerOption struct {
	// MaxHeaderListSize is in bytes, counted as HTTP/2 does: each field has the length of
	// its name and value, and 32 more.
	MaxHeaderListSize uint32
}

func (o MaxHeaderListSizeServerOption) apply(so *serverOptions) {
	size := o.MaxHeaderListSize
	so.transport.MaxHeaderListSize = &size
}

// MaxHeaderListSize returns a ServerOption that limits the size of a request's headers, in bytes.
// The default is 16 MiB; 0 accepts no header at all. The client is told the limit, and fails an RPC that
// is above it with codes.Internal if it heeds that; the server refuses such a request with
// codes.ResourceExhausted.
func MaxHeaderListSize(s uint32) ServerOption {
	return MaxHeaderListSizeServerOption{MaxHeaderListSize: s}
}

// HeaderTableSize returns a ServerOption that limits the size of the table with which clients compress
// headers, in bytes. The default is 4096.
//
// Experimental: this API may change in a later release.
func HeaderTableSize(s uint32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.HeaderTableSize = &s })
}

// InTapHandle returns a ServerOption that sets a function that is called for every RPC before its
// handler, and can refuse the RPC. NewServer panics if it is given two such functions.
//
// Experimental: this API may change in a later release.
func InTapHandle(h tap.ServerInHandle) ServerOption {
	return serverOption(func(o *serverOptions) {
		if o.transport.Tap != nil {
			panic("The tap handle was already set and may not be reset.")
		}
		o.transport.Tap = h
	})
}

// StatsHandler returns a ServerOption that adds a handler that is told the events of RPCs and
// connections. A nil handler is ignored.
func StatsHandler(h stats.Handler) ServerOption {
	return serverOption(func(o *serverOptions) {
		if h == nil {
			logger.Error("ignoring nil parameter in grpc.StatsHandler ServerOption")
			return
		}
		o.stats = append(o.stats, h)
	})
}

// UnaryInterceptor returns a ServerOption that sets the interceptor of unary RPCs that is called first,
// before those of ChainUnaryInterceptor. NewServer panics if it is given two such options.
func UnaryInterceptor(i UnaryServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) {
		if o.unary != nil {
			panic("The unary server interceptor was already set and may not be reset.")
		}
		o.unary = i
	})
}

// ChainUnaryInterceptor returns a ServerOption that adds interceptors of unary RPCs. The first is the
// outermost, and the last calls the method itself.
func ChainUnaryInterceptor(interceptors ...UnaryServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) { o.chainUnary = append(o.chainUnary, interceptors...) })
}

// StreamInterceptor returns a ServerOption that sets the interceptor of streaming RPCs that is called
// first, before those of ChainStreamInterceptor. NewServer panics if it is given two such options.
func StreamInterceptor(i StreamServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) {
		if o.stream != nil {
			panic("The stream server interceptor was already set and may not be reset.")
		}
		o.stream = i
	})
}

// ChainStreamInterceptor returns a ServerOption that adds interceptors of streaming RPCs. The first is the
// outermost, and the last calls the method itself.
func ChainStreamInterceptor(interceptors ...StreamServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) { o.chainStream = append(o.chainStream, interceptors...) })
}

// UnknownServiceHandler returns a ServerOption that sets a handler for RPCs to services and methods that
// are not registered. Without it, they fail with codes.Unimplemented. The handler sees every such RPC as
// one that streams both ways; its srv is nil, and [MethodFromServerStream] returns the method's name.
// Interceptors of streaming RPCs are called before it.
func UnknownServiceHandler(h StreamHandler) ServerOption {
	return serverOption(func(o *serverOptions) {
		o.unknownHandler = &StreamDesc{
			StreamName:    "unknown_service_handler",
			Handler:       h,
			ClientStreams: true,
			ServerStreams: true,
		}
	})
}

// WaitForHandlers makes Stop wait until all handlers have returned. By default it
// only cancels their contexts.
//
// Experimental: this API may change in a later release.
func WaitForHandlers(w bool) ServerOption {
	return serverOption(func(o *serverOptions) { o.waitForHandlers = w })
}

// ForceServerCodec returns a ServerOption that sets a codec for all messages, whatever content-subtype
// requests have. With nil, the content-subtype decides again.
//
// Experimental: this API may change in a later release.
func ForceServerCodec(c encoding.Codec) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = codecFromV1(c) })
}

// ForceServerCodecV2 is like ForceServerCodec, but takes a CodecV2.
//
// Experimental: this API may change in a later release.
func ForceServerCodecV2(c encoding.CodecV2) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = c })
}

// CustomCodec is like ForceServerCodec, but takes the oldest form of a codec.
//
// Deprecated: register the codec with package encoding, under the content-subtype
// that clients use, or use ForceServerCodecV2.
func CustomCodec(c Codec) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = codecFromV0(c) })
}

// RPCCompressor sets a compressor for all messages to clients. A client that says which encodings it
// accepts, without this one, gets uncompressed messages.
//
// Deprecated: register the compressor with package encoding; replies then come
// with the encoding of the request, or with that of SetSendCompressor.
func RPCCompressor(c Compressor) ServerOption {
	return serverOption(func(o *serverOptions) { o.compressor = compressorFrom(c) })
}

// RPCDecompressor sets a decompressor for messages with its encoding. It takes precedence over a
// registered one.
//
// Deprecated: register the compressor with package encoding.
func RPCDecompressor(d Decompressor) ServerOption {
	return serverOption(func(o *serverOptions) { o.decompressor = decompressorFrom(d) })
}
