// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// What a program keeps of an RPC or a connection keeps at most about its own size alive: not the
// block or the buffer that it came in, nor the stream, nor the connection.

// keeper is a program that keeps something of each RPC, by kind.
type keeper struct {
	mu   sync.Mutex
	kept map[string][]any
}

func newKeeper() *keeper { return &keeper{kept: make(map[string][]any)} }

func (k *keeper) keep(kind string, v any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept != nil { // else it comes late: the program has let go
		k.kept[kind] = append(k.kept[kind], v)
	}
}

// check lets go of one kind after the other, and fails for those whose values held more than
// limits says, or defaultLimit, each. What two kinds hold counts for the last.
func (k *keeper) check(t *testing.T, limits map[string]int64) {
	t.Helper()
	k.mu.Lock()
	kept := k.kept
	k.kept = nil
	k.mu.Unlock()
	for deadline := time.Now().Add(20 * time.Second); footprint.Read().Connections > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("connections have not ended")
		}
	}
	held := settledHeap()
	for _, kind := range slices.Sorted(maps.Keys(kept)) {
		n := int64(len(kept[kind]))
		for _, v := range kept[kind] {
			if b, ok := v.(mem.BufferSlice); ok {
				b.Free()
			}
		}
		delete(kept, kind)
		runtime.GC()
		left := liveHeap()
		limit, ok := limits[kind]
		if !ok {
			limit = defaultLimit
		}
		if held-left > n*limit+retentionNoise {
			t.Errorf("%s: each of %d keeps %d bytes, at most %d are its own", kind, n, (held-left)/n, limit)
		}
		held = left
	}
}

const defaultLimit = 256

// retentionNoise is what else may be freed meanwhile, in bytes: what ends a moment later, and
// goroutines that are kept for a while.
const retentionNoise = 128 << 10

// settledHeap is liveHeap once pools are empty, and connections that are closed have ended.
func settledHeap() int64 {
	held := liveHeap()
	for same := 0; same < 4; same++ {
		before := held
		if held = liveHeap(); before-held > 4<<10 {
			same = 0
		}
	}
	return held
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The rest of a call whose parts are kept.
const retentionPad = 24 << 10

// retentionServer keeps what a server's program is handed.
type retentionServer struct{ *keeper }

func (s *retentionServer) serve(_ any, ss grpc.ServerStream) error {
	ctx := ss.Context()
	s.server(ctx)
	s.keep("server: method of the stream", grpc.ServerTransportStreamFromContext(ctx).Method())
	method, _ := grpc.Method(ctx)
	md := metadata.Pairs("session", method, "session-bin", method, "pad", strings.Repeat("s", retentionPad))
	if err := ss.SetHeader(md); err != nil {
		return err
	}
	ss.SetTrailer(md)
	for {
		m := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(m); err != nil {
			break
		}
		if len(m.Value) < 100 {
			s.keep("server: message", m)
		}
		if err := ss.SendMsg(m); err != nil {
			return err
		}
	}
	st, err := status.New(codes.Aborted, "no "+method).WithDetails(wrapperspb.String(method))
	if err != nil {
		return err
	}
	return st.Err()
}

// server keeps what ctx has.
func (s *retentionServer) server(ctx context.Context) {
	method, _ := grpc.Method(ctx)
	s.keep("server: method", method)
	md, _ := metadata.FromIncomingContext(ctx)
	for k, vs := range md {
		if strings.HasPrefix(k, "key-") {
			s.keep("server: metadata key", k)
			s.keep("server: metadata values", vs)
			s.keep("server: ValueFromIncomingContext", metadata.ValueFromIncomingContext(ctx, k))
		}
	}
	for _, k := range []string{":authority", "user-agent", "content-type", "session-bin"} {
		s.keep("server: "+k, md[k])
	}
	p, _ := peer.FromContext(ctx)
	s.keep("server: peer", p)
	s.keep("server: text of the address", p.Addr.String())
	s.keep("server: auth info", p.AuthInfo)
	s.keep("server: address", p.Addr)
}

func (s *retentionServer) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	s.keep("tap: method", info.FullMethodName)
	s.keep("tap: metadata values", info.Header["session-bin"])
	return ctx, nil
}

// retentionStats keeps events. Of those with metadata or messages of others' it keeps parts.
type retentionStats struct {
	*keeper
	side string
}

func (s retentionStats) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	s.keep(s.side+" stats: RPCTagInfo", info)
	return ctx
}

func (s retentionStats) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	s.keep(s.side+" stats: ConnTagInfo", info)
	return ctx
}

func (s retentionStats) HandleConn(_ context.Context, e stats.ConnStats) {
	s.keep(fmt.Sprintf("%s stats: %T", s.side, e), e)
}

func (s retentionStats) HandleRPC(_ context.Context, e stats.RPCStats) {
	name := fmt.Sprintf("%s stats: %T", s.side, e)
	switch e := e.(type) {
	case *stats.InHeader:
		s.keep(name+" FullMethod", e.FullMethod)
		s.keep(name+" RemoteAddr", e.RemoteAddr)
		s.keep(name+" Compression", e.Compression)
		s.keep(name+" values", e.Header["session-bin"])
	case *stats.OutHeader:
		s.keep(name+" FullMethod", e.FullMethod)
		s.keep(name+" Authority", e.Authority)
		s.keep(name+" LocalAddr", e.LocalAddr)
	case *stats.InTrailer:
		s.keep(name+" values", e.Trailer["session-bin"])
	case *stats.End:
		s.keep(name+" Error", e.Error)
	case *stats.OutTrailer, *stats.InPayload, *stats.OutPayload:
	default:
		s.keep(name, e)
	}
}

// retentionCredentials keep what they are told of a call.
type retentionCredentials struct{ *keeper }

func (c retentionCredentials) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	info, _ := credentials.RequestInfoFromContext(ctx)
	c.keep("credentials: method", info.Method)
	c.keep("credentials: auth info", info.AuthInfo)
	c.keep("credentials: uri", uri)
	return nil, nil
}

func (retentionCredentials) RequireTransportSecurity() bool { return false }

// retentionCall makes call i on a connection of its own, and keeps what a client's program is
// handed.
func retentionCall(t *testing.T, k *keeper, i int, addr string, creds credentials.TransportCredentials) {
	t.Helper()
	cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithStatsHandler(retentionStats{k, "client"}),
		grpc.WithPerRPCCredentials(retentionCredentials{k}))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	session := fmt.Sprintf("session-%04d", i)
	ctx = metadata.AppendToOutgoingContext(ctx, "key-"+session, session, "session-bin", session, "pad", strings.Repeat("c", retentionPad))
	var p peer.Peer
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	s, err := cc.NewStream(ctx, desc, "/retention.Test/Method"+session, grpc.Peer(&p))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{session, strings.Repeat("m", retentionPad), session} {
		if err := s.SendMsg(wrapperspb.String(text)); err != nil {
			t.Fatal(err)
		}
		in := new(wrapperspb.StringValue)
		if err := s.RecvMsg(in); err != nil {
			t.Fatal(err)
		}
		if text == session {
			k.keep("client: message", in)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	err = s.RecvMsg(new(wrapperspb.StringValue))
	st, _ := status.FromError(err)
	if st.Code() != codes.Aborted {
		t.Fatal(err)
	}
	header, _ := s.Header()
	k.keep("client: error", err)
	k.keep("client: status", st)
	k.keep("client: text of the status", st.Message())
	k.keep("client: details", st.Details()[0])
	k.keep("client: header", header["session"])
	k.keep("client: trailer", s.Trailer()["session"])
	k.keep("client: binary trailer", s.Trailer()["session-bin"])
	k.keep("client: peer", &p)
	k.keep("client: auth info", p.AuthInfo)
	k.keep("client: state", cc.GetState())
	k.keep("client: target", cc.Target())
	k.keep("client: canonical target", cc.CanonicalTarget())
}

// TestRetention keeps of some hundred connections all that a program is handed, closes both ends,
// and looks what that holds. A context is the RPC itself, and is not looked at.
func TestRetention(t *testing.T) {
	if !testutils.InChild(t, "") { // where no other test leaves anything that ends meanwhile
		return
	}
	calls := testutils.Rounds(200)
	cert, pool := testutils.Certificate(t)
	secure := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "test.server"})
	for _, tc := range []struct {
		name   string
		client credentials.TransportCredentials
		serve  func(t *testing.T, opts ...grpc.ServerOption) (addr string, stop func())
	}{
		{"tcp", insecure.NewCredentials(), serveRetention},
		{"tls", secure, func(t *testing.T, opts ...grpc.ServerOption) (string, func()) {
			return serveRetention(t, append(opts, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))...)
		}},
		{"nethttp", secure, func(_ *testing.T, opts ...grpc.ServerOption) (string, func()) {
			s := grpc.NewServer(opts...)
			h := httptest.NewUnstartedServer(s)
			h.EnableHTTP2, h.TLS = true, &tls.Config{Certificates: []tls.Certificate{cert}}
			h.StartTLS()
			return h.Listener.Addr().String(), func() { h.Close(); s.Stop() }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			srv := &retentionServer{k}
			addr, stop := tc.serve(t, grpc.UnknownServiceHandler(srv.serve), grpc.StatsHandler(retentionStats{k, "server"}),
				grpc.InTapHandle(srv.tap))
			for i := range calls {
				retentionCall(t, k, i, addr, tc.client)
			}
			stop()
			k.check(t, map[string]int64{
				// A status with details has a message of protobuf's.
				"client: status":                 512,
				"server stats: *stats.End Error": 512,
				// The state of a TLS connection, as crypto/tls has it.
				"credentials: auth info": 768,
				"server: peer":           768,
			})
		})
	}
}

func serveRetention(t *testing.T, opts ...grpc.ServerOption) (addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return l.Addr().String(), func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
