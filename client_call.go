// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// clientCall is what all attempts of an RPC have in common.
type clientCall struct {
	cc     *ClientConn
	ctx    context.Context // with the deadline of the service config
	cancel context.CancelFunc
	desc   *StreamDesc
	opts   []CallOption
	fixed  *channel.Link // if not nil, the connection that the RPC must use; it is not retried

	info   callInfo
	writer messageWriter
	retry  retry.State
	// hedging says how several attempts may be made at once; nil means that they may not.
	hedging *serviceconfig.HedgingPolicy
	clientWatch

	call     *transport.Call // of the present attempt; nil once there will be no other
	onCommit func()          // the Selector's callback, until it has been called; may be nil
	waited   bool            // the RPC waited for the resolver's first answer
	began    bool            // the RPC is counted, and keeps the channel from going idle
	beside   bool            // this is a hedge that began after other attempts of the RPC (gRFC A6)
	again    retry.Verdict   // why there is another attempt; zero in the first
}

// enter counts the RPC, and gets its configuration from the channel. The error is a status. The
// caller must call finish afterwards, also after an error. If a resolver or a balancer of the program leaves the RPC, by
// a panic or runtime.Goexit, enter ends it.
func (r *clientCall) enter(ctx context.Context, cc *ClientConn, method string, opts []CallOption) (rpcconfig.Choice, error) {
	returned := false
	defer func() {
		if !returned {
			r.finish(nil, errUnreturned)
		}
	}()
	c, err := r.configure(ctx, cc, method, opts)
	returned = true
	return c, err
}

// configure is enter without the care for panics.
func (r *clientCall) configure(ctx context.Context, cc *ClientConn, method string, opts []CallOption) (rpcconfig.Choice, error) {
	r.cc, r.ctx, r.opts = cc, ctx, opts
	r.info.reset()
	r.call.Method = method
	if r.fixed == nil { // nobody is told of RPCs that the channel makes for itself
		r.stats = cc.opts.Transport.StatsHandlers
		cc.channel.Node().CallStarted()
	}
	if err := ctx.Err(); err != nil {
		return rpcconfig.Choice{}, status.FromContextError(err).Err()
	}
	if err := r.call.Check(ctx); err != nil || r.fixed != nil {
		return rpcconfig.Choice{}, err
	}
	cc.channel.BeginRPC()
	r.began = true
	c, err := cc.channel.Choose(r.ctx, method, r.waits)
	r.waited, r.retry.Throttle = c.Waited, c.Throttle
	if c.Context != nil {
		r.goOn(c.Context)
	}
	r.onCommit = c.Committed
	return c.Choice, err
}

// waits reports whether the options say that the RPC waits for ready.
func (r *clientCall) waits() bool {
	wait := false
	for _, o := range r.opts {
		if f, ok := o.(FailFastCallOption); ok {
			wait = !f.FailFast
		}
	}
	return wait
}

// goOn replaces the RPC's context. The new one may have other metadata.
func (r *clientCall) goOn(ctx context.Context) {
	r.ctx = ctx
	r.call.Recheck()
}

// begin applies config, the service config's settings for the method, and the options. The error
// is a status.
func (r *clientCall) begin(config *serviceconfig.MethodConfig) error {
	if config.WaitForReady != nil {
		r.info.waitForReady = *config.WaitForReady
	}
	for _, o := range r.opts {
		if err := o.before(&r.info); err != nil {
			return channel.AsStatus(err)
		}
		if a, ok := o.(acceptOption); ok {
			if err := r.info.applyAccept(a); err != nil {
				return channel.AsStatus(err)
			}
		}
	}
	if config.RetryPolicy != nil && !r.cc.opts.noRetry {
		r.retry.Policy = config.RetryPolicy
		r.retry.Attempts = min(config.RetryPolicy.MaxAttempts, r.cc.opts.maxAttempts)
	}
	if !r.cc.opts.noRetry {
		r.hedging = config.HedgingPolicy
	}
	if t := config.Timeout; t != nil && *t >= 0 {
		r.ctx, r.cancel = context.WithTimeout(r.ctx, *t)
	}
	if err := r.settle(config); err != nil {
		return err
	}
	if r.fixed == nil {
		r.beginLog()
	}
	return nil
}

// beginLog begins the binary log of the RPC, if its method is logged.
func (r *clientCall) beginLog() {
	r.log = binarylog.NewCall(r.ctx, binarylog.Client, r.call.Method, r.cc.opts.binaryLogger)
	if r.log == nil {
		return
	}
	r.writer.keep = true
	h := binarylog.ClientHeader{
		Method:    r.call.Method,
		Authority: r.cc.channel.Authority(),
		Metadata:  ctxkey.OutgoingFrom(r.ctx).CopyMD(),
	}
	if name := r.info.identity.Authority; name != "" {
		h.Authority = name
	}
	r.logBegin(r.ctx, h)
}

// settle fills in the writer, and the parts of the call that are the same for all attempts.
func (r *clientCall) settle(config *MethodConfig) error {
	if err := r.info.settle(); err != nil {
		return err
	}
	r.writer = messageWriter{
		codec: r.info.codec,
		max:   sizeLimit(config.MaxReqSize, r.info.maxSend, defaultMaxSendSize),
		pool:  r.cc.opts.Transport.BufferPool,
	}
	r.info.maxRecv = sizeLimit(config.MaxRespSize, r.info.maxRecv, defaultMaxReceiveSize)
	r.call.MaxRecvMsgSize = r.info.maxRecv
	r.call.ContentSubtype = r.info.subtype
	r.call.AcceptCompressors = r.info.acceptEncoding()
	switch name := r.info.compressor; name {
	case "":
		if c := r.cc.opts.compressor; c != nil {
			r.writer.compressor = compressorFrom(c)
			r.call.SendCompressor = c.Type()
			r.call.AcceptCompressors = r.info.acceptToo(c.Type())
		}
	case encoding.Identity:
		r.call.SendCompressor = name
		r.call.AcceptCompressors = r.info.acceptToo(name)
	default:
		if r.writer.compressor = encoding.GetCompressor(name); r.writer.compressor == nil {
			return status.Errorf(codes.Internal, "grpc: Compressor is not installed for requested grpc-encoding %q", name)
		}
		r.call.SendCompressor = name
	}
	return nil
}

// sizeLimit returns the smaller of the limits that the service config and the program set, or def
// if neither sets one. A negative option means that the program sets none.
func sizeLimit(config *int, option, def int) int {
	switch {
	case config == nil && option < 0:
		return def
	case config == nil:
		return option
	case option < 0:
		return max(*config, 0)
	}
	return max(min(*config, option), 0)
}

// finish ends the RPC. err is its result, and a its last attempt, or nil if there was none.
func (r *clientCall) finish(a *attempt, err error) {
	defer r.leave(err) // also if code of the program panics
	r.conclude(a, err)
}

// conclude stores what the options ask for where they point, and tells the binary log of the end.
func (r *clientCall) conclude(a *attempt, err error) {
	if err == nil {
		r.retry.Throttle.Succeeded()
	}
	defer r.tellCommit() // if the log's sink panics
	r.logEnd(r.ctx, a, err)
	r.tellCommit()
	var last *channel.Attempt
	if a != nil {
		last = &a.Attempt
	}
	r.store(r.opts, last)
}

// store stores what the options ask for, also if one before them panics.
func (r *clientCall) store(opts []CallOption, last *channel.Attempt) {
	i := 0
	defer func() {
		if i < len(opts) {
			r.store(opts[i+1:], last)
		}
	}()
	for ; i < len(opts); i++ {
		opts[i].after(&r.info, last)
	}
}

// leave ends the RPC after conclude: it calls the OnFinish functions, counts the end and cancels the context.
func (r *clientCall) leave(err error) {
	defer r.uncount(err) // also if one of the functions panics
	callAll(r.info.onFinish, err)
}

// callAll calls each of the functions, also if one before it panics.
func callAll(functions []func(error), err error) {
	if len(functions) == 0 {
		return
	}
	defer callAll(functions[1:], err)
	functions[0](err)
}

// uncount is the last part of leave.
func (r *clientCall) uncount(err error) {
	if r.fixed == nil {
		r.cc.channel.Node().CallEnded(err)
	}
	if r.began {
		r.cc.channel.EndRPC()
	}
	if r.cancel != nil {
		r.cancel()
	}
}

// tellCommit tells the Selector, once, that no other attempt will be picked for the RPC.
func (r *clientCall) tellCommit() {
	if f := r.onCommit; f != nil {
		r.onCommit = nil
		f()
	}
}

// start picks a connection for a, which is new, and opens its stream, with the first message if
// there is one. The transport owns the payload from this call on, also if start fails. The error is a
// status.
func (r *clientCall) start(a *attempt, first *transport.Payload, last bool) error {
	given := false
	defer func() {
		if !given && first != nil { // also if code of the program panics
			first.Data.Free()
		}
	}()
	a.ctx = r.ctx
	if r.fixed == nil && (len(r.stats) > 0 || len(r.cc.opts.telemetry) > 0) {
		r.tellBegin(a, r.attemptInfo())
		r.call.Recheck()
		r.call.Watched = false // a handler may have given the attempt a context that ends earlier
	}
	err := r.pick(a)
	if err == nil {
		r.knowPeer(a)
		err = a.Address(a.ctx, r.call, &r.info.identity)
	}
	if err != nil {
		return err
	}
	r.call.PreviousAttempts = r.retry.Made()
	given = true
	if err := a.Open(a.ctx, r.call, first, last); err != nil {
		return err
	}
	r.log.Opened()
	r.tellOutHeader(a, r.call, r.cc.opts.Transport.UserAgent)
	return nil
}

func (r *clientCall) attemptInfo() attemptInfo {
	return attemptInfo{
		AttemptInfo: telemetry.AttemptInfo{
			Method:      r.call.Method,
			Previous:    r.retry.Made(),
			Transparent: r.again.Transparent,
			Hedge:       r.beside,
			Resolved:    r.waited && !r.again.Retry,
		},
		plugins:  r.cc.opts.telemetry,
		desc:     r.desc,
		failFast: !r.info.waitForReady,
	}
}

// pick picks the connection, unless the RPC has to use a fixed one.
func (r *clientCall) pick(a *attempt) error {
	if r.fixed != nil {
		return a.Use(a.ctx, r.fixed)
	}
	delayed, err := a.Pick(a.ctx, &r.cc.channel, r.call, r.info.waitForReady)
	if err == nil && delayed {
		r.tellPicked(a)
	}
	return err
}

// judge decides whether there is another attempt after a, which failed with err.
func (r *clientCall) judge(a *attempt, err error) retry.Verdict {
	if r.fixed != nil {
		return retry.Verdict{}
	}
	r.again = a.Judge(r.ctx, &r.retry, err)
	return r.again
}

// end may be called several times for an attempt that was begun. Only the first call has an effect.
func (r *clientCall) end(a *attempt, err error) {
	if a.Ended() {
		return
	}
	defer func() { // also if a stats handler panics
		defer r.tellEnd(a, err) // also if the Done of a balancer's pick panics
		a.End(err)
	}()
	r.tellResponse(a)
}

// exited ends an RPC that is left by a panic or runtime.Goexit in the program's code, as in a codec or a stats
// handler. It may be recovered above. a is the RPC's attempt, or nil if it has none yet.
func (r *clientCall) exited(a *attempt) {
	defer r.finish(a, errUnreturned) // also if a stats handler panics again
	r.endExited(a)
}

// endExited ends the attempt of an RPC that was left.
func (r *clientCall) endExited(a *attempt) {
	if a != nil && a.ctx != nil { // it was begun
		a.Fail(errUnreturned)
		r.end(a, errUnreturned)
	}
}

// receive takes the only response of an attempt, and then its status.
func (r *clientCall) receive(a *attempt, reply any) error {
	m, err := r.recv(a)
	if err == io.EOF {
		if st := a.result(); st != nil {
			return st.Err()
		}
		return errNoReply
	}
	if err != nil {
		return err
	}
	if err := r.decode(a, m, reply); err != nil {
		a.Fail(err)
		return err
	}
	return expectEnd(a)
}

// recv receives the next message of a. It returns io.EOF at the end, and another error, with which it ends a, if the
// response is compressed in a way that the RPC does not accept.
func (r *clientCall) recv(a *attempt) (transport.Message, error) {
	m, err := a.Stream.Recv()
	if r.info.accept == "" {
		return m, err
	}
	if refused := r.info.refuses(a.Stream.RecvCompress()); refused != nil {
		if err == nil {
			m.Data.Free()
		}
		a.Fail(refused)
		return transport.Message{}, refused
	}
	return m, err
}

// reader returns a messageReader that decodes m.
func (r *clientCall) reader(a *attempt, m transport.Message) messageReader {
	reader := messageReader{
		codec:        r.info.codec,
		decompressor: a.decompressor,
		max:          r.info.maxRecv,
		pool:         r.writer.pool,
		keep:         r.log != nil,
	}
	if m.Compressed {
		reader.encoding = a.Stream.RecvCompress()
		if d := r.cc.opts.decompressor; d != nil && a.decompressor == nil {
			reader.decompressor = decompressorFrom(d)
		}
	}
	return reader
}

// decode decodes m into msg. It takes over m.
func (r *clientCall) decode(a *attempt, m transport.Message, msg any) error {
	reader := r.reader(a, m)
	wire := m.Len
	length, err := reader.read(m, msg)
	if err != nil {
		return err
	}
	a.decompressor = reader.decompressor
	r.tellReceived(a, msg, messageSizes{length: length, wire: wire, plain: reader.plain})
	a.gotMessage = true
	return nil
}

var (
	errNoReply = status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	errTwoMany = status.Error(codes.Internal, "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message")
)

// expectEnd waits for the end of an RPC whose only response was taken.
func expectEnd(a *attempt) error {
	m, err := a.Stream.Recv()
	if err == nil {
		m.Data.Free()
		a.Fail(errTwoMany)
		return errTwoMany
	}
	return a.result().Err()
}

// telemetryPlugin is a telemetry plugin of a channel. It also is an interceptor of that channel,
// and runs at the place of the option that added it.
type telemetryPlugin struct {
	client  telemetry.Client
	channel telemetry.Channel // set once the target is known
}

func (p *telemetryPlugin) unary(ctx context.Context, method string, req, reply any, cc *ClientConn, next UnaryInvoker, opts ...CallOption) error {
	ctx, call := p.channel.BeginCall(ctx, telemetry.CallInfo{Method: method, Static: isStatic(opts)})
	err := errUnreturned
	defer func() { call.End(err) }()
	err = next(ctx, method, req, reply, cc, opts...)
	return err
}

func (p *telemetryPlugin) stream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, next Streamer, opts ...CallOption) (ClientStream, error) {
	ctx, call := p.channel.BeginCall(ctx, telemetry.CallInfo{Method: method, Static: isStatic(opts)})
	err := errUnreturned
	defer func() {
		if err != nil {
			call.End(err) // if no RPC was begun, nothing has called OnFinish
		}
	}()
	s, err := next(ctx, desc, cc, method, append(opts[:len(opts):len(opts)], OnFinish(call.End))...)
	return s, err
}

// errUnreturned is the result that watchers of an RPC are told if code of the program that the RPC has called,
// such as an interceptor, has not returned, but called runtime.Goexit or panicked.
var errUnreturned = status.Error(codes.Internal, "grpc: code that the RPC has called exited without a result")

func isStatic(opts []CallOption) bool {
	for _, o := range opts {
		if _, ok := o.(StaticMethodCallOption); ok {
			return true
		}
	}
	return false
}
