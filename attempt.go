// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/serviceconfig"
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
	fixed  *channel.Link // the connection of an RPC that must use this one; not retried

	info   callInfo
	writer messageWriter
	retry  retry.State
	// hedging is how a unary RPC may be sent several times at once; nil for others.
	hedging *serviceconfig.HedgingPolicy
	stats   statsHandlers
	log     *binarylog.Call // nil: none

	call     transport.Call                // of the present attempt
	added    credentials.PerRPCCredentials // an Interceptor's; nil for none
	onCommit func()                        // the Selector's, who has yet to hear; nil for none
	waited   bool                          // for the resolver's first answer
	began    bool                          // it keeps the channel from going idle
	again    retry.Verdict                 // why there is another attempt; zero in the first
}

// enter counts the RPC, and finds out what it goes by. The error is a status. In any case
// finish must follow.
func (r *clientCall) enter(ctx context.Context, cc *ClientConn, method string, opts []CallOption) (rpcconfig.Choice, error) {
	r.cc, r.ctx, r.opts = cc, ctx, opts
	r.stats = cc.opts.Transport.StatsHandlers
	r.info.reset()
	r.call.Method = method
	if r.fixed == nil {
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
	c, err := cc.channel.Choose(r.ctx, method)
	r.waited, r.retry.Throttle = c.Waited, c.Throttle
	if c.Context != nil {
		r.ctx = c.Context
	}
	r.onCommit = c.Committed
	return c.Choice, err
}

// begin settles what the options and the config say. The error is a status.
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

// settle fills in the writer and what is the same in all requests.
func (r *clientCall) settle(config *MethodConfig) error {
	if err := r.info.settle(); err != nil {
		return err
	}
	r.writer = messageWriter{
		codec: r.info.codec,
		max:   sizeLimit(config.MaxReqSize, r.info.maxSend, defaultMaxSendSize),
		pool:  r.cc.opts.Transport.BufferPool,
	}
	r.call.MaxRecvMsgSize = sizeLimit(config.MaxRespSize, r.info.maxRecv, defaultMaxReceiveSize)
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

// sizeLimit is the smaller of what the service config and the program say.
func sizeLimit(config *int, option, def int) int {
	switch {
	case config == nil && option < 0:
		return def
	case config == nil:
		return option
	case option < 0:
		return *config
	}
	return min(*config, option)
}

// finish ends the RPC, whose result err is; a is its last attempt, or nil.
func (r *clientCall) finish(a *attempt, err error) {
	if err == nil {
		r.retry.Throttle.Succeeded()
	}
	if r.log != nil {
		r.logEnd(a, err)
	}
	r.tellCommit()
	for _, o := range r.opts {
		o.after(&r.info, a)
	}
	for _, f := range r.info.onFinish {
		f(err)
	}
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

// attempt is one try of an RPC.
type attempt struct {
	link   *channel.Link
	stream *transport.ClientStream // nil before it is open
	ctx    context.Context         // with what who watches added
	done   func(balancer.DoneInfo)
	reader messageReader
	watch  attemptWatch

	barred     barrier // why nothing was sent, if nothing was
	counted    bool    // in channelz, for the subchannel
	gotMessage bool
	ended      bool
}

// barrier is what kept an attempt from being sent.
type barrier uint8

const (
	unbarred barrier = iota
	unsent           // the connection, by no fault of the RPC
	dropped          // the balancer, which ended the RPC
)

// start picks a connection for a, which is new, and sends the beginning of the RPC. The
// payload is the transport's from then on, in any case. The error is a status.
func (r *clientCall) start(a *attempt, first *transport.Payload, last bool) error {
	a.ctx = r.ctx
	r.tellBegin(a)
	err := r.pick(a)
	if err == nil {
		err = r.address(a)
	}
	if err != nil {
		if first != nil {
			first.Data.Free()
		}
		return err
	}
	r.call.PreviousAttempts = r.retry.Made()
	stream, err := a.link.Client().NewStream(a.ctx, &r.call, first, last)
	if err == nil {
		a.stream = stream
		r.tellOutHeader(a)
		return nil
	}
	if errors.Is(err, transport.ErrUnavailable) {
		a.barred = unsent
		a.link.Unusable()
		return status.Error(codes.Unavailable, err.Error())
	}
	return channel.AsStatus(err)
}

// pick picks the connection.
func (r *clientCall) pick(a *attempt) error {
	if err := a.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if r.fixed != nil {
		a.link = r.fixed
		r.count(a)
		return nil
	}
	p, err := r.cc.channel.Pick(balancer.PickInfo{FullMethodName: r.call.Method, Ctx: a.ctx}, r.info.waitForReady)
	if p.Delayed && err == nil {
		r.tellPicked(a)
	}
	if err != nil {
		if p.Dropped {
			a.barred = dropped
		}
		return err
	}
	a.link, a.done = p.Link, p.Result.Done
	r.call.SetPicked(p.Result.Metadata)
	r.count(a)
	return nil
}

// count has channelz count the attempt.
func (*clientCall) count(a *attempt) {
	if node := a.link.Node(); node != nil {
		node.CallStarted()
		a.counted = true
	}
}

// address settles whom the RPC is for, and adds its credentials.
func (r *clientCall) address(a *attempt) error {
	if name := r.info.authority; name != "" {
		if err := mayStandFor(a.link.Client().AuthInfo(), name); err != nil {
			return err
		}
		r.call.Authority = name
	}
	if len(r.cc.opts.PerRPC) == 0 && r.info.creds == nil && r.added == nil && a.link.Bundled() == nil {
		return nil
	}
	return r.addCredentials(a)
}

func mayStandFor(info credentials.AuthInfo, authority string) error {
	v, ok := info.(credentials.AuthorityValidator)
	if !ok {
		return status.Errorf(codes.Unavailable, "grpc: CallAuthority: what the handshake learned (%T) can't tell whether the server may act as %q", info, authority)
	}
	if err := v.ValidateAuthority(authority); err != nil {
		return status.Errorf(codes.Unavailable, "failed to validate authority %q : %v", authority, err)
	}
	return nil
}

func (r *clientCall) addCredentials(a *attempt) error {
	info := a.link.Client().AuthInfo()
	ctx := credentials.NewContextWithRequestInfo(a.ctx, credentials.RequestInfo{Method: r.call.Method, AuthInfo: info})
	uri := audience(r.authority(a), r.call.Method)
	for _, c := range r.cc.opts.PerRPC {
		if err := r.addCredential(ctx, c, uri); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	if c := a.link.Bundled(); c != nil {
		if err := r.addCredential(ctx, c, uri); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	// Those of the channel were looked at when the connection was made.
	for _, c := range [...]credentials.PerRPCCredentials{r.info.creds, r.added} {
		if c == nil {
			continue
		}
		if c.RequireTransportSecurity() && credentials.CheckSecurityLevel(info, credentials.PrivacyAndIntegrity) != nil {
			return status.Error(codes.Unauthenticated, "transport: cannot send secure credentials on an insecure connection")
		}
		if err := r.addCredential(ctx, c, uri); err != nil {
			return credentialError(err, codes.Internal)
		}
	}
	return nil
}

// credentialError gives an error of credentials that is not a status the code: that is
// Unauthenticated for a channel's and Internal for a call's, as programs have come to expect.
func credentialError(err error, code codes.Code) error {
	if _, ok := status.FromError(err); ok {
		return channel.ControlPlaneError("transport: received per-RPC creds error with", err)
	}
	return status.Errorf(code, "transport: per-RPC creds failed due to error: %v", err)
}

func (r *clientCall) addCredential(ctx context.Context, c credentials.PerRPCCredentials, uri string) error {
	md, err := c.GetRequestMetadata(ctx, uri)
	if err == nil {
		r.call.AddAuth(md)
	}
	return err
}

// authority is the :authority of the attempt.
func (r *clientCall) authority(a *attempt) string {
	if r.call.Authority != "" {
		return r.call.Authority
	}
	return a.link.Client().Authority()
}

// audience is the URI of a service: "https://host/package.Service", without the port if
// that is the usual one.
func audience(authority, method string) string {
	service := method
	if i := strings.LastIndexByte(method, '/'); i >= 0 {
		service = method[:i]
	}
	return "https://" + strings.TrimSuffix(authority, ":443") + service
}

// end is called once for each attempt that was begun.
func (r *clientCall) end(a *attempt, err error) {
	if a.ended {
		return
	}
	a.ended = true
	r.tellResponse(a)
	if a.counted {
		a.link.Node().CallEnded(err)
	}
	if a.done != nil {
		a.done(doneInfo(a, err))
	}
	r.tellEnd(a, err)
}

func doneInfo(a *attempt, err error) balancer.DoneInfo {
	d := balancer.DoneInfo{Err: err}
	if a.stream == nil {
		return d
	}
	d.Trailer = a.stream.Trailer()
	d.BytesSent = true
	d.BytesReceived = a.stream.GotHeaders() || a.stream.TrailersOnly()
	if d.Trailer != nil {
		d.ServerLoad = loadreport.Parse(d.Trailer)
	}
	return d
}

// fail ends the attempt's stream, if it is not over, for a reason of our own.
func (a *attempt) fail(err error) {
	if a.stream != nil {
		a.stream.Fail(status.Convert(err))
	}
}

// result is how the attempt's stream ended; nil stands for OK. A server that says
// Canceled once the deadline has passed means the deadline: its own clock was first.
func (a *attempt) result() *status.Status {
	st := a.stream.Status()
	if st.Code() != codes.Canceled {
		return st
	}
	if d, ok := a.ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return st
}

// decode takes over a message and decodes it.
func (r *clientCall) decode(a *attempt, m transport.Message, msg any) error {
	if a.reader.codec == nil {
		a.reader = messageReader{
			codec:    r.info.codec,
			encoding: a.stream.RecvCompress(),
			max:      r.call.MaxRecvMsgSize,
			pool:     r.writer.pool,
			keep:     r.log != nil,
		}
		if d := r.cc.opts.decompressor; d != nil {
			a.reader.decompressor = decompressorFrom(d)
		}
	}
	wire := m.Len
	length, err := a.reader.read(m, msg)
	if err != nil {
		return err
	}
	r.tellReceived(a, msg, messageSizes{length: length, wire: wire, plain: a.reader.plain})
	a.gotMessage = true
	return nil
}
