// SPDX-License-Identifier: Apache-2.0

// Package rig has what probes are built from: a service, channels to it, peers that speak
// HTTP/2 frames, and printing.
package rig

import (
	"context"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Paths of the service's methods.
const (
	Unary        = "/probe.Probe/Unary"
	Bidi         = "/probe.Probe/Bidi"
	ServerStream = "/probe.Probe/ServerStream"
	ClientStream = "/probe.Probe/ClientStream"
)

// Descriptions of the streams for clients.
var (
	BidiDesc         = &grpc.StreamDesc{StreamName: "Bidi", ClientStreams: true, ServerStreams: true}
	ServerStreamDesc = &grpc.StreamDesc{StreamName: "ServerStream", ServerStreams: true}
	ClientStreamDesc = &grpc.StreamDesc{StreamName: "ClientStream", ClientStreams: true}
)

// Msg is the message of all methods.
type Msg = wrapperspb.StringValue

// M makes a message.
func M(s string) *Msg { return wrapperspb.String(s) }

// Handlers are what the service does; those that are nil echo.
type Handlers struct {
	Unary  func(context.Context, *Msg) (*Msg, error)
	Stream func(grpc.ServerStream) error
}

func (h Handlers) unary(ctx context.Context, in *Msg) (*Msg, error) {
	if h.Unary != nil {
		return h.Unary(ctx, in)
	}
	return in, nil
}

func (h Handlers) stream(_ any, s grpc.ServerStream) error {
	if h.Stream != nil {
		return h.Stream(s)
	}
	for {
		in := new(Msg)
		if err := s.RecvMsg(in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(in); err != nil {
			return err
		}
	}
}

// Desc describes the service with these handlers.
func (h Handlers) Desc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "probe.Probe",
		HandlerType: (*any)(nil),
		Metadata:    "probe.proto",
		Methods: []grpc.MethodDesc{{
			MethodName: "Unary",
			Handler: func(srv any, ctx context.Context, dec func(any) error, ic grpc.UnaryServerInterceptor) (any, error) {
				in := new(Msg)
				if err := dec(in); err != nil {
					return nil, err
				}
				handle := func(ctx context.Context, req any) (any, error) { return h.unary(ctx, req.(*Msg)) }
				if ic == nil {
					return handle(ctx, in)
				}
				return ic(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: Unary}, handle)
			},
		}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Bidi", Handler: h.stream, ClientStreams: true, ServerStreams: true},
			{StreamName: "ServerStream", Handler: h.stream, ServerStreams: true},
			{StreamName: "ClientStream", Handler: h.stream, ClientStreams: true},
		},
	}
}

// Pair is a server with the service and a channel to it.
type Pair struct {
	Handlers Handlers
	Server   []grpc.ServerOption
	Dial     []grpc.DialOption
	// TCP is a loopback socket in place of package bufconn.
	TCP bool
	// Target in place of the listener's; a bufconn dialer takes any.
	Target string
	// Secure leaves the transport credentials to Dial.
	Secure bool
}

// Started is a Pair that runs.
type Started struct {
	*grpc.ClientConn
	Server   *grpc.Server
	Listener net.Listener
	Served   chan error // what Serve returned
}

// Start starts it; the probe's end stops it.
func (pair Pair) Start(p *probe.P) *Started {
	s := pair.Serve(p)
	target := pair.Target
	opts := pair.Dial
	if !pair.Secure {
		opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, opts...)
	}
	if target == "" && pair.TCP {
		target = s.Listener.Addr().String()
	}
	if target == "" {
		target = "passthrough:///probe"
	}
	if l, ok := s.Listener.(*bufconn.Listener); ok {
		dial := func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
		opts = append([]grpc.DialOption{grpc.WithContextDialer(dial)}, opts...)
	}
	cc, err := grpc.NewClient(target, opts...)
	if err != nil {
		panic("NewClient: " + err.Error())
	}
	p.Cleanup(func() { _ = cc.Close() })
	s.ClientConn = cc
	return s
}

// Serve starts the server alone.
func (pair Pair) Serve(p *probe.P) *Started {
	s := &Started{Server: grpc.NewServer(pair.Server...), Served: make(chan error, 1)}
	s.Server.RegisterService(pair.Handlers.Desc(), nil)
	if pair.TCP {
		s.Listener = Listen()
	} else {
		s.Listener = bufconn.Listen(1 << 20)
	}
	go func() { s.Served <- s.Server.Serve(s.Listener) }()
	p.Cleanup(s.Server.Stop)
	return s
}

// Ready connects the channel and waits until it is ready.
func (s *Started) Ready(p *probe.P) {
	s.Connect()
	for state := s.GetState(); state != connectivity.Ready; state = s.GetState() {
		if !s.WaitForStateChange(p.Context(), state) {
			p.Printf("not ready: %v", state)
			return
		}
	}
}

// Call makes a unary call and returns the reply's text.
func (s *Started) Call(ctx context.Context, text string, opts ...grpc.CallOption) (string, error) {
	out := new(Msg)
	err := s.Invoke(ctx, Unary, M(text), out, opts...)
	return out.GetValue(), err
}

// Listen listens on loopback.
func Listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}
