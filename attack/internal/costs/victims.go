// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

type message = wrapperspb.BytesValue

// maxMessage is how long a message may be that victims take.
const maxMessage = 1 << 20

// service is what a server that is attacked serves.
var service = grpc.ServiceDesc{
	ServiceName: orders.Service,
	HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{
		{StreamName: "Deaf", Handler: deaf, ServerStreams: true, ClientStreams: true},
		{StreamName: "Asks", Handler: asks, ServerStreams: true, ClientStreams: true},
		{StreamName: "Sink", Handler: sink, ServerStreams: true, ClientStreams: true},
		{StreamName: "Trickle", Handler: trickle, ServerStreams: true, ClientStreams: true},
		{StreamName: "Echo", Handler: echo, ServerStreams: true, ClientStreams: true},
	},
}

func deaf(_ any, stream grpc.ServerStream) error {
	<-stream.Context().Done()
	return nil
}

func asks(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	_, _ = metadata.FromIncomingContext(ctx)
	<-ctx.Done()
	return nil
}

func sink(_ any, stream grpc.ServerStream) error {
	for {
		if err := stream.RecvMsg(&message{}); err != nil {
			return nil
		}
	}
}

func trickle(_ any, stream grpc.ServerStream) error {
	sendAll(stream)
	return nil
}

// sent counts the messages of those who send without end.
var sent atomic.Int64

// sendAll sends messages of a byte until that fails.
func sendAll(stream grpc.Stream) {
	for m := (&message{Value: []byte{1}}); stream.SendMsg(m) == nil; {
		sent.Add(1)
	}
}

func echo(_ any, stream grpc.ServerStream) error {
	for {
		m := &message{}
		if err := stream.RecvMsg(m); err != nil {
			return nil
		}
		if err := stream.SendMsg(m); err != nil {
			return nil
		}
	}
}

// victim is who is attacked, with the attacker's end of its connection.
type victim struct {
	nc   net.Conn
	stop func()
}

// startServer starts a server, and connects to it.
func startServer() (*victim, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true))
	server.RegisterService(&service, nil)
	served := make(chan struct{})
	go func() {
		_ = server.Serve(lis)
		close(served)
	}()
	stop := func() {
		server.Stop()
		<-served
	}
	nc, err := net.Dial("tcp", lis.Addr().String())
	if err == nil {
		_, err = nc.Write(wire.AppendFrame([]byte(wire.Preface), wire.Frame{
			Type:    wire.Settings,
			Payload: wire.AppendSettings(nil, wire.Setting{ID: wire.InitialWindowSize}),
		}))
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &victim{nc: nc, stop: stop}, nil
}

// calls are what a client makes that is attacked, a stream of each.
var calls = []string{orders.Deaf, orders.Pour, orders.Trickle, orders.Asks}

// startClient has a client connect to the attacker, and make its calls.
func startClient() (*victim, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer lis.Close()
	cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, len(calls))
	v := &victim{stop: func() {
		cancel()
		for range calls {
			<-done
		}
		_ = cc.Close() // it was not closed before
	}}
	for _, method := range calls {
		go func() {
			call(ctx, cc, method)
			done <- struct{}{}
		}()
	}
	nc, err := lis.Accept()
	if err == nil {
		v.nc = nc
		err = awaitCalls(nc)
	}
	if err != nil {
		v.stop()
	}
	return v, err
}

// awaitCalls greets a client, gives it no window, and waits until all of its calls are there.
func awaitCalls(nc net.Conn) error {
	if _, err := nc.Write(wire.AppendFrame(nil, wire.Frame{
		Type:    wire.Settings,
		Payload: wire.AppendSettings(nil, wire.Setting{ID: wire.InitialWindowSize}),
	})); err != nil {
		return err
	}
	if _, err := io.ReadFull(nc, make([]byte, len(wire.Preface))); err != nil {
		return err
	}
	for n := 0; n < len(calls); {
		f, err := readFrame(nc)
		if err != nil {
			return err
		}
		if f.Type == wire.Headers {
			n++
		}
	}
	return nil
}

func call(ctx context.Context, cc *grpc.ClientConn, method string) {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := cc.NewStream(ctx, desc, method, grpc.WaitForReady(true))
	if err != nil {
		return
	}
	switch method {
	case orders.Trickle:
		sendAll(stream)
	case orders.Pour:
		for err == nil {
			err = stream.RecvMsg(&message{})
		}
	case orders.Asks:
		_, _ = stream.Header()
	}
	<-ctx.Done()
}

func readFrame(r io.Reader) (wire.Frame, error) {
	var h [wire.HeaderLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return wire.Frame{}, err
	}
	f := wire.Frame{Type: h[3], Flags: h[4], Payload: make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))}
	_, err := io.ReadFull(r, f.Payload)
	return f, err
}

// patience is how long a victim may take for a script, on a machine that does much else.
const patience = 60 * time.Second

var errSlow = errors.New("the victim has not dealt with it in time")

// send sends a script and waits until the victim has dealt with it, or has ended the connection.
func (v *victim) send(script []byte) error {
	last := wire.Frame{Type: wire.Ping, Payload: []byte("the last")}
	dealt := make(chan struct{})
	go func() {
		defer close(dealt)
		buf := make([]byte, 32<<10)
		for tail := []byte(nil); ; {
			n, err := v.nc.Read(buf)
			if err != nil {
				return
			}
			tail = append(tail, buf[:n]...)
			if at := indexAnswer(tail, last.Payload); at {
				return
			}
			tail = append(tail[:0], tail[max(0, len(tail)-32):]...)
		}
	}()
	_, err := v.nc.Write(wire.AppendFrame(script, last))
	select {
	case <-dealt:
		return nil
	case <-time.After(patience):
		return errors.Join(errSlow, err)
	}
}
