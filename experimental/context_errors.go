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

// WithContextErrors has errors of RPCs that ended with their context say so: if err has code
// Canceled or DeadlineExceeded, and the context that the program gave to the RPC has ended, then
// errors.Is(err, context.Canceled) or errors.Is(err, context.DeadlineExceeded) holds, whichever
// the context's Err is, and errors.Is and errors.As find what context.Cause returns, too. The
// status is as before: status.FromError, status.Code, the text of the error, and errors.Is with
// an error of package status.
//
// So a program tells its own deadline from one of the server's further down, which has the same
// code: the server's is a status, and no context error. The timeout of a service config is a
// deadline of the channel's, not of the program's context, and is no context error either.
//
// It is an option, and not the default, because programs can notice. The error has another type,
// so that a comparison by == or reflect.DeepEqual, as tests have it, fails; and code that asks for
// context errors before it looks at the status takes another way than it takes with the
// published module: a loop that ends for context.Canceled, and else logs and goes on, ends.
//
// It stands before all interceptors of the program, which see errors as they were; what they
// return is judged. It sees an RPC as the program does: retries and hedging are within. A stream
// has the errors in RecvMsg, SendMsg, CloseSend and Header. Streams of package
// experimental/streams get theirs in OnDone. All channels may have it, over bufconn and with xDS too: it
// looks at nothing but the RPC's context and its error.
func WithContextErrors() grpc.DialOption { return contextErrors{} }

// contextErrors is known to package grpc by its method.
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

// contextErrorStream is a stream of an RPC that was given ctx.
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

// contextError is an error of package status, of an RPC that ended with its context.
type contextError struct {
	error
	status *status.Status
	ended  error // of the context
	cause  error
}

func (e *contextError) GRPCStatus() *status.Status { return e.status }

func (e *contextError) Unwrap() []error { return []error{e.error, e.ended, e.cause} }

// withContextError is err, or what says that it is because ctx has ended.
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

// isLate reports whether the deadline of ctx has passed, which its timer may be about to tell.
func isLate(ctx context.Context) bool {
	d, ok := ctx.Deadline()
	return ok && !time.Now().Before(d)
}
