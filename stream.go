// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// StreamHandler serves a streaming RPC on a server. srv is the implementation of the service. The
// RPC is over when the handler returns: its result becomes the status, as that of a UnaryHandler
// does. The handler's stream must not be used after that.
type StreamHandler func(srv any, stream ServerStream) error

// StreamDesc describes a streaming method of a service. A server has it in a ServiceDesc;
// a client passes it to [ClientConn.NewStream].
type StreamDesc struct {
	// StreamName is the method's name without the service's. Only servers use it.
	StreamName string
	// Handler serves the method. Only servers use it.
	Handler StreamHandler

	// ServerStreams says that the server may send more than one message,
	// ClientStreams that the client may.
	ServerStreams bool
	ClientStreams bool
}

// Stream is what the streams of both sides have in common.
//
// Deprecated: use ClientStream or ServerStream, which say more.
type Stream interface {
	// Context is the context of the stream.
	Context() context.Context
	// SendMsg sends a message; see ClientStream and ServerStream.
	SendMsg(m any) error
	// RecvMsg waits for a message; see ClientStream and ServerStream.
	RecvMsg(m any) error
}

// ClientStream is a streaming RPC as its client sees it. One goroutine may send
// (SendMsg, CloseSend) while another receives, but not two of either kind.
//
// An RPC that has begun holds resources until one of these happens: its context is cancelled, the
// ClientConn is closed, RecvMsg returns an error, or, if the server sends only one message, RecvMsg
// returns that message.
type ClientStream interface {
	// Header waits for the metadata that the server sends first, and returns it. If it
	// returns neither metadata nor an error, the RPC has ended without such metadata; RecvMsg
	// tells why.
	Header() (metadata.MD, error)
	// Trailer returns the metadata that the server sent last. It must be called
	// after RecvMsg or CloseAndRecv returned an error, io.EOF included.
	Trailer() metadata.MD
	// CloseSend says that no message follows. Messages can still be received. It returns nil, also if the
	// RPC is over: RecvMsg says how the RPC ended. Only the stream of an interceptor may return an error.
	CloseSend() error
	// Context returns the context of the RPC, in which package peer finds the server. A call
	// before Header or RecvMsg has returned makes further retries impossible.
	Context() context.Context
	// SendMsg sends m. It returns io.EOF if the RPC is over; RecvMsg then returns the RPC's
	// status. Any other error is a status itself, and has ended the RPC. SendMsg waits until
	// there is room for m, not until the server has it: nil does not say that m has arrived, nor
	// that the RPC goes on. The
	// caller must not change m afterwards as long as the RPC might be retried or a stats handler
	// might look at m.
	SendMsg(m any) error
	// RecvMsg waits for a message and decodes it into m. It returns io.EOF if the RPC has ended with
	// success and there is no other message. Any other error is the RPC's status.
	RecvMsg(m any) error
}

// ServerStream is a streaming RPC as its server sees it. One goroutine may send
// while another receives, but not two of either kind. It must not be used after
// the handler has returned.
type ServerStream interface {
	// SetHeader adds to the metadata that is sent first. It fails once that metadata has been
	// sent: by SendHeader, by the first message, or at the end of the RPC.
	SetHeader(metadata.MD) error
	// SendHeader sends the metadata that is sent first, with md added. It fails if that metadata
	// has been sent before.
	SendHeader(md metadata.MD) error
	// SetTrailer adds to the metadata that is sent with the status. Metadata that can't be sent makes the
	// RPC fail with codes.Internal, whatever the handler returns.
	SetTrailer(metadata.MD)
	// Context returns the context of the RPC, which ends with the RPC.
	Context() context.Context
	// SendMsg sends m. It waits until there is room for m, not until the client has it. An error
	// is a status and has ended the RPC, whatever the handler returns. The caller must not change
	// m afterwards if a stats handler might look at it.
	SendMsg(m any) error
	// RecvMsg waits for a message and decodes it into m. It returns io.EOF once the client has sent
	// everything. Any other error is a status and has ended the RPC.
	RecvMsg(m any) error
}

// ServerStreamingClient is the client's end of a method whose server sends a
// stream. Generated code uses it.
type ServerStreamingClient[Res any] interface {
	// Recv waits for a response. It returns io.EOF if the RPC has ended with success.
	Recv() (*Res, error)
	ClientStream
}

// ServerStreamingServer is the server's end of a method whose server sends a
// stream. Generated code uses it.
type ServerStreamingServer[Res any] interface {
	// Send sends a response.
	Send(*Res) error
	ServerStream
}

// ClientStreamingClient is the client's end of a method whose client sends a
// stream. Generated code uses it.
type ClientStreamingClient[Req any, Res any] interface {
	// Send sends a request.
	Send(*Req) error
	// CloseAndRecv says that no request follows, and waits for the response.
	CloseAndRecv() (*Res, error)
	ClientStream
}

// ClientStreamingServer is the server's end of a method whose client sends a
// stream. Generated code uses it.
type ClientStreamingServer[Req any, Res any] interface {
	// Recv waits for a request. It returns io.EOF if there is no other.
	Recv() (*Req, error)
	// SendAndClose sends the response. Call it once.
	SendAndClose(*Res) error
	ServerStream
}

// BidiStreamingClient is the client's end of a method that streams both ways.
// Generated code uses it.
type BidiStreamingClient[Req any, Res any] interface {
	// Send sends a request.
	Send(*Req) error
	// Recv waits for a response. It returns io.EOF if the RPC has ended with success.
	Recv() (*Res, error)
	ClientStream
}

// BidiStreamingServer is the server's end of a method that streams both ways.
// Generated code uses it.
type BidiStreamingServer[Req any, Res any] interface {
	// Recv waits for a request. It returns io.EOF if there is no other.
	Recv() (*Req, error)
	// Send sends a response.
	Send(*Res) error
	ServerStream
}

// GenericClientStream gives a ClientStream the methods of all three generic client
// interfaces. Generated code uses it.
type GenericClientStream[Req any, Res any] struct {
	ClientStream
}

var (
	_ ServerStreamingClient[string]      = (*GenericClientStream[int, string])(nil)
	_ ClientStreamingClient[int, string] = (*GenericClientStream[int, string])(nil)
	_ BidiStreamingClient[int, string]   = (*GenericClientStream[int, string])(nil)
)

// Send sends a request.
func (x *GenericClientStream[Req, Res]) Send(m *Req) error { return x.SendMsg(m) }

// Recv waits for a response.
func (x *GenericClientStream[Req, Res]) Recv() (*Res, error) { return receive[Res](x) }

// CloseAndRecv says that no request follows, and waits for the response.
func (x *GenericClientStream[Req, Res]) CloseAndRecv() (*Res, error) {
	if err := x.CloseSend(); err != nil {
		return nil, err
	}
	return receive[Res](x)
}

// GenericServerStream gives a ServerStream the methods of all three generic server
// interfaces. Generated code uses it.
type GenericServerStream[Req any, Res any] struct {
	ServerStream
}

var (
	_ ServerStreamingServer[string]      = (*GenericServerStream[int, string])(nil)
	_ ClientStreamingServer[int, string] = (*GenericServerStream[int, string])(nil)
	_ BidiStreamingServer[int, string]   = (*GenericServerStream[int, string])(nil)
)

// inner returns x and the stream inside x. By self a caller sees whether it called the method of x
// itself, or of a type that embeds x.
func (x *GenericServerStream[Req, Res]) inner() (self any, _ ServerStream) { return x, x.ServerStream }

// Send sends a response.
func (x *GenericServerStream[Req, Res]) Send(m *Res) error { return x.SendMsg(m) }

// SendAndClose sends the one response.
func (x *GenericServerStream[Req, Res]) SendAndClose(m *Res) error { return x.SendMsg(m) }

// Recv waits for a request.
func (x *GenericServerStream[Req, Res]) Recv() (*Req, error) { return receive[Req](x) }

// receive returns the next message of a stream of either side.
func receive[M any](s interface{ RecvMsg(any) error }) (*M, error) {
	m := new(M)
	if err := s.RecvMsg(m); err != nil {
		return nil, err
	}
	return m, nil
}
