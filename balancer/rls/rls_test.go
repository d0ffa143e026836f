// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) {
	balancer.Register(childBuilder{})
	leakcheck.Main(m)
}

const childName = "rls_test_child"

// childBuilder makes pick_first policies for the address that their configuration names.
type childBuilder struct{}

type childConfig struct {
	serviceconfig.LoadBalancingConfig
	addr string
}

func (childBuilder) Name() string { return childName }

func (childBuilder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Backend string `json:"backend"`
		More    int    `json:"more"`
	}
	err := json.Unmarshal(text, &in)
	return &childConfig{addr: in.Backend}, err
}

func (childBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &childPolicy{balancer.Get(pickfirst.Name).Build(cc, opts)}
}

type childPolicy struct{ balancer.Balancer }

func (p *childPolicy) UpdateClientConnState(s balancer.ClientConnState) error {
	addrs := []resolver.Address{{Addr: s.BalancerConfig.(*childConfig).addr}}
	s.BalancerConfig = nil
	s.ResolverState = resolver.State{Addresses: addrs, Endpoints: []resolver.Endpoint{{Addresses: addrs}}}
	return p.Balancer.UpdateClientConnState(s)
}

func serve(t *testing.T, l net.Listener, register func(*grpc.Server), opts ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	srv := grpc.NewServer(opts...)
	register(srv)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	return l.Addr().String(), srv
}

// backend is a server that keeps what RPCs carried last.
type backend struct {
	addr string
	srv  *grpc.Server
	mu   sync.Mutex
	data []string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	b.addr, b.srv = serve(t, nil, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, health.NewServer()) },
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			b.mu.Lock()
			b.data = metadata.ValueFromIncomingContext(ctx, headerKey)
			b.mu.Unlock()
			return h(ctx, req)
		}))
	return b
}

func (b *backend) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.data)
}

// lookups is a route lookup service.
type lookups struct {
	lookuppb.UnimplementedRouteLookupServiceServer
	addr string
	srv  *grpc.Server

	mu       sync.Mutex
	requests []*lookuppb.RouteLookupRequest
	answer   func(ctx context.Context, keys map[string]string) (*lookuppb.RouteLookupResponse, error)
}

func newLookups(t *testing.T, answer func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error)) *lookups {
	t.Helper()
	l := &lookups{answer: answer}
	l.addr, l.srv = serve(t, nil, func(s *grpc.Server) { lookuppb.RegisterRouteLookupServiceServer(s, l) })
	return l
}

func (l *lookups) RouteLookup(ctx context.Context, in *lookuppb.RouteLookupRequest) (*lookuppb.RouteLookupResponse, error) {
	l.mu.Lock()
	l.requests = append(l.requests, in)
	answer := l.answer
	l.mu.Unlock()
	return answer(ctx, in.GetKeyMap())
}

func (l *lookups) set(answer func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

func (l *lookups) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requests)
}

// targets answers always the same.
func targets(header string, addrs ...string) func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error) {
	return func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error) {
		return &lookuppb.RouteLookupResponse{Targets: addrs, HeaderData: header}, nil
	}
}

func failure(code codes.Code) func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error) {
	return func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error) {
		return nil, status.Error(code, "no answer")
	}
}

type client struct {
	cc *grpc.ClientConn
	r  *manual.Resolver
}

func serviceConfig(l *lookups, more string) string {
	return `{"loadBalancingConfig": [{"rls_experimental": {"routeLookupConfig": {
		"grpcKeybuilders": [{"names": [{"service": "grpc.health.v1.Health"}], "headers": [{"key": "k", "names": ["k"]}]}],
		"lookupService": "passthrough:///` + l.addr + `", "cacheSizeBytes": 10000` + more + `},
		"childPolicy": [{"rls_test_child": {}}], "childPolicyConfigTargetFieldName": "backend"}}]}`
}

func newClient(t *testing.T, l *lookups, more string) *client {
	t.Helper()
	r := manual.NewBuilderWithScheme("rlstest")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "unused"}}})
	cc, err := grpc.NewClient("rlstest:///service.test", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig(l, more)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return &client{cc, r}
}

// call makes an RPC with a key and returns who served it.
func (c *client) call(t *testing.T, key string, opts ...grpc.CallOption) (string, error) {
	t.Helper()
	return c.callWithin(t, 30*time.Second, key, opts...)
}

func (c *client) callWithin(t *testing.T, timeout time.Duration, key string, opts ...grpc.CallOption) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "k", key), timeout)
	defer cancel()
	var p peer.Peer
	if _, err := healthpb.NewHealthClient(c.cc).Check(ctx, &healthpb.HealthCheckRequest{}, append(opts, grpc.Peer(&p))...); err != nil {
		return "", err
	}
	return p.Addr.String(), nil
}

func (c *client) expect(t *testing.T, key, addr string) {
	t.Helper()
	if got, err := c.call(t, key); err != nil || got != addr {
		t.Errorf("key %q: %s, %v; want %s", key, got, err, addr)
	}
}

// until calls until a condition holds.
func (c *client) until(t *testing.T, key string, ok func(addr string, err error) bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		addr, err := c.call(t, key)
		if ok(addr, err) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("at last: %s, %v", addr, err)
		}
	}
}

func TestRoutes(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l := newLookups(t, func(_ context.Context, keys map[string]string) (*lookuppb.RouteLookupResponse, error) {
		return &lookuppb.RouteLookupResponse{Targets: []string{map[string]string{"a": a.addr, "b": b.addr}[keys["k"]]}, HeaderData: "data-" + keys["k"]}, nil
	})
	c := newClient(t, l, "")
	c.cc.Connect()
	for range 3 {
		c.expect(t, "a", a.addr)
		c.expect(t, "b", b.addr)
	}
	if l.count() != 2 || a.last() != "[data-a]" || b.last() != "[data-b]" {
		t.Errorf("%d lookups, %s, %s", l.count(), a.last(), b.last())
	}
	if r := l.requests[0]; r.GetTargetType() != "grpc" || r.GetReason() != lookuppb.RouteLookupRequest_REASON_MISS {
		t.Errorf("%v", r)
	}
	if s := c.cc.GetState(); s != connectivity.Ready {
		t.Error(s)
	}
}

// TestOneLookup: RPCs with the same keys wait for one answer.
func TestOneLookup(t *testing.T) {
	a := newBackend(t)
	begun, answer := make(chan struct{}, 100), make(chan struct{})
	l := newLookups(t, func(ctx context.Context, keys map[string]string) (*lookuppb.RouteLookupResponse, error) {
		begun <- struct{}{}
		<-answer
		return targets("", a.addr)(ctx, keys)
	})
	c := newClient(t, l, "")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { c.expect(t, "x", a.addr) })
	}
	<-begun
	close(answer)
	wg.Wait()
	if l.count() != 1 {
		t.Errorf("%d lookups", l.count())
	}
}

func TestTargetsInOrder(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	gone := newBackend(t)
	gone.srv.Stop()
	l := newLookups(t, targets("", gone.addr, a.addr, b.addr))
	c := newClient(t, l, "")
	c.expect(t, "x", a.addr)
	a.srv.Stop()
	c.until(t, "x", func(addr string, err error) bool { return addr == b.addr })
	b.srv.Stop()
	c.until(t, "x", func(_ string, err error) bool { return status.Code(err) == codes.Unavailable })
}

func TestFailures(t *testing.T) {
	b := newBackend(t)
	slow := func(ctx context.Context, _ map[string]string) (*lookuppb.RouteLookupResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, answer := range map[string]func(context.Context, map[string]string) (*lookuppb.RouteLookupResponse, error){
		"not found": failure(codes.NotFound), "internal": failure(codes.Internal), "no target": targets("data"), "slow": slow,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLookups(t, answer)
			c := newClient(t, l, `, "lookupServiceTimeout": "0.05s"`)
			begun := time.Now()
			for range 3 {
				if addr, err := c.call(t, "x"); status.Code(err) != codes.Unavailable {
					t.Errorf("%s, %v", addr, err)
				}
			}
			if l.count() > 1 && time.Since(begun) < 500*time.Millisecond { // the first pause is longer
				t.Errorf("%d lookups without a pause", l.count())
			}
			c = newClient(t, l, `, "lookupServiceTimeout": "0.05s", "defaultTarget": "`+b.addr+`"`)
			for range 3 {
				c.expect(t, "x", b.addr)
			}
			if b.last() != "[]" {
				t.Error(b.last())
			}
		})
	}
}

// TestWaitForReady: RPCs that wait for ready outlive failures of the service.
func TestWaitForReady(t *testing.T) {
	a := newBackend(t)
	l := newLookups(t, failure(codes.Internal))
	c := newClient(t, l, "")
	_, err := c.callWithin(t, 50*time.Millisecond, "x", grpc.WaitForReady(true))
	if s := status.Convert(err); s.Code() != codes.DeadlineExceeded {
		t.Errorf("%v, want it to wait", err)
	}
	l.set(targets("", a.addr))
	if addr, err := c.call(t, "x", grpc.WaitForReady(true)); err != nil || addr != a.addr {
		t.Errorf("%s, %v; want %s", addr, err, a.addr)
	}
}

// TestShortAge: an answer that is good for no time at all serves those who waited for it.
func TestShortAge(t *testing.T) {
	a := newBackend(t)
	l := newLookups(t, nil)
	l.set(func(ctx context.Context, keys map[string]string) (*lookuppb.RouteLookupResponse, error) {
		if l.count() > 20 {
			return nil, status.Error(codes.Internal, "asked too often")
		}
		return targets("", a.addr)(ctx, keys)
	})
	c := newClient(t, l, `, "maxAge": "0.000000001s"`)
	c.expect(t, "x", a.addr)
}

// TestConnectsAtOnce: the channel to the service does not wait for the first lookup.
func TestConnectsAtOnce(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	_ = lis.(*net.TCPListener).SetDeadline(time.Now().Add(30 * time.Second))
	c := newClient(t, &lookups{addr: lis.Addr().String()}, "")
	c.cc.Connect()
	nc, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// TestServiceGoneAndBack: without the service there is the default target; when it is back,
// it is asked at once.
func TestServiceGoneAndBack(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l := newLookups(t, targets("", a.addr))
	l.srv.Stop()
	c := newClient(t, l, `, "defaultTarget": "`+b.addr+`"`)
	c.expect(t, "x", b.addr)
	listener, err := net.Listen("tcp", l.addr)
	if err != nil {
		t.Skipf("the port is taken: %v", err)
	}
	serve(t, listener, func(s *grpc.Server) { lookuppb.RegisterRouteLookupServiceServer(s, l) })
	c.until(t, "x", func(addr string, _ error) bool { return addr == a.addr })
}

func TestStale(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l := newLookups(t, targets("old", a.addr))
	c := newClient(t, l, `, "maxAge": "100s", "staleAge": "0.001s"`)
	c.expect(t, "x", a.addr)
	l.set(targets("new", b.addr))
	c.until(t, "x", func(addr string, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		return addr == b.addr
	})
	l.mu.Lock()
	second := l.requests[1]
	l.mu.Unlock()
	if second.GetReason() != lookuppb.RouteLookupRequest_REASON_STALE || second.GetStaleHeaderData() != "old" {
		t.Errorf("%v", second)
	}
	// An answer that gets old outlives a failure of the service.
	l.set(failure(codes.Internal))
	for n := l.count(); l.count() == n; {
		c.expect(t, "x", b.addr)
	}
	for range 5 {
		c.expect(t, "x", b.addr)
	}
}

func TestExpiry(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l := newLookups(t, targets("", a.addr))
	c := newClient(t, l, `, "maxAge": "0.05s"`)
	c.expect(t, "x", a.addr)
	l.set(targets("", b.addr))
	c.until(t, "x", func(addr string, _ error) bool { return addr == b.addr })
}

// TestConfigChanges: another service, another default target, and the children go on.
func TestConfigChanges(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l, m := newLookups(t, failure(codes.Internal)), newLookups(t, targets("", b.addr))
	c := newClient(t, l, `, "defaultTarget": "`+a.addr+`"`)
	c.expect(t, "x", a.addr)
	parse := func(config string) *serviceconfig.ParseResult { return c.r.CC().ParseServiceConfig(config) }
	c.r.UpdateState(resolver.State{ServiceConfig: parse(serviceConfig(l, `, "defaultTarget": "`+b.addr+`"`))})
	c.until(t, "x", func(addr string, _ error) bool { return addr == b.addr })
	c.r.UpdateState(resolver.State{ServiceConfig: parse(serviceConfig(m, ""))})
	c.until(t, "y", func(addr string, _ error) bool { return addr == b.addr && m.count() > 0 })
}

// TestManyKeys: answers go when there is no room for them, and RPCs don't mind.
func TestManyKeys(t *testing.T) {
	a := newBackend(t)
	l := newLookups(t, targets("data", a.addr))
	c := newClient(t, l, "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				c.expect(t, fmt.Sprint(i, "-", j), a.addr)
			}
		})
	}
	wg.Wait()
	if l.count() != 400 {
		t.Errorf("%d lookups", l.count())
	}
}

func TestClose(t *testing.T) {
	hang := make(chan struct{})
	l := newLookups(t, func(ctx context.Context, _ map[string]string) (*lookuppb.RouteLookupResponse, error) {
		close(hang)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := newClient(t, l, "")
	done := make(chan error, 1)
	go func() {
		_, err := c.call(t, "x")
		done <- err
	}()
	<-hang
	c.cc.Close()
	if err := <-done; err == nil {
		t.Error("an RPC survives its channel")
	}
}
