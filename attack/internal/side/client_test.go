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
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	unaryMethod  = "/crossing.Service/Unary"
	streamMethod = "/crossing.Service/Stream"
	callKey      = "call"
)

// client is a side that is one.
type client struct {
	*side
	cc      *grpc.ClientConn
	ctx     context.Context
	endAll  func()
	running sync.WaitGroup

	mu    sync.Mutex
	dials map[int]chan bool
	calls map[int]*call
}

func newClient(s *side) *client {
	c := &client{side: s, dials: map[int]chan bool{}, calls: map[int]*call{}}
	c.ctx, c.endAll = context.WithCancel(context.Background())
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(s.creds()),
		grpc.WithContextDialer(c.dial),
		s.ground.dialOption(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, MaxDelay: 20 * time.Second},
			MinConnectTimeout: 20 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})),
	}
	if s.has(SmallWindows) {
		opts = append(opts, grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	}
	if s.has(Keepalive) {
		opts = append(opts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}))
	}
	cc, err := grpc.NewClient("passthrough:///crossing", opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	c.cc = cc
	return c
}

var errRefused = errors.New("connection refused")

func (c *client) dial(ctx context.Context, _ string) (net.Conn, error) {
	c.mu.Lock()
	id, answer := len(c.dials)+1, make(chan bool, 1)
	c.dials[id] = answer
	c.mu.Unlock()
	nc := c.ground.conn(c.newConn(id))
	c.tell(Message{Op: Dial, Conn: id})
	select {
	case ok := <-answer:
		if !ok {
			return nil, errRefused
		}
		return nc, nil
	case <-ctx.Done():
		_ = nc.Close()
		return nil, ctx.Err()
	}
}

func (c *client) do(m Message) {
	c.mu.Lock()
	k, answer := c.calls[m.Call], c.dials[m.Conn]
	c.mu.Unlock()
	switch m.Op {
	case Connected, Refused:
		answer <- m.Op == Connected
	case Start:
		c.start(m)
	case Send, CloseSend:
		k.sends <- m
	case Recv:
		k.receives <- m
	case Cancel:
		k.cancel()
	case Close:
		c.running.Go(func() { c.cc.Close() })
	}
}

func (c *client) end() {
	c.endAll()
	c.cc.Close()
	c.running.Wait()
}

// call is one of the client's.
type call struct {
	*client
	n               int
	ctx             context.Context
	cancel          func()
	sends, receives chan Message
}

func (c *client) start(m Message) {
	k := &call{client: c, n: m.Call, sends: make(chan Message, 16), receives: make(chan Message, 16)}
	if m.D > 0 {
		k.ctx, k.cancel = context.WithTimeout(c.ctx, m.D)
	} else {
		k.ctx, k.cancel = context.WithCancel(c.ctx)
	}
	k.ctx = metadata.AppendToOutgoingContext(k.ctx, callKey, strconv.Itoa(k.n), requestKey, value(k.n, c.sizeOfMetadata(k.n)))
	c.mu.Lock()
	c.calls[k.n] = k
	c.mu.Unlock()
	opts := []grpc.CallOption{grpc.WaitForReady(m.N&WaitForReady != 0)}
	if m.N&Compressed != 0 {
		opts = append(opts, grpc.UseCompressor(gzip.Name))
	}
	if m.N&Streaming != 0 {
		c.running.Go(func() { k.stream(opts...) })
	} else {
		c.running.Go(func() { k.unary(m.M, opts...) })
	}
}

func (k *call) unary(size int, opts ...grpc.CallOption) {
	defer k.cancel()
	var (
		reply           raw
		header, trailer metadata.MD
	)
	opts = append(opts, grpc.Header(&header), grpc.Trailer(&trailer))
	err := k.cc.Invoke(k.ctx, unaryMethod, message(k.n, Client, 0, size), &reply, opts...)
	if err == nil {
		if err := reply.check(k.n, Server, 0); err != nil {
			k.fault("%v", err)
		}
	}
	k.over(err, header, trailer)
}

// over tells of the end, and whether the metadata of the handler is there, if the status is.
func (k *call) over(err error, header, trailer metadata.MD) {
	s, lacks := status.Convert(err), 0
	if err == nil || s.Message() == asOrdered {
		wrong := checkMetadata(trailer, trailerKey, k.n)
		if err == nil { // else there may be no headers
			wrong = errors.Join(wrong, checkMetadata(header, headerKey, k.n))
		}
		if wrong != nil {
			lacks = 1
			k.tell(Message{Op: Told, Call: k.n, Data: []byte(wrong.Error())})
		}
	}
	k.tell(Message{Op: Over, Call: k.n, N: int(s.Code()), M: lacks, Data: []byte(s.Message())})
}

func (k *call) stream(opts ...grpc.CallOption) {
	cs, err := k.cc.NewStream(k.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, streamMethod, opts...)
	if err != nil {
		k.cancel()
		k.over(err, nil, nil)
		return
	}
	over := make(chan struct{})
	k.running.Go(func() { k.send(cs, over) })
	defer close(over)
	defer k.cancel()
	for i := 0; ; i++ {
		<-k.receives
		var m raw
		err := cs.RecvMsg(&m)
		if err == io.EOF {
			err = nil
		} else if err == nil {
			if err := m.check(k.n, Server, i); err != nil {
				k.fault("%v", err)
			}
			k.tell(Message{Op: Received, Call: k.n, N: len(m)})
			continue
		}
		header, _ := cs.Header()
		k.over(err, header, cs.Trailer())
		return
	}
}

// send sends what it is told to until the call is over.
func (k *call) send(cs grpc.ClientStream, over <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case m := <-k.sends:
			var err error
			if m.Op == CloseSend {
				err = cs.CloseSend()
			} else {
				err = cs.SendMsg(message(k.n, Client, i, m.N))
			}
			if err != nil && err != io.EOF && status.Code(err) == codes.Unknown {
				k.fault("call %d: a send fails with %v", k.n, err)
			}
			ok := 0
			if err == nil {
				ok = 1
			}
			k.tell(Message{Op: Sent, Call: k.n, N: ok})
			if m.Op == CloseSend {
				return
			}
		case <-over:
			return
		}
	}
}
