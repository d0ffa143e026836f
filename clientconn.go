// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/internal/resolver/scheme"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// ClientConn is a channel: a target, and connections to those servers behind the target that the
// channel's balancer chooses. [NewClient] makes it, and the program has to close it. It is safe for
// concurrent use.
//
// A channel begins idle. The first RPC, or Connect, makes it resolve its target and connect.
type ClientConn struct {
	opts    *channelOptions // immutable
	channel channel.Channel
	streams streamList
	unwatch func() // stops package footprint from reporting to the metrics recorders; may be nil
}

var (
	// ErrClientConnClosing is the error of RPCs of a ClientConn that is closed.
	//
	// Deprecated: this error should not be relied upon by users; use the status
	// code Canceled.
	ErrClientConnClosing = channel.ErrClosing

	// ErrClientConnTimeout was once the error of a Dial that took too long.
	//
	// Deprecated: nothing returns it.
	ErrClientConnTimeout = errors.New("grpc: timed out when dialing")
)

// ClientConnInterface is what generated clients need. [ClientConn] implements it.
type ClientConnInterface interface {
	// Invoke performs a unary RPC and returns when it is over.
	Invoke(ctx context.Context, method string, args any, reply any, opts ...CallOption) error
	// NewStream begins a streaming RPC.
	NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error)
}

// withDefaults returns opts with the channel's default options before them.
func (cc *ClientConn) withDefaults(opts []CallOption) []CallOption {
	defaults := cc.opts.callOptions
	switch {
	case len(defaults) == 0:
		return opts
	case len(opts) == 0:
		return defaults[:len(defaults):len(defaults)]
	}
	// An interceptor may append to the result for each of several RPCs, so it has no room.
	return slices.Clip(append(defaults[:len(defaults):len(defaults)], opts...))
}

// Target returns the target as the program gave it.
func (cc *ClientConn) Target() string { return cc.channel.Name }

// CanonicalTarget returns the target in full, "scheme://authority/endpoint".
func (cc *ClientConn) CanonicalTarget() string { return cc.channel.CanonicalTarget() }

// GetState returns the channel's connectivity state. It does not make an idle channel
// connect.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) GetState() connectivity.State { return cc.channel.State() }

// WaitForStateChange waits until the state differs from sourceState and returns true. It returns
// false if ctx ends first.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) WaitForStateChange(ctx context.Context, sourceState connectivity.State) bool {
	return cc.channel.WaitForStateChange(ctx, sourceState)
}

// Connect makes an idle channel connect, and returns at once. It has no effect on a channel in another
// state.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) Connect() { cc.channel.Connect() }

// ResetConnectBackoff makes every subchannel that pauses after a failure try again at once, and begins
// the pauses anew from the shortest. Use it when the network is known to be back.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) ResetConnectBackoff() { cc.channel.ResetConnectBackoff() }

// Close ends the channel at once: RPCs that are open, and later ones, fail with codes.Canceled.
// Close returns once the balancer has been closed, so a balancer must not call it. It returns an
// error if the channel is closed already.
func (cc *ClientConn) Close() error {
	open := true // unless the channel says otherwise: code of the program may leave its Close by a panic or Goexit
	defer func() {
		if open {
			cc.end()
		}
	}()
	if open = cc.channel.Close(); !open {
		return ErrClientConnClosing
	}
	return nil
}

// end does what remains to be done when the channel is closed.
func (cc *ClientConn) end() {
	defer cc.channel.Node().Close()
	if cc.unwatch != nil {
		defer cc.unwatch()
	}
	cc.streams.cancelAll(ErrClientConnClosing)
}

// cancelAll ends all streams with err, and lets no other begin.
func (l *streamList) cancelAll(err error) {
	l.mu.Lock()
	l.closed = true
	var all []*clientStream
	for n := l.first; n != nil; n = n.next {
		all = append(all, n)
	}
	l.mu.Unlock()
	abandonAll(all, err)
}

func abandonAll(all []*clientStream, err error) {
	defer func() {
		if len(all) > 0 { // code of the program, such as a stats handler, has ended the goroutine
			go abandonAll(all, err)
		}
	}()
	for len(all) > 0 {
		n := all[0]
		all = all[1:]
		n.abandon(err)
	}
}

// channelOptions is what a channel keeps of its options. It is immutable once a channel has it, as
// several channels may share one: see shareOptions.
type channelOptions struct {
	channel.Options

	userAgent    string // with a space at its end; "": none
	callOptions  []CallOption
	compressor   Compressor
	decompressor Decompressor
	maxAttempts  int
	noRetry      bool

	telemetry telemetry.Channels
	// binaryLogger logs RPCs in addition to the log that the environment configures; nil for none.
	binaryLogger binarylog.Logger
	// invoker and streamer are the chained interceptors, a UnaryInvoker and a Streamer; nil for none.
	invoker  func(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error
	streamer func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error)
}

// NewClient returns a channel for a target, such as "dns:///host:443", "unix:path" or "host:443",
// which means the same as the first (naming.md). NewClient does not connect: the first RPC or
// Connect does.
//
// An error says that the target or the options can't be used.
func NewClient(target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(withGlobalOptions(opts))
	return newChannel(target, scheme.DNS, &o)
}

func newChannel(target, defaultScheme string, o *dialOptions) (*ClientConn, error) {
	if err := o.checkCredentials(); err != nil {
		return nil, err
	}
	to, err := channel.FindTarget(target, scheme.Or(defaultScheme), o.resolvers)
	if err != nil {
		return nil, err
	}
	named := o.Creds
	if o.Bundle != nil { // it names no server
		named = nil
	}
	if err := to.SettleAuthority(o.authority, named); err != nil {
		return nil, err
	}
	if err := o.settleProxy(&to); err != nil {
		return nil, err
	}
	if err := o.settleServiceConfig(); err != nil {
		return nil, err
	}
	o.settleTransport()
	o.settleTelemetry(&to)
	o.settleInterceptors()
	cc := &ClientConn{opts: shareOptions(&o.channelOptions)}
	cc.unwatch = footprint.Register(cc.opts.Transport.StatsHandlers, cc.opts.telemetry.Recorders()...)
	parent, _ := o.channelz.(*channelz.Node)
	cc.channel.Init(to, &cc.opts.Options, (*channelOwner)(cc), parent)
	return cc, nil
}

// Dial calls DialContext with context.Background().
//
// Deprecated: use NewClient. Dial stays supported throughout 1.x.
func Dial(target string, opts ...DialOption) (*ClientConn, error) {
	return DialContext(context.Background(), target, opts...)
}

// DialContext returns a channel as NewClient does, with these differences. The channel begins to
// connect at once. A target without a scheme goes to the dialer as it is ("passthrough"). With
// WithBlock, DialContext waits until the channel is ready or ctx ends. ctx has no effect after
// DialContext has returned.
//
// Deprecated: use NewClient. DialContext stays supported throughout 1.x.
func DialContext(ctx context.Context, target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(withGlobalOptions(opts))
	cc, err := newChannel(target, scheme.Passthrough, &o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			cc.Close()
			conn = nil
		}
	}()
	if err := cc.channel.Wake(); err != nil {
		return nil, err
	}
	if !o.block {
		return cc, nil
	}
	if t := o.timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	return cc, cc.awaitReady(ctx, &o)
}

// awaitReady waits until the channel is ready, for a Dial with WithBlock.
func (cc *ClientConn) awaitReady(ctx context.Context, o *dialOptions) error {
	for {
		s := cc.GetState()
		switch s {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			cc.Connect()
		case connectivity.TransientFailure:
			if err := cc.channel.LastConnErr(); o.failOnNonTemp && permanent(err) {
				return err
			}
		}
		if cc.WaitForStateChange(ctx, s) {
			continue
		}
		err := cc.channel.LastConnErr()
		switch {
		case err != nil && o.returnLastError:
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && o.failOnNonTemp && permanent(err):
			return err
		}
		return ctx.Err()
	}
}

func permanent(err error) bool {
	var ce *transport.ConnectError
	return errors.As(err, &ce) && ce.Permanent
}

// defaultMinConnectTimeout is the value that connection-backoff.md gives.
const defaultMinConnectTimeout = 20 * time.Second

// DefaultBackoffConfig has the longest pause that connection-backoff.md gives.
//
// Deprecated: use ConnectParams.
var DefaultBackoffConfig = BackoffConfig{MaxDelay: 120 * time.Second}

// BackoffConfig bounds the pauses between attempts to connect.
//
// Deprecated: use ConnectParams.
type BackoffConfig struct {
	// MaxDelay is the longest pause.
	MaxDelay time.Duration
}

// ConnectParams says how a channel tries to connect. A program should start from
// ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 20 * time.Second}.
// Even with zero fields a channel pauses between attempts: see the fields.
type ConnectParams struct {
	// Backoff says how the pauses between attempts grow. If BaseDelay is zero, the first pause is
	// 100 milliseconds. If Multiplier is zero, each pause is 1.6 times as long as the one before.
	// If MaxDelay is zero, pauses stay as long as the first. Delays below a millisecond count as
	// one. Pauses count from the beginning of one attempt to that of the next.
	Backoff backoff.Config
	// MinConnectTimeout is how long an attempt may take, even if the pause after it would be
	// shorter. 0 stands for one second, or for 20 seconds if BaseDelay is zero too.
	MinConnectTimeout time.Duration
}

func (p ConnectParams) minConnectTimeout() time.Duration {
	switch {
	case p.MinConnectTimeout > 0:
		return p.MinConnectTimeout
	case p.Backoff.BaseDelay > 0:
		return time.Second
	}
	return defaultMinConnectTimeout
}

// streamList holds the streams that are open, so that the channel can end them when it is closed.
type streamList struct {
	mu     sync.Mutex
	first  *clientStream
	closed bool
}

// add puts a stream in the list. It returns false if cancelAll has been called.
func (l *streamList) add(n *clientStream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if n.next = l.first; n.next != nil {
		n.next.prev = n
	}
	l.first = n
	return true
}

func (l *streamList) remove(n *clientStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case l.first == n:
		l.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.next, n.prev = nil, nil
}

var logger = grpclog.Component("core")

// channelOwner implements channel.Owner for a ClientConn.
type channelOwner ClientConn

// HealthStream implements channel.Owner.
func (o *channelOwner) HealthStream(ctx context.Context, l *channel.Link, method string) (healthcheck.Stream, error) {
	return newLinkStream(ctx, (*ClientConn)(o), l, &StreamDesc{ServerStreams: true}, method)
}

// ClientOf implements channel.Owner.
func (o *channelOwner) ClientOf(sub *channel.Subchannel) any {
	return subConnCalls{(*ClientConn)(o), sub}
}

// ParseServiceConfig implements channel.Owner.
func (o *channelOwner) ParseServiceConfig(js string) *serviceconfig.ParseResult {
	return parseServiceConfig(js, o.opts.Scale)
}

// ServiceConfigOf implements channel.Owner.
func (*channelOwner) ServiceConfigOf(c serviceconfig.Config) *channel.ServiceConfig {
	sc, ok := c.(*ServiceConfig)
	switch {
	case !ok:
		return nil
	case sc.parsed == nil: // the program made it, not parseServiceConfig
		return &channel.ServiceConfig{Methods: sc.Methods}
	}
	return sc.parsed
}

// subConnCalls makes RPCs on a subchannel, as a ClientConnInterface. The RPCs fail if there is no
// connection, and are not retried.
type subConnCalls struct {
	cc  *ClientConn
	sub *channel.Subchannel
}

// Invoke implements ClientConnInterface.
func (s subConnCalls) Invoke(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	stream, err := s.NewStream(ctx, &StreamDesc{}, method, opts...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(args); err != nil {
		_ = err // the stream's status says more
	}
	return stream.RecvMsg(reply)
}

var errNotReady = status.Error(codes.Unavailable, "the subchannel is not ready")

// NewStream implements ClientConnInterface.
func (s subConnCalls) NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	l := s.sub.Ready()
	if l == nil {
		return nil, errNotReady
	}
	return newLinkStream(ctx, s.cc, l, desc, method, opts...)
}

// TraceError writes an error of a service that is part of gRPC into the subchannel's channelz trace. Package orca calls
// it.
func (s subConnCalls) TraceError(what string) { s.sub.TraceError(what) }

// PickFirstBalancerName is the name of the balancer that a channel uses if its
// service config names none.
//
// Deprecated: use package balancer/pickfirst.
var PickFirstBalancerName = pickfirst.Name

// MethodConfig is what a service config sets for a method.
//
// Deprecated: applications have no use for it.
type MethodConfig = internalserviceconfig.MethodConfig

// ServiceConfig is a parsed service config.
//
// Deprecated: applications have no use for it. To pass a parsed service config on, use
// serviceconfig.Config.
type ServiceConfig struct {
	serviceconfig.Config

	// Methods has the settings of methods. Its keys are "/service/method", "/service/" for all
	// methods of a service, and "" for all methods.
	Methods map[string]MethodConfig

	parsed *channel.ServiceConfig
}

// parseServiceConfig parses a service config's JSON (service_config.md), with connectionScaling if scale is true.
func parseServiceConfig(js string, scale bool) *serviceconfig.ParseResult {
	parsed, err := channel.ParseServiceConfig(js, scale)
	if err != nil {
		return &serviceconfig.ParseResult{Err: err}
	}
	return &serviceconfig.ParseResult{Config: &ServiceConfig{Methods: parsed.Methods, parsed: parsed}}
}

// GetMethodConfig returns what the channel's service config sets for a method,
// "/service/method". A retry policy in it has at most as many attempts as
// [WithMaxCallAttempts] allows.
//
// Deprecated: applications have no use for it.
func (cc *ClientConn) GetMethodConfig(method string) MethodConfig {
	config := cc.channel.MethodConfig(method)
	if p := config.RetryPolicy; p != nil && p.MaxAttempts > cc.opts.maxAttempts {
		bounded := *p
		bounded.MaxAttempts = cc.opts.maxAttempts
		config.RetryPolicy = &bounded
	}
	return config
}
