// SPDX-License-Identifier: Apache-2.0

package side

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// server is a side that is one.
type server struct {
	*side
	running sync.WaitGroup
	now     *grpc.Server
	lis     *listener

	mu       sync.Mutex
	handlers map[int]*handler
}

func newServer(s *side) *server {
	v := &server{side: s, handlers: map[int]*handler{}}
	v.serve()
	return v
}

// serve begins with a server of its own.
func (v *server) serve() {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodec(rawCodec{}),
		v.ground.serverOption(),
		grpc.Creds(v.creds()),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if v.has(SmallWindows) {
		opts = append(opts, grpc.InitialWindowSize(1<<16), grpc.InitialConnWindowSize(1<<16))
	}
	if v.has(FewStreams) {
		opts = append(opts, grpc.MaxConcurrentStreams(2))
	}
	if v.has(Keepalive) || v.has(Ages) {
		p := keepalive.ServerParameters{Time: 7 * time.Second, Timeout: 2 * time.Second}
		if v.has(Ages) {
			p.MaxConnectionAge, p.MaxConnectionAgeGrace = 5*time.Second, time.Hour
		}
		opts = append(opts, grpc.KeepaliveParams(p))
	}
	s, lis := grpc.NewServer(opts...), &listener{comes: make(chan net.Conn, 16), closed: make(chan struct{})}
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "crossing.Service",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return v.handler(ctx).unary(dec)
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: stream, ClientStreams: true, ServerStreams: true}},
	}, v)
	v.now, v.lis = s, lis
	v.running.Go(func() { _ = s.Serve(lis) })
}

func (v *server) do(m Message) {
	v.mu.Lock()
	h := v.handlers[m.Call]
	v.mu.Unlock()
	s := v.now
	switch m.Op {
	case Accept:
		v.lis.comes <- v.ground.conn(v.newConn(m.Conn))
	case Send, Recv, Return:
		h.orders <- m
	case Stop:
		v.running.Go(func() {
			s.Stop()
			v.tell(Message{Op: Stopped})
		})
	case Drain:
		v.running.Go(func() {
			s.GracefulStop()
			v.tell(Message{Op: Stopped})
		})
	case Serve:
		v.serve()
	}
}

func (v *server) end() {
	v.mu.Lock()
	for _, h := range v.handlers {
		close(h.orders) // of a history that has failed, some are left
	}
	v.mu.Unlock()
	v.now.Stop()
	v.running.Wait()
}

// asOrdered is the message of the statuses that handlers return.
const asOrdered = "as ordered"

// handler is that of a call.
type handler struct {
	*server
	n      int
	ctx    context.Context
	orders chan Message
}

func (v *server) handler(ctx context.Context) *handler {
	h := &handler{server: v, ctx: ctx, orders: make(chan Message, 16)}
	md, _ := metadata.FromIncomingContext(ctx)
	if is := md.Get(callKey); len(is) == 1 {
		h.n, _ = strconv.Atoi(is[0])
	}
	conn := 0
	if p, ok := peer.FromContext(ctx); ok {
		conn, _ = strconv.Atoi(p.Addr.String())
	}
	if h.n == 0 || conn == 0 {
		v.fault("a handler is called without its call, or its connection: %v, %d", md, conn)
	}
	if err := checkMetadata(md, requestKey, h.n); err != nil {
		v.fault("%v", err)
	}
	err := errors.Join(
		grpc.SetHeader(ctx, metadata.Pairs(headerKey, value(h.n, v.sizeOfMetadata(h.n)))),
		grpc.SetTrailer(ctx, metadata.Pairs(trailerKey, value(h.n, v.sizeOfMetadata(h.n+7)))))
	if err != nil && ctx.Err() == nil {
		v.fault("call %d: metadata cannot be set: %v", h.n, err)
	}
	v.mu.Lock()
	v.handlers[h.n] = h
	v.mu.Unlock()
	context.AfterFunc(ctx, func() { v.tell(Message{Op: Done, Call: h.n}) })
	v.tell(Message{Op: Began, Call: h.n, Conn: conn})
	return h
}

func (h *handler) unary(dec func(any) error) (any, error) {
	var request raw
	if err := dec(&request); err != nil {
		h.tell(Message{Op: Failed, Call: h.n})
	} else {
		if err := request.check(h.n, Client, 0); err != nil {
			h.fault("%v", err)
		}
		h.tell(Message{Op: Received, Call: h.n, N: len(request)})
	}
	m := <-h.orders
	return message(h.n, Server, 0, m.M), status.Error(codes.Code(m.N), asOrdered)
}

func stream(srv any, ss grpc.ServerStream) error {
	h := srv.(*server).handler(ss.Context())
	sent, received := 0, 0
	for m := range h.orders {
		switch m.Op {
		case Send:
			ok := 1
			if err := ss.SendMsg(message(h.n, Server, sent, m.N)); err != nil {
				ok = 0
			}
			sent++
			h.tell(Message{Op: Sent, Call: h.n, N: ok})
		case Recv:
			var request raw
			err := ss.RecvMsg(&request)
			if err == nil {
				if err := request.check(h.n, Client, received); err != nil {
					h.fault("%v", err)
				}
				received++
				h.tell(Message{Op: Received, Call: h.n, N: len(request)})
			} else if err == io.EOF {
				h.tell(Message{Op: HalfDone, Call: h.n})
			} else {
				h.tell(Message{Op: Failed, Call: h.n})
			}
		case Return:
			return status.Error(codes.Code(m.N), asOrdered)
		}
	}
	return nil
}

// listener has the connections that a crossing brings.
type listener struct {
	comes  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.comes:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address(0) }
