// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	lbpb "google.golang.org/grpc/balancer/grpclb/grpc_lb_v1"
	"google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// backend is a server of the service that is balanced.
type backend struct {
	addr   string
	srv    *grpc.Server
	mu     sync.Mutex
	tokens []string // of RPCs, in their order
	rpcs   int
	health *health.Server
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{health: health.NewServer()}
	b.srv = grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		b.mu.Lock()
		b.rpcs++
		b.tokens = append(b.tokens, metadata.ValueFromIncomingContext(ctx, tokenKey)...)
		b.mu.Unlock()
		return h(ctx, req)
	}))
	healthpb.RegisterHealthServer(b.srv, b.health)
	b.addr = serve(t, b.srv)
	return b
}

func (b *backend) lastToken() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.tokens) == 0 {
		return ""
	}
	return b.tokens[len(b.tokens)-1]
}

// server is how a load balancer names b.
func (b *backend) server(token string) *lbpb.Server {
	ap := netip.MustParseAddrPort(b.addr)
	return &lbpb.Server{IpAddress: ap.Addr().AsSlice(), Port: int32(ap.Port()), LoadBalanceToken: token}
}

func serve(t *testing.T, srv *grpc.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	return l.Addr().String()
}

// balancerServer is a load balancer that a test directs, a stream at a time.
type balancerServer struct {
	lbpb.UnimplementedLoadBalancerServer
	addr    string
	srv     *grpc.Server
	silent  bool          // streams get no answer
	answer  chan struct{} // if not nil, streams get no answer before it is closed
	asked   chan struct{} // gets a value for each stream
	streams chan *lbStream
}

type lbStream struct {
	lbpb.LoadBalancer_BalanceLoadServer
	name  string
	stats chan *lbpb.ClientStats
	end   chan error
}

func newBalancerServer(t *testing.T) *balancerServer {
	t.Helper()
	s := &balancerServer{asked: make(chan struct{}, 100), streams: make(chan *lbStream, 100)}
	s.srv = grpc.NewServer()
	lbpb.RegisterLoadBalancerServer(s.srv, s)
	s.addr = serve(t, s.srv)
	return s
}

func (s *balancerServer) BalanceLoad(stream lbpb.LoadBalancer_BalanceLoadServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	s.asked <- struct{}{}
	if s.answer != nil {
		select {
		case <-s.answer:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
	if s.silent {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	err = stream.Send(&lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_InitialResponse{
		InitialResponse: &lbpb.InitialLoadBalanceResponse{ClientStatsReportInterval: durationpb.New(10 * time.Millisecond)},
	}})
	if err != nil {
		return err
	}
	st := &lbStream{stream, first.GetInitialRequest().GetName(), make(chan *lbpb.ClientStats, 1000), make(chan error, 1)}
	s.streams <- st
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			st.stats <- m.GetClientStats()
		}
	}()
	select {
	case err := <-st.end:
		return err
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

func (st *lbStream) list(t *testing.T, servers ...*lbpb.Server) {
	t.Helper()
	err := st.Send(&lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_ServerList{
		ServerList: &lbpb.ServerList{Servers: servers},
	}})
	if err != nil {
		t.Error(err)
	}
}

func (s *balancerServer) stream(t *testing.T) *lbStream {
	t.Helper()
	select {
	case st := <-s.streams:
		return st
	case <-time.After(30 * time.Second):
		t.Fatal("the load balancer has got no stream")
		return nil
	}
}

// client is a channel over grpclb.
type client struct {
	cc    *grpc.ClientConn
	found *manual.Resolver
	healthpb.HealthClient
}

// newClient makes a channel whose resolver finds these addresses.
func newClient(t *testing.T, config string, s resolver.State) *client {
	t.Helper()
	r := manual.NewBuilderWithScheme("lbtest")
	r.InitialState(s)
	cc, err := grpc.NewClient("lbtest:///service.test", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"grpclb": `+config+`}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return &client{cc, r, healthpb.NewHealthClient(cc)}
}

func found(balancers []string, backends ...string) resolver.State {
	var s resolver.State
	for _, a := range backends {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	own := &state.State{}
	for _, a := range balancers {
		own.BalancerAddresses = append(own.BalancerAddresses, resolver.Address{Addr: a, ServerName: "lb.test"})
	}
	return state.Set(s, own)
}

// call makes an RPC and returns who served it.
func (c *client) call(t *testing.T, opts ...grpc.CallOption) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var p peer.Peer
	_, err := c.Check(ctx, &healthpb.HealthCheckRequest{}, append(opts, grpc.Peer(&p))...)
	if err != nil {
		return "", err
	}
	return p.Addr.String(), nil
}

// reaches calls until a server has served an RPC.
func (c *client) reaches(t *testing.T, addr string) {
	t.Helper()
	var got string
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if got, err = c.call(t, grpc.WaitForReady(true)); err == nil && got == addr {
			return
		}
	}
	t.Fatalf("%s, %v; want %s", got, err, addr)
}

func TestListOrder(t *testing.T) {
	lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	if st.name != "service.test" {
		t.Errorf("asked for %q", st.name)
	}
	st.list(t, a.server("ta"), b.server("tb"), b.server("tb2"), b.server("tb"))
	c.reaches(t, a.addr)
	c.reaches(t, b.addr)
	counts := map[string]int{}
	for range 40 {
		addr, err := c.call(t)
		if err != nil {
			t.Fatal(err)
		}
		counts[addr]++
	}
	if counts[a.addr] != 10 || counts[b.addr] != 30 {
		t.Errorf("%v", counts)
	}
	if a.lastToken() != "ta" || !slices.Contains(b.tokens, "tb") || !slices.Contains(b.tokens, "tb2") {
		t.Errorf("%q, %q", a.tokens, b.tokens)
	}
	// The next list counts.
	st.list(t, a.server("new"))
	for a.lastToken() != "new" {
		if _, err := c.call(t, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if addr, err := c.call(t); addr != a.addr {
			t.Errorf("%s, %v", addr, err)
		}
	}
}

func TestPickFirst(t *testing.T) {
	lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
	c := newClient(t, `{"childPolicy": [{"unknown": {}}, {"pick_first": {}}], "serviceName": "other"}`, found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	if st.name != "other" {
		t.Errorf("asked for %q", st.name)
	}
	st.list(t, a.server("ta"), b.server("tb"))
	for range 10 {
		if addr, err := c.call(t, grpc.WaitForReady(true)); addr != a.addr {
			t.Fatalf("%s, %v", addr, err)
		}
	}
	if a.lastToken() != "ta" {
		t.Errorf("%q", a.tokens)
	}
	a.srv.Stop()
	c.reaches(t, b.addr)
	if b.lastToken() != "tb" {
		t.Errorf("%q", b.tokens)
	}
}

func TestDropsAndStats(t *testing.T) {
	lb, a := newBalancerServer(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	st.list(t, a.server("ta"), &lbpb.Server{Drop: true, LoadBalanceToken: "rate"}, a.server("ta"), &lbpb.Server{Drop: true, LoadBalanceToken: "load"})
	served, dropped := 0, 0
	for range 40 {
		_, err := c.call(t)
		switch {
		case err == nil:
			served++
		case status.Code(err) == codes.Unavailable && status.Convert(err).Message() == "request dropped by grpclb":
			dropped++
		default:
			t.Fatal(err)
		}
	}
	if served != 20 || dropped != 20 {
		t.Errorf("%d served, %d dropped", served, dropped)
	}
	var sum lbpb.ClientStats
	drops := map[string]int64{}
	deadline := time.After(30 * time.Second)
	for sum.NumCallsFinished < 40 {
		select {
		case s := <-st.stats:
			sum.NumCallsStarted += s.NumCallsStarted
			sum.NumCallsFinished += s.NumCallsFinished
			sum.NumCallsFinishedKnownReceived += s.NumCallsFinishedKnownReceived
			sum.NumCallsFinishedWithClientFailedToSend += s.NumCallsFinishedWithClientFailedToSend
			for _, d := range s.CallsFinishedWithDrop {
				drops[d.LoadBalanceToken] += d.NumCalls
			}
		case <-deadline:
			t.Fatalf("%v", &sum)
		}
	}
	if sum.NumCallsStarted != 40 || sum.NumCallsFinishedKnownReceived != 20 || sum.NumCallsFinishedWithClientFailedToSend != 0 || drops["rate"] != 10 || drops["load"] != 10 {
		t.Errorf("%v, %v", &sum, drops)
	}
	// Nothing but drops.
	st.list(t, &lbpb.Server{Drop: true, LoadBalanceToken: "all"})
	for {
		_, err := c.call(t)
		if err != nil && status.Convert(err).Message() == "request dropped by grpclb" {
			break
		}
	}
	// Nothing at all.
	st.list(t)
	for {
		if _, err := c.call(t); status.Convert(err).Message() == errNoServers.Error() {
			break
		}
	}
}

// TestWaitForReady: RPCs that wait for ready wait while there is no server, and only drops end
// them.
func TestWaitForReady(t *testing.T) {
	lb, a, gone := newBalancerServer(t), newBackend(t), newBalancerServer(t)
	gone.srv.Stop()
	waits := func(c *client, want error) {
		t.Helper()
		err := testutils.EndsWaiting(t.Context(), func(ctx context.Context) error {
			_, err := c.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
			return err
		}, want.Error())
		if s := status.Convert(err); s.Code() != codes.DeadlineExceeded || !strings.Contains(s.Message(), want.Error()) {
			t.Errorf("%v, want it to wait because of %q", err, want)
		}
	}
	c := newClient(t, "{}", found([]string{gone.addr}))
	if _, err := c.call(t); status.Convert(err).Message() != errNoFallback.Error() {
		t.Errorf("%v", err)
	}
	waits(c, errNoFallback)
	c.found.UpdateState(found([]string{lb.addr}))
	st := lb.stream(t)
	st.list(t)
	for {
		if _, err := c.call(t); status.Convert(err).Message() == errNoServers.Error() {
			break
		}
	}
	waits(c, errNoServers)
	st.list(t, a.server("t"))
	c.reaches(t, a.addr)
	st.list(t, &lbpb.Server{Drop: true, LoadBalanceToken: "all"})
	for {
		if _, err := c.call(t, grpc.WaitForReady(true)); status.Convert(err).Message() == status.Convert(errDropped).Message() {
			break
		}
	}
}

func TestFallback(t *testing.T) {
	silent := newBalancerServer(t)
	silent.silent = true
	gone := newBalancerServer(t)
	gone.srv.Stop()
	a := newBackend(t)
	for name, balancers := range map[string][]string{"silent": {silent.addr}, "gone": {gone.addr}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, `{"initialFallbackTimeout": "0.05s"}`, found(balancers, a.addr))
			c.reaches(t, a.addr)
			if len(a.tokens) != 0 {
				t.Errorf("%q", a.tokens)
			}
		})
	}
}

// TestFallbackAndBack: a load balancer may ask for the fallback, and end it with a list.
func TestFallbackAndBack(t *testing.T) {
	lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}, b.addr))
	c.cc.Connect()
	st := lb.stream(t)
	for range 2 {
		st.list(t, a.server("ta"))
		c.reaches(t, a.addr)
		if err := st.Send(&lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_FallbackResponse{}}); err != nil {
			t.Fatal(err)
		}
		c.reaches(t, b.addr)
	}
}

// TestLost: the list outlives its load balancer, as long as its servers work.
func TestLost(t *testing.T) {
	lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}, b.addr))
	c.cc.Connect()
	st := lb.stream(t)
	st.list(t, a.server("ta"))
	c.reaches(t, a.addr)
	lb.srv.Stop()
	for range 20 {
		if addr, err := c.call(t); addr != a.addr {
			t.Fatalf("%s, %v", addr, err)
		}
	}
	a.srv.Stop()
	c.reaches(t, b.addr)
}

// TestStreamEnds: the next stream follows, and its list counts.
func TestStreamEnds(t *testing.T) {
	lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	st.list(t, a.server("ta"))
	c.reaches(t, a.addr)
	st.end <- status.Error(codes.Internal, "broken")
	st = lb.stream(t)
	st.list(t, b.server("tb"))
	c.reaches(t, b.addr)
}

// TestNotALoadBalancer: a server that speaks something else leaves the fallback.
func TestNotALoadBalancer(t *testing.T) {
	a := newBackend(t)
	c := newClient(t, "{}", found([]string{a.addr}, a.addr)) // codes.Unimplemented
	c.reaches(t, a.addr)
}

func TestBadServers(t *testing.T) {
	lb, a := newBalancerServer(t), newBackend(t)
	c := newClient(t, "{}", found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	st.list(t, &lbpb.Server{IpAddress: []byte{1, 2, 3}, Port: 1}, &lbpb.Server{IpAddress: []byte{127, 0, 0, 1}, Port: 70000}, &lbpb.Server{}, a.server("a\nb"))
	c.reaches(t, a.addr)
	if len(a.tokens) > 0 && a.lastToken() != "" {
		t.Errorf("%q", a.tokens)
	}
}

func TestNoAddresses(t *testing.T) {
	c := newClient(t, "{}", found(nil))
	if _, err := c.call(t); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

func TestCloseWhileBusy(t *testing.T) {
	lb, a := newBalancerServer(t), newBackend(t)
	for range 5 {
		c := newClient(t, "{}", found([]string{lb.addr}, a.addr))
		c.cc.Connect()
		st := lb.stream(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 50 {
				if st.Send(&lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_ServerList{
					ServerList: &lbpb.ServerList{Servers: slices.Repeat([]*lbpb.Server{a.server("t")}, 1+i%3)},
				}}) == io.EOF {
					return
				}
			}
		})
		c.reaches(t, a.addr)
		c.cc.Close()
		wg.Wait()
	}
}
