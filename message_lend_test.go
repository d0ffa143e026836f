// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Large messages are sent from where they lie, and a program that has been told that they are sent
// may use their memory again.

type octets = wrapperspb.BytesValue

// largeService is a service with large messages.
type largeService struct {
	unary  func(context.Context, *octets) (*octets, error)
	stream func(ServerStream) error
}

var largeDesc = ServiceDesc{
	ServiceName: "test.Large",
	HandlerType: (*any)(nil),
	Methods: []MethodDesc{{MethodName: "Unary", Handler: func(srv any, ctx context.Context, dec func(any) error, _ UnaryServerInterceptor) (any, error) {
		in := new(octets)
		if err := dec(in); err != nil {
			return nil, err
		}
		return srv.(*largeService).unary(ctx, in)
	}}},
	Streams: []StreamDesc{{StreamName: "Bidi", ServerStreams: true, ClientStreams: true, Handler: func(srv any, ss ServerStream) error {
		return srv.(*largeService).stream(ss)
	}}},
}

const maxLarge = 32 << 20

// largeChannel returns a channel to a server with s, both over wrap of their sockets.
func largeChannel(t *testing.T, s *largeService, server []ServerOption, client []DialOption, wrap func(net.Conn) net.Conn) *ClientConn {
	t.Helper()
	l := listen(t)
	address := l.Addr().String()
	if wrap != nil {
		l = testutils.WrapListener{Listener: l, Wrap: wrap}
	}
	srv := NewServer(append(server, MaxRecvMsgSize(maxLarge))...)
	srv.RegisterService(&largeDesc, s)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		<-served
	})
	if wrap != nil {
		client = append(client, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		}))
	}
	cc, err := NewClient("passthrough:"+address, append(client, WithDefaultCallOptions(MaxCallRecvMsgSize(maxLarge)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

// overAll runs a test over every kind of connection.
func overAll(t *testing.T, f func(t *testing.T, open func(t *testing.T, s *largeService) *ClientConn)) {
	cert, pool := testutils.Certificate(t)
	plain := []DialOption{WithTransportCredentials(insecure.NewCredentials())}
	for _, over := range []struct {
		name   string
		server []ServerOption
		client []DialOption
		wrap   func(net.Conn) net.Conn
	}{
		{"tcp", nil, plain, nil},
		{
			"tls",
			[]ServerOption{Creds(credentials.NewServerTLSFromCert(&cert))},
			[]DialOption{WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "test.server"))},
			nil,
		},
		{"wrapped", nil, plain, func(c net.Conn) net.Conn { return struct{ net.Conn }{c} }},
		{"waits", nil, plain, func(c net.Conn) net.Conn { return &valved{c, &valve{begun: make(chan struct{}, 1)}} }},
	} {
		t.Run(over.name, func(t *testing.T) {
			f(t, func(t *testing.T, s *largeService) *ClientConn {
				return largeChannel(t, s, over.server, over.client, over.wrap)
			})
		})
	}
}

// pattern fills b with what only the n-th message has.
func pattern(b []byte, n int) {
	for i := range b {
		b[i] = byte(i*7 + n*13)
	}
}

func isPattern(b []byte, n, size int) bool {
	want := make([]byte, size)
	pattern(want, n)
	return bytes.Equal(b, want)
}

// sendPatterns sends messages of several sizes from the same memory.
func sendPatterns(send func(any) error, n int) error {
	memory := make([]byte, 3<<20)
	for i := range n {
		b := memory[:sizeOf(i)]
		pattern(b, i)
		if err := send(wrapperspb.Bytes(b)); err != nil {
			return err
		}
		clear(b)
	}
	return nil
}

// sizeOf is how long the i-th message is.
func sizeOf(i int) int {
	return []int{1 << 20, 128 << 10, 3 << 20, 100, 300_001, 131_071, 1 << 20}[i%7]
}

// receivePatterns takes what sendPatterns sends.
func receivePatterns(t *testing.T, recv func(any) error) (n int) {
	for {
		m := new(octets)
		if err := recv(m); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return n
		}
		if !isPattern(m.Value, n, sizeOf(n)) {
			t.Errorf("message %d of %d bytes has other bytes", n, len(m.Value))
		}
		n++
	}
}

// TestLentStreams: both sides send, and use the memory of a message again as soon as SendMsg returns.
func TestLentStreams(t *testing.T) {
	n := testutils.Rounds(30)
	overAll(t, func(t *testing.T, open func(t *testing.T, s *largeService) *ClientConn) {
		cc := open(t, &largeService{stream: func(ss ServerStream) error {
			var sent sync.WaitGroup
			var err error
			sent.Go(func() { err = sendPatterns(ss.SendMsg, n) })
			if got := receivePatterns(t, ss.RecvMsg); got != n {
				t.Errorf("the server got %d messages", got)
			}
			sent.Wait()
			return err
		}})
		cs, err := cc.NewStream(context.Background(), &largeDesc.Streams[0], "/test.Large/Bidi")
		if err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		sent.Go(func() {
			if err := sendPatterns(cs.SendMsg, n); err != nil {
				t.Error(err)
			}
			cs.CloseSend()
		})
		if got := receivePatterns(t, cs.RecvMsg); got != n {
			t.Errorf("the client got %d messages", got)
		}
		sent.Wait()
	})
}

// TestLentUnary: a caller uses the memory of a request again as soon as the RPC has returned, be it
// with a reply or because its time is up.
func TestLentUnary(t *testing.T) {
	overAll(t, func(t *testing.T, open func(t *testing.T, s *largeService) *ClientConn) {
		cc := open(t, &largeService{unary: func(ctx context.Context, m *octets) (*octets, error) {
			if m.Value[0] == 1 {
				<-ctx.Done()
			}
			return m, nil
		}})
		memory := make([]byte, 4<<20)
		for i := range testutils.Rounds(40) {
			size := sizeOf(i)
			pattern(memory[:size], i)
			ctx, cancel := context.WithCancel(context.Background())
			want := codes.OK
			switch i % 4 {
			case 1: // while it is sent
				time.AfterFunc(time.Duration(i*20)*time.Microsecond, cancel)
				want = codes.Canceled
			case 3:
				time.AfterFunc(5*time.Millisecond, cancel)
				memory[0] = 1 // is not answered
				want = codes.Canceled
			}
			reply := new(octets)
			err := cc.Invoke(ctx, "/test.Large/Unary", wrapperspb.Bytes(memory[:size]), reply)
			clear(memory)
			cancel()
			switch {
			case err == nil && i%4 != 3:
				if !isPattern(reply.Value, i, size) {
					t.Errorf("reply %d of %d bytes has other bytes", i, size)
				}
			case status.Code(err) != want:
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

// TestLentToNobody: a message goes out of the sender's hands also if the peer reads nothing.
func TestLentToNobody(t *testing.T) {
	overAll(t, func(t *testing.T, open func(t *testing.T, s *largeService) *ClientConn) {
		both := make(chan struct{})
		cc := open(t, &largeService{stream: func(ss ServerStream) error {
			if err := ss.SendMsg(wrapperspb.Bytes(make([]byte, 8<<20))); err != nil {
				return err
			}
			<-both
			return ss.RecvMsg(new(octets))
		}})
		cs, err := cc.NewStream(context.Background(), &largeDesc.Streams[0], "/test.Large/Bidi")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cs.Header(); err != nil { // another attempt is out of the question
			t.Fatal(err)
		}
		if err := cs.SendMsg(wrapperspb.Bytes(make([]byte, 8<<20))); err != nil {
			t.Fatal(err)
		}
		close(both)
		for range 2 {
			err = cs.RecvMsg(new(octets))
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// TestLentTwice: a request that is refused and sent again, and one that is compressed, have the bytes that
// they had.
func TestLentTwice(t *testing.T) {
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.001s",
		"maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	tries := 0
	service := &largeService{unary: func(_ context.Context, m *octets) (*octets, error) {
		if tries++; tries%3 != 0 {
			return nil, status.Error(codes.Unavailable, "again")
		}
		return m, nil
	}}
	cc := largeChannel(t, service, nil, []DialOption{
		WithTransportCredentials(insecure.NewCredentials()), WithDefaultServiceConfig(policy),
		WithDefaultCallOptions(MaxRetryRPCBufferSize(maxLarge)),
	}, nil)
	memory := make([]byte, 1<<20)
	for i, opts := range [][]CallOption{nil, {UseCompressor(gzip.Name)}, nil} {
		pattern(memory, i)
		reply := new(octets)
		if err := cc.Invoke(context.Background(), "/test.Large/Unary", wrapperspb.Bytes(memory), reply, opts...); err != nil {
			t.Fatal(err)
		}
		if !isPattern(reply.Value, i, len(memory)) {
			t.Errorf("call %d: other bytes", i)
		}
		clear(memory)
	}
}

// watchedSizes is a stats handler that uses the memory of a message again once it has seen it sent.
type watchedSizes struct {
	stats.Handler
	mu   sync.Mutex
	wire int
}

func (h *watchedSizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (h *watchedSizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (h *watchedSizes) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *watchedSizes) HandleRPC(_ context.Context, s stats.RPCStats) {
	if out, ok := s.(*stats.OutPayload); ok && !out.Client {
		h.mu.Lock()
		h.wire += out.WireLength
		h.mu.Unlock()
		clear(out.Payload.(*octets).Value)
	}
}

// TestLentToHandler: a server's stats handler sees a reply when it may be changed.
func TestLentToHandler(t *testing.T) {
	h := new(watchedSizes)
	cc := largeChannel(t, &largeService{unary: func(_ context.Context, m *octets) (*octets, error) {
		return wrapperspb.Bytes(bytes.Clone(m.Value)), nil
	}}, []ServerOption{StatsHandler(h)}, []DialOption{WithTransportCredentials(insecure.NewCredentials())}, nil)
	memory := make([]byte, 3<<20)
	pattern(memory, 0)
	reply := new(octets)
	if err := cc.Invoke(context.Background(), "/test.Large/Unary", wrapperspb.Bytes(memory), reply); err != nil {
		t.Fatal(err)
	}
	if !isPattern(reply.Value, 0, len(memory)) {
		t.Error("other bytes")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wire < len(memory) {
		t.Errorf("%d bytes on the wire", h.wire)
	}
}

// TestLentIsNotCopied: of what is sent from where it lies no copy is made, on neither side.
func TestLentIsNotCopied(t *testing.T) {
	pool := newLargest()
	internalmem.ReplaceDefault(pool)
	defer internalmem.ReplaceDefault(nil)
	large := make([]byte, 1<<20)
	cc := largeChannel(t, &largeService{
		unary: func(_ context.Context, m *octets) (*octets, error) {
			return wrapperspb.Bytes(large[:len(m.Value)]), nil
		},
	}, []ServerOption{serverPool{pool: internalmem.NopBufferPool{}}}, []DialOption{
		channelPool{pool: internalmem.NopBufferPool{}},
		WithTransportCredentials(insecure.NewCredentials()),
	}, nil)
	for range 3 {
		reply := new(octets)
		if err := cc.Invoke(context.Background(), "/test.Large/Unary", wrapperspb.Bytes(large), reply); err != nil {
			t.Fatal(err)
		}
		if len(reply.Value) != len(large) {
			t.Error("the reply has", len(reply.Value))
		}
	}
	if pool.most >= len(large) {
		t.Errorf("a buffer of %d bytes was lent", pool.most)
	}
}

// For ever nothing is lent that keeps much more than itself, and for a while nothing whose copy takes long.
func TestLendable(t *testing.T) {
	array := make([]byte, maxLent+1)
	for _, c := range []struct {
		large []byte
		how   lending
		want  bool
	}{
		{array[:100:120], lendForever, true},
		{array[:100:121], lendForever, false},
		{array, lendForever, true},
		{array[:100], lendAwhile, true},
		{array[:maxLent], lendAwhile, true},
		{array, lendAwhile, false},
	} {
		if got := lendable(c.large, c.how); got != c.want {
			t.Errorf("%d of %d bytes, %d: %v", len(c.large), cap(c.large), c.how, got)
		}
	}
}
