// SPDX-License-Identifier: Apache-2.0

package goleak

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/emptypb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const method = "/a.B/C"

// patience is how long goroutines may take to end. They end within a tenth of a second, for which goleak's own
// patience (half a second) is enough, unless the machine has other work.
const patience = 5 * time.Second

// find is goleak.Find with patience.
func find(opts ...goleak.Option) (err error) {
	for late := time.Now().Add(patience); ; {
		if err = goleak.Find(opts...); err == nil || time.Now().After(late) {
			return err
		}
	}
}

// carrier is a way that connections take.
type carrier struct {
	listen func(t *testing.T) net.Listener
	secure bool
	server []grpc.ServerOption
	dial   []grpc.DialOption
}

func tcp(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var carriers = map[string]carrier{
	"TCP": {listen: tcp},
	"TLS": {listen: tcp, secure: true},
	"a unix socket": {listen: func(t *testing.T) net.Listener {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}},
	"bufconn":         {listen: func(*testing.T) net.Listener { return bufconn.Listen(1 << 16) }},
	"stream workers":  {listen: tcp, server: []grpc.ServerOption{grpc.NumStreamWorkers(4)}},
	"keepalive":       {listen: tcp, dial: []grpc.DialOption{grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Hour})}},
	"round_robin":     {listen: tcp, dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`)}},
	"an idle timeout": {listen: tcp, dial: []grpc.DialOption{grpc.WithIdleTimeout(time.Hour)}},
}

// certificate is one for "test", and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// echo returns what it receives.
func echo(_ any, s grpc.ServerStream) error {
	for {
		m := new(emptypb.Empty)
		if err := s.RecvMsg(m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

// start starts a server and some channels to it.
func (c carrier) start(t *testing.T, channels int) (s *grpc.Server, ccs []*grpc.ClientConn) {
	t.Helper()
	opts, creds := c.server, insecure.NewCredentials()
	if c.secure {
		cert, pool := certificate(t)
		opts = append(opts[:len(opts):len(opts)], grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		creds = credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "test"})
	}
	s = grpc.NewServer(append(opts[:len(opts):len(opts)], grpc.UnknownServiceHandler(echo))...)
	l := c.listen(t)
	go func() { _ = s.Serve(l) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		if b, is := l.(*bufconn.Listener); is {
			return b.DialContext(ctx)
		}
		return new(net.Dialer).DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}
	for range channels {
		cc, err := grpc.NewClient("passthrough:///test", append(c.dial[:len(c.dial):len(c.dial)], grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial))...)
		if err != nil {
			t.Fatal(err)
		}
		ccs = append(ccs, cc)
	}
	return s, ccs
}

// burst makes calls and streams on all channels; some are canceled.
func burst(t *testing.T, ccs []*grpc.ClientConn) {
	t.Helper()
	var wg sync.WaitGroup
	for _, cc := range ccs {
		for i := range 20 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if err := cc.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
					t.Error(err)
				}
				s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.SendMsg(&emptypb.Empty{}); err != nil {
					t.Error(err)
				}
				if err := s.RecvMsg(&emptypb.Empty{}); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					return // canceled
				}
				if err := s.CloseSend(); err != nil {
					t.Error(err)
				}
				if err := s.RecvMsg(&emptypb.Empty{}); err != io.EOF {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

// TestNothingIsLeft: once channels are closed and the server is stopped, goleak finds nothing that
// was not there before, by its default options.
func TestNothingIsLeft(t *testing.T) {
	for name, c := range carriers {
		for _, graceful := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				before, began := goleak.IgnoreCurrent(), runtime.NumGoroutine()
				s, ccs := c.start(t, 5)
				burst(t, ccs)
				for _, cc := range ccs {
					if err := cc.Close(); err != nil {
						t.Error(err)
					}
				}
				if graceful {
					s.GracefulStop()
				} else {
					s.Stop()
				}
				if err := find(before); err != nil {
					t.Error(err)
				}
				if n := goroutines(began); n > began {
					t.Errorf("%d goroutines, there were %d before", n, began)
				}
			})
		}
	}
}

// TestConnectionsStayOpen: with connections open, goroutines of a burst end but for the pollers,
// which README names for goleak.
func TestConnectionsStayOpen(t *testing.T) {
	s, ccs := carriers["TCP"].start(t, 5)
	defer s.Stop()
	burst(t, ccs)
	if err := find(
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/park.(*poller).serve"),
		goleak.IgnoreAnyFunction("google.golang.org/grpc.(*Server).Serve"),
	); err != nil {
		t.Error(err)
	}
	for _, cc := range ccs {
		if err := cc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// goroutines waits for there to be no more than so many, as long as leak tests do.
func goroutines(want int) int {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > want {
		select {
		case <-timer.C:
			return runtime.NumGoroutine()
		case <-tick.C:
		}
	}
	return runtime.NumGoroutine()
}
