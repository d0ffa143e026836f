// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/limits"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// all is a server that has all options of the experimental packages, and interceptors of a program.
type all struct {
	*testservice.Service
	control servercontrol.Control
	limiter *limits.Limiter
	panics  chan experimental.Panic
	states  chan connectivity.State // of its channels
}

// wrappedServer and wrappedClient are streams that interceptors have wrapped.
type (
	wrappedServer struct{ grpc.ServerStream }
	wrappedClient struct{ grpc.ClientStream }
	derived       struct{}
)

func (w wrappedServer) Context() context.Context {
	return context.WithValue(w.ServerStream.Context(), derived{}, 1)
}

// server returns the options of a server.
func (a *all) server() []grpc.ServerOption {
	a.limiter = limits.New(limits.Limits{Connections: 10, ConnectionsPerAddress: 10, RPCs: 10, BytesHeld: 1 << 30})
	a.panics, a.states = make(chan experimental.Panic, 9), make(chan connectivity.State, 99)
	return []grpc.ServerOption{
		a.control.Option(), a.limiter.Option(),
		grpc.ChainStreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			return h(srv, wrappedServer{st})
		}),
		flowcontrol.MaxSendWait(50 * time.Millisecond), flowcontrol.MaxEndWait(time.Minute),
		experimental.TCPProbes(net.KeepAliveConfig{Enable: true, Idle: time.Minute}),
		experimental.RecoverPanics(func(_ context.Context, p experimental.Panic) error { a.panics <- p; return nil }),
	}
}

// client returns the options of a channel.
func (a *all) client() []grpc.DialOption {
	return append([]grpc.DialOption{
		experimental.WithContextErrors(), experimental.WithStableAfter(time.Nanosecond), experimental.WithResolveInterval(time.Hour),
		experimental.WithTCPProbes(net.KeepAliveConfig{Enable: true, Idle: time.Minute}),
		flowcontrol.WithMaxSendWait(time.Minute),
		connect.OnState(func(s connectivity.State, _ error) { a.states <- s }),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			st, err := next(ctx, desc, cc, method, opts...)
			if err != nil {
				return nil, err
			}
			return wrappedClient{st}, nil
		}),
	}, grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(1<<20))
}

// carriers are how a client can reach a server.
var carriers = []string{"tcp", "bufconn", "net/http"}

func (a *all) start(t *testing.T, carrier string, f *testservice.Functions) testpb.TestServiceClient {
	opts, dial := a.server(), a.client()
	switch carrier {
	case "tcp":
		a.Service = testservice.Start(t, f, opts...)
	case "bufconn":
		lis := bufconn.Listen(1 << 16)
		a.Service = testservice.StartOn(t, lis, f, opts...)
		dial = append(dial, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	default:
		a.Service = testservice.StartHTTP(t, f, opts...)
	}
	cc, client := a.Dial(t, dial...)
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Fatal(err)
	}
	return client
}

// All wishes work together, over all carriers, and beside interceptors that wrap streams and contexts.
func TestWishesTogether(t *testing.T) {
	for _, carrier := range carriers {
		t.Run(carrier, func(t *testing.T) {
			a := new(all)
			says := func(st testservice.Duplex) error {
				switch req, err := st.Recv(); {
				case err != nil:
					return err
				case req.GetPayload() == nil:
					panic("no payload")
				}
				if carrier != "net/http" && drain.Done(st.Context()) == nil || !flowcontrol.HasRoom(st) {
					return errors.New("the stream is not known to package drain or flowcontrol")
				}
				_ = st.Send(&testpb.StreamingOutputCallResponse{})
				select {
				case <-drain.Done(st.Context()):
					return status.Error(codes.Unavailable, "drained")
				case <-st.Context().Done():
					return nil
				}
			}
			client := a.start(t, carrier, &testservice.Functions{Stream: says})
			for _, want := range []connectivity.State{connectivity.Connecting, connectivity.Ready} {
				if got := testservice.Await(t, a.states, "a state"); got != want {
					t.Errorf("the channel is %v, want %v", got, want)
				}
			}
			ctx, cancel := context.WithCancelCause(testservice.Context(t))
			cause := errors.New("enough")
			cancelled, drained, panicked := a.open(ctx, t, client, true), a.open(testservice.Context(t), t, client, true), a.open(ctx, t, client, false)
			if _, err := panicked.Recv(); status.Code(err) != codes.Internal {
				t.Errorf("the stream whose handler panicked ended with %v", err)
			}
			testservice.Await(t, a.panics, "the panic")
			if !flowcontrol.HasRoom(drained) {
				t.Error("the client's stream has no room")
			}
			a.lists(t, carrier, 2)
			cancel(cause)
			if _, err := cancelled.Recv(); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("the stream that was cancelled ended with %v", err)
			}
			if err := a.control.GracefulStop(testservice.Context(t)); err != nil {
				t.Error(err)
			}
			if _, err := drained.Recv(); status.Convert(err).Message() != "drained" {
				t.Errorf("the stream that was drained ended with %v", err)
			}
		})
	}
}

// open opens a stream; its handler has sent something if it gets a payload.
func (a *all) open(ctx context.Context, t *testing.T, client testpb.TestServiceClient, payload bool) testservice.DuplexClient {
	t.Helper()
	st, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	req := new(testpb.StreamingOutputCallRequest)
	if payload {
		req.Payload = new(testpb.Payload)
	}
	if err := st.Send(req); err != nil {
		t.Fatal(err)
	}
	if !payload {
		return st
	}
	if _, err := st.Recv(); err != nil {
		t.Fatal(err)
	}
	return st
}

// lists checks that n RPCs are listed and counted; another one may be about to end.
func (a *all) lists(t *testing.T, carrier string, n int) {
	t.Helper()
	ctx := testservice.Context(t)
	for len(a.control.RPCs()) != n || a.limiter.Usage().RPCs != n {
		if ctx.Err() != nil {
			t.Fatalf("%v are listed, the usage is %+v", a.control.RPCs(), a.limiter.Usage())
		}
	}
	conns := 1
	if carrier == "net/http" {
		conns = 0
	}
	if got := len(a.control.Conns()); got != conns || a.limiter.Usage().Connections != conns {
		t.Errorf("%d connections are listed, the usage is %+v", got, a.limiter.Usage())
	}
}

// A Send that waits for too long ends the stream below interceptors that wrap it; behind net/http
// nothing is bound, and there is room.
func TestMaxSendWaitBelowInterceptors(t *testing.T) {
	for _, carrier := range []string{"tcp", "bufconn"} {
		t.Run(carrier, func(t *testing.T) {
			a, sent := new(all), make(chan error, 1)
			client := a.start(t, carrier, &testservice.Functions{Stream: func(st testservice.Duplex) error {
				for {
					if err := st.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: make([]byte, 64<<10)}}); err != nil {
						sent <- err
						return nil
					}
				}
			}})
			if _, err := client.FullDuplexCall(testservice.Context(t)); err != nil {
				t.Fatal(err)
			}
			if err := testservice.Await(t, sent, "the end of Send"); status.Code(err) != codes.ResourceExhausted {
				t.Error(err)
			}
		})
	}
}

const (
	retries = `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":%q,"maxBackoff":%[1]q,"backoffMultiplier":1,"retryableStatusCodes":["INTERNAL","RESOURCE_EXHAUSTED"]}}]}`
	hedges  = `{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":3,"hedgingDelay":"0.001s"}}]}`
)

// What an attempt ends with is retried as the service config says: panics and refusals, too.
func TestRetriesOfWhatOptionsEnd(t *testing.T) {
	a := new(all)
	var calls atomic.Int32
	a.Service = testservice.Start(t, &testservice.Functions{Empty: func(context.Context) error {
		if calls.Add(1) < 3 {
			panic("not yet")
		}
		return nil
	}}, a.server()...)
	_, client := a.Dial(t, append(a.client(), grpc.WithDefaultServiceConfig(fmt.Sprintf(retries, "0.001s")))...)
	if _, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil || len(a.panics) != 2 {
		t.Errorf("%v after %d panics", err, len(a.panics))
	}

	limiter := limits.New(limits.Limits{RPCs: 1})
	held := make(chan struct{})
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		_ = st.Send(&testpb.StreamingOutputCallResponse{})
		<-held
		return nil
	}}, limiter.Option())
	_, client = s.Dial(t, grpc.WithDefaultServiceConfig(fmt.Sprintf(retries, "0.001s")))
	testservice.Begin(t, client)
	_, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{})
	if u := limiter.Usage(); status.Code(err) != codes.ResourceExhausted || u.RefusedRPCs != 3 {
		t.Errorf("%v, the usage is %+v", err, u)
	}
	close(held)
}

// An RPC that is cancelled between two attempts, or while several run, ends with a context error; its
// attempts are RPCs of their own at the server.
func TestContextErrorsOfSeveralAttempts(t *testing.T) {
	cause := errors.New("enough")
	for name, config := range map[string]string{"retry": fmt.Sprintf(retries, "100s"), "hedging": hedges} {
		t.Run(name, func(t *testing.T) {
			a := new(all)
			ctx, cancel := context.WithCancelCause(testservice.Context(t))
			var once sync.Once
			a.Service = testservice.Start(t, &testservice.Functions{Empty: func(ctx context.Context) error {
				if name == "retry" {
					once.Do(func() { time.AfterFunc(20*time.Millisecond, func() { cancel(cause) }) })
					return status.Error(codes.Internal, "again")
				}
				if len(a.control.RPCs()) == 3 {
					once.Do(func() { cancel(cause) })
				}
				<-ctx.Done()
				return nil
			}}, a.server()...)
			_, client := a.Dial(t, append(a.client(), grpc.WithDefaultServiceConfig(config))...)
			_, err := client.EmptyCall(ctx, &testpb.Empty{})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || status.Code(err) != codes.Canceled {
				t.Errorf("the RPC ended with %v", err)
			}
		})
	}
}

// A stream that was retried is asked about its drain and its room as any other.
func TestDrainAndRoomAfterARetry(t *testing.T) {
	var attempts atomic.Int32
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		if attempts.Add(1) < 3 {
			return status.Error(codes.Internal, "again")
		}
		_ = st.Send(&testpb.StreamingOutputCallResponse{})
		<-drain.Done(st.Context())
		return nil
	}})
	_, client := s.Dial(t, grpc.WithDefaultServiceConfig(fmt.Sprintf(retries, "0.001s")))
	st := testservice.Begin(t, client)
	told := drain.Client(st)
	if told == nil || !flowcontrol.HasRoom(st) || flowcontrol.WaitForRoom(testservice.Context(t), st) != nil {
		t.Error("the stream is not known")
	}
	s.GracefulStop()
	testservice.Await(t, told, "GOAWAY")
}
