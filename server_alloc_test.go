// SPDX-License-Identifier: Apache-2.0

//go:build !race

package grpc

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// quietCall is a call that comes from nowhere.
type quietCall struct {
	message transport.Message
	ended   bool
}

func (*quietCall) Owner() handover.Owner        { return nil }
func (*quietCall) Method() string               { return "/test.Echo/Unary" }
func (*quietCall) Known() transport.Method      { return nil }
func (*quietCall) SetHeader(metadata.MD) error  { return nil }
func (*quietCall) SendHeader(metadata.MD) error { return nil }
func (*quietCall) SetTrailer(metadata.MD) error { return nil }
func (*quietCall) Context() context.Context     { return context.Background() }
func (*quietCall) ConnContext() context.Context { return nil }
func (*quietCall) ConnErr() error               { return nil }
func (*quietCall) Peer() *peer.Peer             { return nil }
func (*quietCall) ContentSubtype() string       { return "" }
func (*quietCall) RecvCompress() string         { return "" }
func (*quietCall) AcceptEncoding() string       { return "" }
func (*quietCall) Send(transport.Payload) error { return nil }
func (*quietCall) Finish(*status.Status) error  { return nil }

func (*quietCall) Decide(st *status.Status) *status.Status { return st }
func (*quietCall) SetSendCompress(string) error            { return nil }
func (*quietCall) SendCompress() string                    { return "" }
func (c *quietCall) Reply(p transport.Payload) error       { p.Data.Free(); return nil }

func (c *quietCall) Recv() (transport.Message, error) {
	if c.ended = !c.ended; c.ended {
		return c.message, nil
	}
	return transport.Message{}, io.EOF
}

// What the server itself adds to a unary call: the decoder's closure. The rest is the handler's: the request,
// its string, and the function that generated code makes.
func TestServerUnaryAllocations(t *testing.T) {
	s := NewServer()
	s.RegisterService(&echoDesc, newEcho())
	data, err := encode(codecFor(""), &text{Value: "a message"})
	if err != nil {
		t.Fatal(err)
	}
	call := &quietCall{message: transport.Message{Data: grpcwire.BytesOf(data.Materialize()), Len: data.Len()}}
	data.Free()
	if n := testing.AllocsPerRun(200, func() { s.serveCall(call) }); n > 4 {
		t.Errorf("a unary call allocates %v times, want at most 4", n)
	}
}
