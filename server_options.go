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

// ServerOption sets something about a server; it is given to [NewServer].
type ServerOption interface {
	apply(*serverOptions)
}

// serverOptions is what the options have set. It is not changed once the server
// exists.
type serverOptions struct {
	transport transport.ServerConfig

	unary       UnaryServerInterceptor
	stream      StreamServerInterceptor
	chainUnary  []UnaryServerInterceptor
	chainStream []StreamServerInterceptor

	codec           encoding.CodecV2    // nil: by content-subtype
	compressor      encoding.Compressor // nil: that of the request
	decompressor    encoding.Compressor // for its own encoding; nil: registered ones
	maxReceive      int
	maxSend         int
	unknownHandler  *StreamDesc
	waitForHandlers bool
	labelGoroutines bool
	stats           []stats.Handler
	rpcConfig       rpcconfig.Source // nil: connections have no Router
	telemetry       telemetry.Servers
	binaryLogger    binarylog.Logger // beside what the environment says; nil for none
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
	// Package experimental has options of its own that set these.
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
	// An option that is two in one, as package orca has.
	if p, ok := opt.(interface{ NextServerOption() ServerOption }); ok {
		o.add(p.NextServerOption())
	}
}

// finish settles what depends on several options.
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

// serverOptionFunc is a ServerOption that calls a function. Programs compare options, and
// have them as keys of maps, so it is used by its address.
type serverOptionFunc struct{ f func(*serverOptions) }

func (o *serverOptionFunc) apply(to *serverOptions) { o.f(to) }

func serverOption(f func(*serverOptions)) ServerOption { return &serverOptionFunc{f} }

// EmptyServerOption is a ServerOption that sets nothing. Other packages embed it to
// make options of their own.
//
// Experimental: this API may change in a later release.
type EmptyServerOption struct{}

func (EmptyServerOption) apply(*serverOptions) {}

// Creds sets the credentials of the server's connections. Without it, they are
// not secured.
func Creds(c credentials.TransportCredentials) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Creds = c })
}

// ConnectionTimeout bounds how long a new connection may take for the handshake of
// the credentials and the beginning of HTTP/2, 120 seconds by default. Zero and
// negative values make every handshake fail.
//
// Experimental: this API may change in a later release.
func ConnectionTimeout(d time.Duration) ServerOption {
	if d <= 0 {
		d = time.Nanosecond // package transport takes zero for the default
	}
	return serverOption(func(o *serverOptions) { o.transport.HandshakeTimeout = d })
}

// MaxRecvMsgSize sets how many bytes a message of a client may have, as it comes
// and decompressed; 4 MiB by default.
func MaxRecvMsgSize(m int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxReceive = m })
}

// MaxMsgSize is MaxRecvMsgSize.
//
// Deprecated: use MaxRecvMsgSize.
func MaxMsgSize(m int) ServerOption { return MaxRecvMsgSize(m) }

// MaxSendMsgSize sets how many bytes a message to a client may have, as it goes;
// math.MaxInt32 by default.
func MaxSendMsgSize(m int) ServerOption {
	return serverOption(func(o *serverOptions) { o.maxSend = m })
}

// MaxConcurrentStreams sets how many RPCs of one connection may be under way at a
// time; those of clients that keep to it wait. There is no limit by default, and
// with 0. No more handlers than this run for a connection, however fast its
// client gives RPCs up.
func MaxConcurrentStreams(n uint32) ServerOption {
	if n == 0 {
		n = math.MaxUint32
	}
	return serverOption(func(o *serverOptions) { o.transport.MaxStreams = n })
}

// KeepaliveParams sets when connections are checked for being alive, and closed
// for being old or idle. A Time of less than a second counts as a second. On systems with such an
// option (Linux, macOS, FreeBSD, Windows), Timeout also bounds how long what was sent over a TCP
// connection may stay unacknowledged before the connection is closed (gRFC A18): a client that
// vanished is then noticed that long after the next reply. It is 20 s also without this option;
// an endless Time leaves the system's setting.
func KeepaliveParams(kp keepalive.ServerParameters) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Keepalive = kp })
}

// KeepaliveEnforcementPolicy sets how often clients may ping. A connection whose
// client does so more often is closed.
func KeepaliveEnforcementPolicy(kep keepalive.EnforcementPolicy) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.Policy = kep })
}

// InitialWindowSize sets how many bytes of an RPC a client may send ahead to begin with, 64 KiB by
// default. Smaller values are ignored. From there the window grows with what the path can carry, up to
// 16 MiB; StaticStreamWindowSize keeps it as it is.
func InitialWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.InitialWindow = s })
}

// InitialConnWindowSize sets how many bytes of all its RPCs together a client may
// send ahead to begin with. Values below 64 KiB are ignored. By default they are 1 MiB from the first
// update of that window on. It grows, as that of a stream does.
func InitialConnWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.InitialConnWindow = s })
}

// StaticStreamWindowSize is InitialWindowSize for a window that does not grow.
func StaticStreamWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) {
		o.transport.InitialWindow = s
		o.transport.StaticWindow = true
	})
}

// StaticConnWindowSize is InitialConnWindowSize for windows that do not grow.
func StaticConnWindowSize(s int32) ServerOption {
	return serverOption(func(o *serverOptions) {
		o.transport.InitialConnWindow = s
		o.transport.StaticWindow = true
	})
}

// ReadBufferSize sets how many bytes one read of a connection can bring, 32 KiB by
// default, which 0 stands for. The buffer is only there while there is something
// to read.
func ReadBufferSize(s int) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.ReadBufferSize = s })
}

// WriteBufferSize sets how many bytes of messages one write takes at most, from 256 KiB,
// which is the default and the least, to 1 MiB. What is to be written is collected for
// as long as a write is under way; the buffer is held only for the write.
func WriteBufferSize(s int) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.WriteBufferSize = s })
}

// SharedWriteBuffer is accepted and has no effect: write buffers are always shared.
//
// Deprecated: there is nothing to choose.
func SharedWriteBuffer(bool) ServerOption { return EmptyServerOption{} }

// NumStreamWorkers is accepted and has no effect: handlers always run on
// goroutines that were kept from earlier ones, as many as there are RPCs under
// way.
//
// Experimental: this API may change in a later release.
func NumStreamWorkers(uint32) ServerOption { return EmptyServerOption{} }

// MaxHeaderListSizeServerOption is what MaxHeaderListSize returns.
type MaxHeaderListSizeServerOption struct {
	// MaxHeaderListSize is in bytes, counted as HTTP/2 does: 32 more than its name
	// and value for each field.
	MaxHeaderListSize uint32
}

func (o MaxHeaderListSizeServerOption) apply(so *serverOptions) {
	size := o.MaxHeaderListSize
	so.transport.MaxHeaderListSize = &size
}

// MaxHeaderListSize sets how large, in bytes, the headers of a request may be.
func MaxHeaderListSize(s uint32) ServerOption {
	return MaxHeaderListSizeServerOption{MaxHeaderListSize: s}
}

// HeaderTableSize sets how large, in bytes, the table may be with which clients
// compress headers; 4096 by default.
//
// Experimental: this API may change in a later release.
func HeaderTableSize(s uint32) ServerOption {
	return serverOption(func(o *serverOptions) { o.transport.HeaderTableSize = &s })
}

// InTapHandle sets a function that sees every RPC before its handler, and can
// refuse it. It panics if there is one already.
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

// StatsHandler adds a handler that is told the events of RPCs and connections.
// nil is ignored.
func StatsHandler(h stats.Handler) ServerOption {
	return serverOption(func(o *serverOptions) {
		if h == nil {
			logger.Error("ignoring nil parameter in grpc.StatsHandler ServerOption")
			return
		}
		o.stats = append(o.stats, h)
	})
}

// UnaryInterceptor sets the interceptor of unary RPCs. It stands before those of
// ChainUnaryInterceptor. It panics if there is one already.
func UnaryInterceptor(i UnaryServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) {
		if o.unary != nil {
			panic("The unary server interceptor was already set and may not be reset.")
		}
		o.unary = i
	})
}

// ChainUnaryInterceptor adds interceptors of unary RPCs. The first is the
// outermost, the last stands directly around the method.
func ChainUnaryInterceptor(interceptors ...UnaryServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) { o.chainUnary = append(o.chainUnary, interceptors...) })
}

// StreamInterceptor sets the interceptor of streaming RPCs. It stands before those
// of ChainStreamInterceptor. It panics if there is one already.
func StreamInterceptor(i StreamServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) {
		if o.stream != nil {
			panic("The stream server interceptor was already set and may not be reset.")
		}
		o.stream = i
	})
}

// ChainStreamInterceptor adds interceptors of streaming RPCs. The first is the
// outermost, the last stands directly around the method.
func ChainStreamInterceptor(interceptors ...StreamServerInterceptor) ServerOption {
	return serverOption(func(o *serverOptions) { o.chainStream = append(o.chainStream, interceptors...) })
}

// UnknownServiceHandler sets a handler for RPCs to services and methods that are
// not registered, in place of the answer codes.Unimplemented. To it every RPC
// streams both ways; its srv is nil. [MethodFromServerStream] tells the method.
// Interceptors of streaming RPCs stand before it.
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

// ForceServerCodec sets a codec for all messages, whatever content-subtype
// requests have. nil takes it back.
//
// Experimental: this API may change in a later release.
func ForceServerCodec(c encoding.Codec) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = codecFromV1(c) })
}

// ForceServerCodecV2 is ForceServerCodec for codecs of today's form.
//
// Experimental: this API may change in a later release.
func ForceServerCodecV2(c encoding.CodecV2) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = c })
}

// CustomCodec is ForceServerCodec for codecs of the oldest form.
//
// Deprecated: register the codec with package encoding, under the content-subtype
// that clients use, or use ForceServerCodecV2.
func CustomCodec(c Codec) ServerOption {
	return serverOption(func(o *serverOptions) { o.codec = codecFromV0(c) })
}

// RPCCompressor sets a compressor for all messages to clients, whatever they can
// read.
//
// Deprecated: register the compressor with package encoding; replies then come
// with the encoding of the request, or with that of SetSendCompressor.
func RPCCompressor(c Compressor) ServerOption {
	return serverOption(func(o *serverOptions) { o.compressor = compressorFrom(c) })
}

// RPCDecompressor sets a decompressor for messages with its encoding. It goes
// before the registered one.
//
// Deprecated: register the compressor with package encoding.
func RPCDecompressor(d Decompressor) ServerOption {
	return serverOption(func(o *serverOptions) { o.decompressor = decompressorFrom(d) })
}
