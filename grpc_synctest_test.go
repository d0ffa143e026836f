// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// TestInSynctestBubbles has clients and servers in bubbles of testing/synctest,
// one after the other and beside calls outside of any: what the process shares
// must not leak from one into the other.
func TestInSynctestBubbles(t *testing.T) {
	outside := startHealth(t)
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			c := startHealth(t)
			for range 10 {
				if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // of the fake clock
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			w, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Recv(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Recv(); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("a watch without news ended with %v", err)
			}
		})
		if _, err := outside.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeepalivesAreCounted reads them where channelz shows them (gRFC A14).
func TestKeepalivesAreCounted(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	synctest.Test(t, func(t *testing.T) {
		cc := dialHealth(t, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, PermitWithoutStream: true}))
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(35 * time.Second)
		top, _ := channelz.TopChannels(channelz.Page{})
		sub, _ := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
		if n := channelz.SocketByID(sub.Sockets[0].ID).Data().KeepAlivesSent; n != 3 {
			t.Errorf("%d PINGs in 35 s", n)
		}
	})
}

func startHealth(t *testing.T) healthpb.HealthClient {
	return healthpb.NewHealthClient(dialHealth(t))
}

// dialHealth has the channel to a server that checks health, in memory.
func dialHealth(t *testing.T, opts ...grpc.DialOption) *grpc.ClientConn {
	lis := bufconn.Listen(64 << 10)
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(lis)
	t.Cleanup(s.Stop)
	return dialBubble(t, lis, opts...)
}

// dialBubble has a channel to lis, for tests in a bubble.
func dialBubble(t *testing.T, lis *bufconn.Listener, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	cc, err := grpc.NewClient("passthrough:///bubble", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}
