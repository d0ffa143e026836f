// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/internal/farpath"
	"google.golang.org/grpc/internal/testservice"
	"google.golang.org/grpc/internal/testutils"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// far is a client and a server with a link between them that can go down without a word.
type far struct {
	testing.TB
	path   *farpath.Path
	client testpb.TestServiceClient
	cc     *grpc.ClientConn
	ends   testservice.ConnEnds // of the server's connections
	begun  chan struct{}        // a stream's handler runs
	cut    time.Time
}

var farKinds = []string{"plain", "TLS", "wrapped"}

func newFar(t *testing.T, kind string, server []grpc.ServerOption, client []grpc.DialOption) *far {
	path, err := farpath.New(farpath.Shape{RoundTrip: time.Millisecond}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(path.Close)
	f := &far{TB: t, path: path, ends: make(testservice.ConnEnds, 9), begun: make(chan struct{}, 9)}
	lis, err := path.Far().Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	creds := []grpc.DialOption{}
	switch kind {
	case "TLS":
		cert, roots := testutils.Certificate(t)
		server = append(server, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		creds = append(creds, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "test.server")))
	case "wrapped":
		lis = keeping(lis, make(chan *net.TCPConn, 9))
	}
	s := testservice.StartOn(t, lis, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		f.begun <- struct{}{}
		<-st.Context().Done()
		return nil
	}}, append(server, grpc.StatsHandler(f.ends))...)
	s.Addr = net.JoinHostPort(path.Far().Addr().String(), port)
	dial := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := path.Near().Dial(ctx, addr)
		if err == nil && kind == "wrapped" {
			c = wrapped{c}
		}
		return c, err
	})
	f.cc, f.client = s.Dial(t, append(append(client, dial), creds...)...)
	if err := connect.Wait(testservice.Context(t), f.cc); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// quiet waits until nothing is on its way.
func (f *far) quiet() {
	var before [2]farpath.Counts
	for range 100 {
		<-time.After(150 * time.Millisecond)
		there, back := f.path.Counts()
		now := [2]farpath.Counts{there, back}
		if now == before {
			return
		}
		before = now
	}
	f.Fatal("packets come without end")
}

func (f *far) down() {
	f.path.Down()
	f.cut = time.Now()
}

// within fails unless the time since the link went down is about d.
func (f *far) within(d time.Duration) {
	f.Helper()
	if took := time.Since(f.cut); took < d/2 || took > d+8*time.Second {
		f.Errorf("noticed after %v, want about %v", took, d)
	}
}

// A peer that has vanished is noticed by the system's probes while nothing is sent, without
// keepalive, on both sides; so is one that leaves unacknowledged what was sent. The times are short of
// the 20 s that servers grant without the option.
func TestWishDeadPeersAreNoticed(t *testing.T) {
	if err := farpath.Available(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	cfg := net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 2}
	const gone = 4 * time.Second
	unavailable := func(f *far, err error) {
		f.Helper()
		if status.Code(err) != codes.Unavailable {
			f.Errorf("the RPC ended with %v", err)
		}
		f.within(gone)
	}
	var running sync.WaitGroup // side by side, as they wait most of the time
	defer running.Wait()
	for name, run := range map[string]func(t *testing.T, kind string){
		"idle, server": func(t *testing.T, kind string) {
			f := newFar(t, kind, []grpc.ServerOption{experimental.TCPProbes(cfg)}, nil)
			f.quiet() // it is parked
			f.down()
			testservice.Await(f, f.ends, "the end of the connection")
			f.within(gone)
		},
		"idle, client": func(t *testing.T, kind string) {
			f := newFar(t, kind, nil, []grpc.DialOption{experimental.WithTCPProbes(cfg)})
			f.quiet()
			f.down()
			if !f.cc.WaitForStateChange(testservice.Context(f), connectivity.Ready) {
				f.Fatal("the channel is READY")
			}
			f.within(gone)
		},
		"a stream that waits, client": func(t *testing.T, kind string) {
			f := newFar(t, kind, nil, []grpc.DialOption{experimental.WithTCPProbes(cfg)})
			st, err := f.client.FullDuplexCall(testservice.Context(f))
			if err != nil {
				f.Fatal(err)
			}
			testservice.Await(f, f.begun, "the handler")
			f.quiet()
			f.down()
			_, err = st.Recv()
			unavailable(f, err)
		},
		"a call that is lost, client": func(t *testing.T, kind string) {
			f := newFar(t, kind, nil, []grpc.DialOption{experimental.WithTCPProbes(cfg)})
			f.quiet()
			f.down()
			_, err := f.client.EmptyCall(testservice.Context(f), &testpb.Empty{})
			unavailable(f, err)
		},
		"without the option": func(t *testing.T, kind string) {
			never := net.KeepAliveConfig{}
			f := newFar(t, kind, []grpc.ServerOption{experimental.TCPProbes(never)}, []grpc.DialOption{experimental.WithTCPProbes(never)})
			f.quiet()
			f.down()
			select {
			case <-f.ends:
				f.Errorf("noticed after %v by nothing", time.Since(f.cut))
			case <-time.After(2 * gone):
			}
			if s := f.cc.GetState(); s != connectivity.Ready {
				f.Error(s)
			}
		},
	} {
		for _, kind := range farKinds {
			running.Go(func() {
				t.Run(name+", "+kind, func(t *testing.T) { run(t, kind) })
			})
		}
	}
}
