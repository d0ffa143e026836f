// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
)

// counter is a stats handler that takes metrics.
type counter struct {
	estats.UnimplementedMetricsRecorder
	mu     sync.Mutex
	seen   []string
	during func(record string) // called while something is recorded; nil: nothing
}

func (*counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*counter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*counter) HandleConn(context.Context, stats.ConnStats)                       {}

func (c *counter) note(name string, n int64, labels []string) {
	c.mu.Lock()
	c.seen = append(c.seen, fmt.Sprintf("%s %+d %q", name, n, labels[1:]))
	c.mu.Unlock()
	if c.during != nil {
		c.during(fmt.Sprintf("%s %+d", name, n))
	}
}

func (c *counter) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	c.note(h.Descriptor().Name, n, labels)
}

func (c *counter) RecordInt64UpDownCount(h *estats.Int64UpDownCountHandle, n int64, labels ...string) {
	c.note(h.Descriptor().Name, n, labels)
}

// connectAndFail has cc lose its only connection and not get another, and wants to have seen it.
func (c *counter) connectAndFail(t *testing.T, s *restartable, cc *ClientConn, wants ...string) {
	t.Helper()
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	s.srv.Stop()
	awaitState(t, cc, connectivity.Idle)
	cc.Connect()
	awaitState(t, cc, connectivity.TransientFailure)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, want := range wants {
		if !slices.Contains(c.seen, want) {
			t.Errorf("no %s in %q", want, c.seen)
		}
	}
}

func TestSubchannelMetrics(t *testing.T) {
	s := newRestartable(t)
	c := &counter{}
	cc := newTestClient(t, s.addr, WithStatsHandler(c), quickBackoff)
	c.connectAndFail(t, s, cc,
		`grpc.subchannel.connection_attempts_succeeded +1 ["" ""]`,
		`grpc.subchannel.open_connections +1 ["" "NoSecurity" ""]`,
		`grpc.subchannel.open_connections -1 ["" "NoSecurity" ""]`,
		`grpc.subchannel.connection_attempts_failed +1 ["" ""]`,
	)
}

// TestSubchannelLabels: what a policy says of an address goes into the metrics.
func TestSubchannelLabels(t *testing.T) {
	s := newRestartable(t)
	c := &counter{}
	r := manual.NewBuilderWithScheme("labelled")
	r.InitialState(resolver.State{Addresses: []resolver.Address{
		backendlabel.With(resolver.Address{Addr: s.addr}, backendlabel.Labels{BackendService: "service", Locality: "here"}),
	}})
	cc := newTestClient(t, "labelled:///x", WithResolvers(r), WithStatsHandler(c), quickBackoff)
	c.connectAndFail(t, s, cc,
		`grpc.subchannel.connection_attempts_succeeded +1 ["service" "here"]`,
		`grpc.subchannel.open_connections +1 ["service" "NoSecurity" "here"]`,
		`grpc.subchannel.open_connections -1 ["service" "NoSecurity" "here"]`,
		`grpc.subchannel.connection_attempts_failed +1 ["service" "here"]`,
	)
}

// These are records of a subchannel.
const (
	madeRecord   = "grpc.subchannel.connection_attempts_succeeded +1"
	openRecord   = "grpc.subchannel.open_connections +1"
	lostRecord   = "grpc.subchannel.disconnections +1"
	goneRecord   = "grpc.subchannel.open_connections -1"
	failedRecord = "grpc.subchannel.connection_attempts_failed +1"
)

// TestRecorderUsesItsChannel: recorders are the program's, and are called without the lock of the subchannel, in order.
func TestRecorderUsesItsChannel(t *testing.T) {
	s := newRestartable(t)
	var cc *ClientConn
	var mu sync.Mutex
	var got []string
	c := &counter{during: func(record string) {
		cc.ResetConnectBackoff() // takes the lock
		mu.Lock()
		defer mu.Unlock()
		if len(got) == 0 || got[len(got)-1] != record { // failures are repeated
			got = append(got, record)
		}
	}}
	cc = newTestClient(t, s.addr, WithStatsHandler(c), quickBackoff)
	c.connectAndFail(t, s, cc)
	<-s.done
	s.start()
	if err := call(testContext(t), cc, "x", WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	cc.Close()
	mu.Lock()
	defer mu.Unlock()
	if want := []string{madeRecord, openRecord, lostRecord, goneRecord, failedRecord, madeRecord, openRecord, lostRecord, goneRecord}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// closesIn returns a counter that closes a channel within each record of a kind, and what it is told.
func closesIn(kind string, cc **ClientConn) (c *counter, records <-chan string) {
	told := make(chan string, 100)
	return &counter{during: func(record string) {
		if record == kind {
			(*cc).Close()
		}
		told <- record
	}}, told
}

// TestRecorderClosesItsChannel closes the channel from within each kind of record.
func TestRecorderClosesItsChannel(t *testing.T) {
	all := []string{madeRecord, openRecord, lostRecord, goneRecord, failedRecord}
	for i, in := range all {
		s := newRestartable(t)
		var cc *ClientConn
		c, records := closesIn(in, &cc)
		cc = newTestClient(t, s.addr, WithStatsHandler(c), quickBackoff)
		if err := call(testContext(t), cc, "x"); (err != nil) != (i < 2) {
			t.Errorf("%s: %v", in, err)
		}
		s.srv.Stop()
		if in == failedRecord {
			awaitState(t, cc, connectivity.Idle)
			cc.Connect()
		}
		for _, want := range all[:max(i+1, 4)] {
			if got := within(t, records, want); got != want {
				t.Errorf("%s: %s, want %s", in, got, want)
			}
		}
		awaitState(t, cc, connectivity.Shutdown)
	}
}

// TestRecorderExits: a recorder that ends the goroutine, as t.FailNow does, leaves the subchannel as any other does.
func TestRecorderExits(t *testing.T) {
	s := newRestartable(t)
	c := &counter{during: func(record string) {
		if record == madeRecord || record == failedRecord {
			runtime.Goexit()
		}
	}}
	c.connectAndFail(t, s, newTestClient(t, s.addr, WithStatsHandler(c), quickBackoff))
}

// TestRecorderUsesItsSubchannel does so when addresses change.
func TestRecorderUsesItsSubchannel(t *testing.T) {
	one, two := serve(t, newEcho()), serve(t, newEcho())
	var sub *oneSubchannel
	records := make(chan string, 10)
	sub = connectOne(t, one.addr, WithStatsHandler(&counter{during: func(record string) {
		if record == lostRecord {
			sub.update([]resolver.Address{{Addr: two.addr}})
		}
		records <- record
	}}))
	within(t, sub.states, "CONNECTING")
	within(t, sub.states, "READY")
	sub.update([]resolver.Address{{Addr: "b"}})
	for _, want := range []string{madeRecord, openRecord, lostRecord, goneRecord, madeRecord, openRecord} {
		if got := within(t, records, want); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// tokensAsked counts how often RPCs ask for their credentials.
type tokensAsked struct{ n atomic.Int64 }

func (c *tokensAsked) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	c.n.Add(1)
	return nil, nil
}
func (*tokensAsked) RequireTransportSecurity() bool { return false }

// TestSlowRecorder: RPCs wait while a recorder is told that the connection is lost. They do not try it
// again and again.
func TestSlowRecorder(t *testing.T) {
	s := newRestartable(t)
	asked := new(tokensAsked)
	told := make(chan error, 1)
	var cc *ClientConn
	c := &counter{during: func(record string) {
		if record == lostRecord {
			before := asked.n.Load()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			err := call(ctx, cc, "x", WaitForReady(true))
			if n := asked.n.Load() - before; n > 1 {
				err = fmt.Errorf("asked for credentials %d times", n)
			}
			told <- err
		}
	}}
	cc = newTestClient(t, s.addr, WithStatsHandler(c), WithPerRPCCredentials(asked), quickBackoff)
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	s.srv.Stop()
	wantCode(t, "meanwhile", within(t, told, "the loss"), codes.DeadlineExceeded)
}

// TestDialerExits: a dialer that ends its goroutine, as t.FailNow does, has failed.
func TestDialerExits(t *testing.T) {
	cc := newTestClient(t, "passthrough:///x", quickBackoff, WithContextDialer(func(context.Context, string) (net.Conn, error) {
		runtime.Goexit()
		return nil, nil
	}))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.Unavailable)
}

// exitingTagConn ends the goroutine that tells it of a connection.
type exitingTagConn struct{ counter }

func (*exitingTagConn) TagConn(context.Context, *stats.ConnTagInfo) context.Context {
	runtime.Goexit()
	return nil
}

// TestTagConnThatExits: the connection is closed, and the attempt to make it has failed.
func TestTagConnThatExits(t *testing.T) {
	ended := make(chan struct{}, 10)
	s := serve(t, newEcho(), StatsHandler(&endHandler{ended: func() { ended <- struct{}{} }}))
	cc := newTestClient(t, s.addr, WithStatsHandler(&exitingTagConn{}))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.Unavailable)
	within(t, ended, "the end of the connection")
}

// TestRecorderClosesInCallsOfThePolicy closes the channel from within records of connections that the policy gives up,
// or the channel as it goes idle.
func TestRecorderClosesInCallsOfThePolicy(t *testing.T) {
	one, two := serve(t, newEcho()), serve(t, newEcho())
	for name, lose := range map[string]func(r *manual.Resolver){
		"other addresses": func(r *manual.Resolver) {
			r.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: two.addr}}})
		},
		"idle mode": nil,
	} {
		for _, in := range []string{lostRecord, goneRecord} {
			var cc *ClientConn
			c, records := closesIn(in, &cc)
			r := manual.NewBuilderWithScheme("policy")
			r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: one.addr}}})
			opts := []DialOption{WithResolvers(r), WithStatsHandler(c)}
			if lose == nil {
				opts = append(opts, WithIdleTimeout(time.Millisecond))
			}
			cc = newTestClient(t, "policy:///x", opts...)
			if err := call(testContext(t), cc, "x"); err != nil {
				t.Fatal(name, err)
			}
			if lose != nil {
				lose(r)
			}
			for _, want := range []string{madeRecord, openRecord, lostRecord, goneRecord} {
				for got := ""; got != want; { // the other address may be counted meanwhile
					got = within(t, records, name+" "+want)
				}
			}
			awaitState(t, cc, connectivity.Shutdown)
		}
	}
}
