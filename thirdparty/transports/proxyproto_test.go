// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/pires/go-proxyproto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

// TestProxyProtocol has connections begin with the address that a proxy saw.
func TestProxyProtocol(t *testing.T) {
	for name, version := range map[string]byte{"text": 1, "binary": 2} {
		t.Run(name, func(t *testing.T) {
			testLink(t, func(t *testing.T) link { return openProxied(t, version) })
		})
	}
	t.Run("TLS", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := newTLS(t, "h2")
			l := openProxied(t, 2)
			l.client, l.server = credentials.NewTLS(client), credentials.NewTLS(server)
			return l
		})
	})
}

// proxied is the client's address that the header has.
var proxied = netip.MustParseAddrPort("192.0.2.7:4711")

// TestProxyProtocolPeer wants the handler to see the address of the header.
func TestProxyProtocolPeer(t *testing.T) {
	l := openProxied(t, 2)
	seen := make(chan net.Addr, 1)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		p, _ := peer.FromContext(ctx)
		seen <- p.Addr
		return &testpb.Empty{}, nil
	}))
	testpb.RegisterTestServiceServer(s, testpb.UnimplementedTestServiceServer{})
	go s.Serve(l.lis)
	t.Cleanup(s.Stop)
	if _, err := testpb.NewTestServiceClient(l.connect(t)).EmptyCall(testContext(t), &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	if got := (<-seen).String(); got != proxied.String() {
		t.Errorf("the peer is %v, want %v", got, proxied)
	}
}

func openProxied(t *testing.T, version byte) link {
	base := listen(t)
	return link{
		lis: &proxyproto.Listener{Listener: base},
		dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := dialer(base)(ctx)
			if err != nil {
				return nil, err
			}
			header := proxyproto.HeaderProxyFromAddrs(version, net.TCPAddrFromAddrPort(proxied), base.Addr())
			if _, err := header.WriteTo(conn); err != nil {
				conn.Close()
				return nil, err
			}
			return conn, nil
		},
	}
}
