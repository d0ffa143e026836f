// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ServerTransportStream is what a unary handler can do with its RPC besides replying. It is in the
// handler's context; tests of handlers can put a ServerTransportStream of their own there. Several
// goroutines may call its methods at the same time.
//
// Experimental: this API may change in a later release.
type ServerTransportStream interface {
	// Method is the full name, "/package.Service/Method".
	Method() string
	SetHeader(md metadata.MD) error
	SendHeader(md metadata.MD) error
	SetTrailer(md metadata.MD) error
}

// NewContextWithServerTransportStream returns a context in which SetHeader and the other functions of
// this package find stream.
//
// Experimental: this API may change in a later release.
func NewContextWithServerTransportStream(ctx context.Context, stream ServerTransportStream) context.Context {
	return context.WithValue(ctx, ctxkey.ServerTransportStream{}, stream)
}

// ServerTransportStreamFromContext returns the stream of the RPC whose handler has ctx, or nil if ctx
// belongs to no RPC.
//
// Experimental: this API may change in a later release.
func ServerTransportStreamFromContext(ctx context.Context) ServerTransportStream {
	s, _ := ctx.Value(ctxkey.ServerTransportStream{}).(ServerTransportStream)
	return s
}

// Method returns the full name, "/package.Service/Method", of the RPC whose handler has ctx. ok is false
// if ctx belongs to no RPC.
func Method(ctx context.Context) (name string, ok bool) {
	s := ServerTransportStreamFromContext(ctx)
	if s == nil {
		return "", false
	}
	return s.Method(), true
}

// MethodFromServerStream returns what Method returns for the context of a handler's stream.
func MethodFromServerStream(stream ServerStream) (string, bool) { return Method(stream.Context()) }

// SetHeader adds md to the metadata that the RPC whose handler has ctx sends first. It fails with
// codes.Internal if ctx belongs to no RPC, if that metadata has already been sent, or if md can't be
// sent. In the last case the RPC fails too, with codes.Internal, whatever the handler returns.
func SetHeader(ctx context.Context, md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	s, err := streamOf(ctx)
	if err != nil {
		return err
	}
	return s.SetHeader(md)
}

// SendHeader sends the metadata that the RPC sends first, with md added. It may be called once, and
// fails when SetHeader would.
func SendHeader(ctx context.Context, md metadata.MD) error {
	s, err := streamOf(ctx)
	if err != nil {
		return err
	}
	if err := s.SendHeader(md); err != nil {
		return statusError(err) // a stream that a test has made may return any error
	}
	return nil
}

// SetTrailer adds md to the metadata that the RPC sends with its status. It fails with codes.Internal if
// ctx belongs to no RPC, or if md can't be sent. In the latter case the RPC fails too, with
// codes.Internal, whatever the handler returns.
func SetTrailer(ctx context.Context, md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	s, err := streamOf(ctx)
	if err != nil {
		return err
	}
	return s.SetTrailer(md)
}

func streamOf(ctx context.Context) (ServerTransportStream, error) {
	s := ServerTransportStreamFromContext(ctx)
	if s == nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to fetch the stream from the context %v", ctx)
	}
	return s, nil
}

// SetSendCompressor chooses the registered compressor for the messages that the RPC sends to its client;
// "identity" stands for none. It must be called before the RPC sends headers or a message. It fails if
// ctx belongs to no RPC of a server, if no compressor has that name, or if the client has not said that
// it accepts the encoding.
//
// Without it, messages are sent with the encoding of the client's messages.
//
// Experimental: this API may change in a later release.
func SetSendCompressor(ctx context.Context, name string) error {
	call, err := callOf(ctx)
	if err != nil {
		return err
	}
	if name != encoding.Identity {
		if encoding.GetCompressor(name) == nil {
			return fmt.Errorf("unable to set send compressor: compressor not registered %q", name)
		}
		if !transport.AcceptsEncoding(call.AcceptEncoding(), name) {
			return fmt.Errorf("unable to set send compressor: client does not support compressor %q", name)
		}
	}
	return call.SetSendCompress(name)
}

// ClientSupportedCompressors returns the names of the encodings that the RPC's client accepts, in the
// client's order. It fails if ctx belongs to no RPC of a server.
//
// Experimental: this API may change in a later release.
func ClientSupportedCompressors(ctx context.Context) ([]string, error) {
	call, err := callOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w %v", err, ctx)
	}
	return slices.Collect(transport.Encodings(call.AcceptEncoding())), nil
}

// encodedCall is a call whose replies can be encoded in a way that its client accepts.
type encodedCall interface {
	AcceptEncoding() string
	SetSendCompress(name string) error
}

func callOf(ctx context.Context) (encodedCall, error) {
	call, ok := ServerTransportStreamFromContext(ctx).(encodedCall)
	if !ok {
		return nil, errors.New("failed to fetch the stream from the given context")
	}
	return call, nil
}
