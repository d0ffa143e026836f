// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// WithContextErrors returns a DialOption that makes errors of RPCs say so if the RPC ended with its
// context. It applies if the error has code Canceled or DeadlineExceeded, and the context that the
// program gave to the RPC has ended. Then errors.Is(err, context.Canceled) or errors.Is(err,
// context.DeadlineExceeded) holds, whichever the context's Err is, and errors.Is and errors.As also
// find what context.Cause returns. The status stays the same: status.FromError, status.Code, the text
// of the error, and errors.Is with an error of package status.
//
// With it a program can tell its own deadline from that of a server further down, which has the same
// code: the server's is a status, and no context error. The timeout of a service config is a
// deadline of the channel, not of the program's context, and is no context error either.
//
// It is an option, and not the default, because programs can notice. The error has another type, so a
// comparison by == or reflect.DeepEqual, as in tests, fails. Code that asks for context errors before it
// looks at the status behaves differently from the published module: for example, a loop that ends
// for context.Canceled, and otherwise logs and goes on, ends.
//
// The option acts outside of all interceptors of the program: they see errors without the addition, and
// it judges the errors that they return. It sees an RPC as the program does, after retries and hedging.
// On a stream it acts on the errors of RecvMsg, SendMsg, CloseSend and Header. Streams of package
// experimental/streams get theirs in OnDone. All channels may have the option, also over bufconn and with
// xDS: it looks only at the RPC's context and error.
func WithContextErrors() grpc.DialOption { return contextErrors{} }

// contextErrors is an option that package grpc recognises by its method.
type contextErrors struct{ grpc.EmptyDialOption }

func (contextErrors) FirstInterceptors() (grpc.UnaryClientInterceptor, grpc.StreamClientInterceptor) {
	return contextUnary, contextStream
}

func contextUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return withContextError(ctx, invoke(ctx, method, req, reply, cc, opts...))
}

func contextStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	st, err := begin(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, withContextError(ctx, err)
	}
	return &contextErrorStream{ClientStream: st, ctx: ctx}, nil
}

// contextErrorStream is the stream of an RPC that was given ctx.
type contextErrorStream struct {
	grpc.ClientStream
	ctx context.Context
}

func (s *contextErrorStream) RecvMsg(m any) error {
	return withContextError(s.ctx, s.ClientStream.RecvMsg(m))
}

func (s *contextErrorStream) SendMsg(m any) error {
	return withContextError(s.ctx, s.ClientStream.SendMsg(m))
}

func (s *contextErrorStream) CloseSend() error {
	return withContextError(s.ctx, s.ClientStream.CloseSend())
}

func (s *contextErrorStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	return md, withContextError(s.ctx, err)
}

// contextError is the error, of package status, of an RPC that ended with its context.
type contextError struct {
	error
	status *status.Status
	ended  error // of the context
	cause  error
}

func (e *contextError) GRPCStatus() *status.Status { return e.status }

func (e *contextError) Unwrap() []error { return []error{e.error, e.ended, e.cause} }

// withContextError returns err. If the reason is that ctx has ended, the result says so.
func withContextError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Canceled && s.Code() != codes.DeadlineExceeded {
		return err
	}
	ended, cause := ctx.Err(), context.Cause(ctx)
	if ended == nil && s.Code() == codes.DeadlineExceeded && isLate(ctx) {
		ended, cause = context.DeadlineExceeded, context.DeadlineExceeded
	}
	if ended == nil {
		return err
	}
	return &contextError{error: err, status: s, ended: ended, cause: cause}
}

// isLate reports whether the deadline of ctx has passed, even if its timer has not fired yet.
func isLate(ctx context.Context) bool {
	d, ok := ctx.Deadline()
	return ok && !time.Now().Before(d)
}
