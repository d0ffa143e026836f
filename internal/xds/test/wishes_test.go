// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/proxy"
	"google.golang.org/grpc/internal/testservice"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// portOf is the port of an address.
func portOf(t *testing.T, addr string) uint32 {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(a.Port)
}

// delayed has each RPC wait for an hour, in a filter of the channel.
func delayed() types.Resource {
	return filtered("target", "r", filter("fault", &faultv3.HTTPFault{Delay: &faultcommonv3.FaultDelay{
		FaultDelaySecifier: &faultcommonv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Hour)}, Percentage: always,
	}}))
}

// TestWishContextErrorsOverXDS: wherever an RPC is when its context ends, its error says so; the timeout of
// a route is no end of the context.
func TestWishContextErrorsOverXDS(t *testing.T) {
	arrived := make(chan struct{}, 9)
	s := testservice.Start(t, &testservice.Functions{Empty: func(ctx context.Context) error {
		arrived <- struct{}{}
		<-ctx.Done()
		return nil
	}})
	c, e := cluster("c"), endpoints("c", portOf(t, s.Addr))
	cause := errors.New("enough")
	p := newPlane(t)
	p.set()
	start := func(resources ...types.Resource) testpb.TestServiceClient {
		p.set(resources...)
		return testpb.NewTestServiceClient(channel(t, []grpc.DialOption{experimental.WithContextErrors()}, p))
	}
	ends := func(name string, client testpb.TestServiceClient, stop func(cancel func())) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(testservice.Context(t))
		done := make(chan error, 1)
		go func() {
			_, err := client.EmptyCall(ctx, &testpb.Empty{})
			done <- err
		}()
		stop(func() { cancel(cause) })
		err := testservice.Await(t, done, "the end of the RPC")
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || status.Code(err) != codes.Canceled {
			t.Errorf("%s: the RPC ended with %v", name, err)
		}
	}
	ends("no resources yet", start(listener("target", "r")), func(cancel func()) { cancel() })
	ends("at the server", start(listener("target", "r"), routes(to("c")), c, e), func(cancel func()) {
		testservice.Await(t, arrived, "the RPC at the server")
		cancel()
	})

	delays := start(delayed(), routes(to("c")), c, e)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	st, err := delays.FullDuplexCall(ctx)
	if err == nil {
		_, err = st.Recv()
	}
	if !errors.Is(err, context.DeadlineExceeded) || status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the stream that a filter delays ended with %v", err)
	}

	timeout := to("c", func(r *routev3.Route) {
		r.GetRoute().MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(time.Second)}
	})
	client := start(listener("target", "r"), routes(timeout), c, e)
	_, err = client.EmptyCall(testservice.Context(t), &testpb.Empty{}, grpc.WaitForReady(true))
	if status.Code(err) != codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the route's timeout the RPC ended with %v", err)
	}
}

// TestWishRoomOverXDS: streams through the filters of a Listener have room, wait for it, bound their
// Sends, and learn that the server drains.
func TestWishRoomOverXDS(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		if err := st.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
		<-st.Context().Done()
		return nil
	}}, grpc.StaticStreamWindowSize(64<<10), grpc.StaticConnWindowSize(1<<20))
	p := newPlane(t)
	none := filter("fault", &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType: &faultv3.FaultAbort_HeaderAbort_{HeaderAbort: &faultv3.FaultAbort_HeaderAbort{}}, Percentage: always,
	}})
	p.set(filtered("target", "r", none), routes(to("c")), cluster("c"), endpoints("c", portOf(t, s.Addr)))
	big := &testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: make([]byte, 64<<10)}}
	client := testpb.NewTestServiceClient(channel(t, nil, p))
	st := testservice.Begin(t, client)
	if !flowcontrol.HasRoom(st) {
		t.Error("there is no room at the beginning")
	}
	for flowcontrol.HasRoom(st) {
		if err := st.Send(big); err != nil {
			t.Fatal(err)
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := flowcontrol.WaitForRoom(ctx, st); !errors.Is(err, cause) {
		t.Errorf("the wait for room ended with %v", err)
	}

	bound := testpb.NewTestServiceClient(channel(t, []grpc.DialOption{flowcontrol.WithMaxSendWait(50 * time.Millisecond)}, p))
	other := testservice.Begin(t, bound)
	err := error(nil)
	for err == nil {
		err = other.Send(big)
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the Send that waited ended with %v", err)
	}
	if _, err := other.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("its stream ended with %v", err)
	}
	drains := drain.Client(st)
	if drains == nil {
		t.Fatal("it is not known when the server drains")
	}
	go s.GracefulStop() // it waits for the stream; Stop ends it
	testservice.Await(t, drains, "GOAWAY")
}

// TestWishPanicsOverXDS: a panic is retried as the route says.
func TestWishPanicsOverXDS(t *testing.T) {
	panics := make(chan experimental.Panic, 9)
	var tries atomic.Int32
	s := testservice.Start(t, &testservice.Functions{Empty: func(context.Context) error {
		if tries.Add(1) < 3 {
			panic("not yet")
		}
		return nil
	}}, experimental.RecoverPanics(func(_ context.Context, p experimental.Panic) error { panics <- p; return nil }))
	p := newPlane(t)
	r := to("c", func(r *routev3.Route) {
		r.GetRoute().RetryPolicy = &routev3.RetryPolicy{
			RetryOn: "internal", NumRetries: wrapperspb.UInt32(2),
			RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(time.Millisecond)},
		}
	})
	p.set(listener("target", "r"), routes(r), cluster("c"), endpoints("c", portOf(t, s.Addr)))
	if err := empty(t, channel(t, nil, p), grpc.WaitForReady(true)); err != nil || len(panics) != 2 {
		t.Errorf("%v after %d panics", err, len(panics))
	}
}

// closing is a server that speaks HTTP/2 and closes each connection. It returns its port and how
// many it has had.
func closing(t *testing.T) (port uint32, dials *atomic.Int32) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dials = new(atomic.Int32)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_, _ = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
			_, _ = c.Read(make([]byte, 1024))
			c.Close()
		}
	}()
	t.Cleanup(func() { lis.Close(); <-served })
	return portOf(t, lis.Addr().String()), dials
}

// patient are options of a channel that backs off for an hour, also after a connection that was
// lost within a minute.
var patient = []grpc.DialOption{experimental.WithStableAfter(time.Minute), grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: time.Hour, Multiplier: 1, MaxDelay: time.Hour}, MinConnectTimeout: time.Minute,
})}

// TestWishBackOffOverXDS: a server of a cluster that accepts and closes is dialed once; if there are
// others of less priority, RPCs go there.
func TestWishBackOffOverXDS(t *testing.T) {
	for name, others := range map[string]bool{"alone": false, "priorities": true} {
		t.Run(name, func(t *testing.T) {
			port, dials := closing(t)
			p := newPlane(t)
			e := assignment("c", local("z", 0, 1, &backend{port: port}))
			if others {
				e.Endpoints = append(e.Endpoints, local("y", 1, 1, newBackend(t, "b")))
			}
			p.set(listener("target", "r"), routes(to("c")), cluster("c"), e)
			failed := make(chan error, 100)
			cc := channel(t, append(patient, connect.OnState(func(s connectivity.State, failure error) {
				if s == connectivity.TransientFailure {
					failed <- failure
				}
			})), p)
			cc.Connect()
			if others {
				becomes(t, cc, "b")
			} else if err := testservice.Await(t, failed, "the failure"); err == nil {
				t.Error("the failure has no reason")
			}
			for range 20 {
				if got, err := try(t.Context(), t, cc); others && got != "b" || !others && status.Code(err) != codes.Unavailable {
					t.Fatalf("the RPC went to %q and ended with %v", got, err)
				}
			}
			if n := dials.Load(); n != 1 {
				t.Errorf("the server was dialed %d times during the pause", n)
			}
		})
	}
}

// connecting waits for a channel with what a control plane says.
func connecting(ctx context.Context, t *testing.T, p *plane, options []connect.Option, dial ...grpc.DialOption) (*grpc.ClientConn, error) {
	t.Helper()
	cc, err := connect.NewClient(ctx, "xds:///target", options, append([]grpc.DialOption{
		grpc.WithResolvers(xdsresolver.Builder{Pool: pool(t, p)}), grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, dial...)...)
	if err == nil {
		t.Cleanup(func() { cc.Close() })
	}
	return cc, err
}

// TestWishConnectedOverXDS: a channel is connected when a server of a cluster is, and has failed when
// the control plane knows no such Listener, or no server of the cluster can be reached.
func TestWishConnectedOverXDS(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	failFast := []connect.Option{connect.FailFast()}
	p.set()
	if _, err := connecting(testservice.Context(t), t, p, failFast); err == nil || !strings.Contains(err.Error(), "target") {
		t.Errorf("without a Listener: %v", err)
	}
	p.resourceTimeout = patience
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lis.Close() // nobody is there now
	l, r, c := listener("target", "r"), routes(to("c")), cluster("c")
	p.set(l, r, c, endpoints("c", portOf(t, lis.Addr().String())))
	if _, err := connecting(testservice.Context(t), t, p, failFast); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("without a server: %v", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = connecting(ctx, t, p, nil, connect.OnState(func(s connectivity.State, _ error) {
		if s == connectivity.TransientFailure {
			cancel(cause)
		}
	}))
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("when the context has ended: %v", err)
	}

	a := newBackend(t, "a")
	p.set(l, r, c, assignment("c", local("z", 0, 1, a)))
	states := make(chan connectivity.State, 9)
	cc, err := connecting(testservice.Context(t), t, p, failFast, experimental.WithResolveInterval(time.Millisecond),
		connect.OnState(func(s connectivity.State, _ error) { states <- s }))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []connectivity.State{connectivity.Connecting, connectivity.Ready} {
		if got := testservice.Await(t, states, "a state"); got != want {
			t.Errorf("the channel is %v, want %v", got, want)
		}
	}
	until(t, p.answered)
	until(t, p.alone)
	asked := p.received()
	for range 50 {
		call(t, cc)
	}
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Error(err)
	}
	if now := p.received(); now != asked {
		t.Errorf("the control plane was asked %d times again", now-asked)
	}
}

// TestWishProxyOverXDS: the servers of a cluster are reached through the channel's proxy, and the
// control plane is not. A proxy that the control plane names for a server stands above it.
func TestWishProxyOverXDS(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	var asked, named atomic.Value
	at := newProxy(t, &asked)
	through, err := proxy.Through(&url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(at)))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster("c")
	l := local("z", 0, 1, a)
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", l))
	if got := call(t, channel(t, []grpc.DialOption{through}, p)); got != "a" || asked.Load() != a.address() {
		t.Errorf("%q, by way of %v", got, asked.Load())
	}

	asked.Store("")
	c.TransportSocket = &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.http_11_proxy",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(&proxyv3.Http11ProxyUpstreamTransport{})},
	}
	l.LbEndpoints[0].Metadata = &corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{
		"envoy.http11_proxy_transport_socket.proxy_address": mustAny(address(newProxy(t, &named))),
	}}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", l))
	withConnect := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Features.HTTPConnect = true })
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: withConnect}, through)
	if got := call(t, cc); got != "a" || named.Load() != a.address() || asked.Load() != "" {
		t.Errorf("%q, by way of %v and %v", got, named.Load(), asked.Load())
	}
}
