// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
)

// opaque is a connection that does not show what is below it.
type opaque struct{ opaqueConn }

type opaqueConn interface{ net.Conn }

func (o opaque) Read(p []byte) (int, error)  { return o.opaqueConn.Read(p) }
func (o opaque) Write(p []byte) (int, error) { return o.opaqueConn.Write(p) }
func (opaque) NetConn() net.Conn             { return nil }

func newOpaque(c net.Conn) net.Conn { return opaque{c} }

type lockedBuffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	grown chan struct{} // if it is not nil: has a token after each Write
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.grown <- struct{}{}:
	default:
	}
	return b.b.Write(p)
}

// await returns once sub is in b n times or more often, or ctx is done, and says how often.
func (b *lockedBuffer) await(ctx context.Context, sub string, n int) int {
	for {
		got := strings.Count(b.String(), sub)
		if got >= n {
			return got
		}
		select {
		case <-b.grown:
		case <-ctx.Done():
			return got
		}
	}
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Whoever wonders why a connection is not parked finds out: in the log, in channelz, and
// in package footprint.
func TestTellsWhyNotParked(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(&log, io.Discard, io.Discard, 2))
	channelz.TurnOn()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer()
	s.RegisterService(&echoDesc, newEcho())
	go func() { _ = s.Serve(testutils.WrapListener{Listener: lis, Wrap: newOpaque}) }()
	t.Cleanup(s.Stop)
	cc := newTestClient(t, "passthrough:///"+lis.Addr().String(), WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
		c, err := net.Dial("tcp", addr)
		return opaque{c}, err
	}))
	ctx := testContext(t)
	if err := call(ctx, cc, "x"); err != nil {
		t.Fatal(err)
	}
	// The server may answer before it has logged.
	if got := log.await(ctx, "keeps a goroutine and a buffer while it is idle", 2); got != 2 {
		t.Errorf("%d lines in the log:\n%s", got, log.String())
	}
	total := 0
	for why, n := range footprint.Unparkable() {
		total += n
		if why == "" {
			t.Error("without a reason")
		}
	}
	if total != 2 {
		t.Errorf("%v", footprint.Unparkable())
	}
	for _, why := range notParkable() {
		if why == "" {
			t.Error("channelz does not say why")
		}
	}
}

// notParkable is what channelz says of the first connection of the first server and of the
// first channel.
func notParkable() (reasons [2]string) {
	servers, _ := channelz.Servers(channelz.Page{})
	accepted, _ := channelz.ServerSockets(servers[0].ID, channelz.Page{})
	top, _ := channelz.TopChannels(channelz.Page{})
	sub, _ := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
	for i, id := range []int64{accepted[0].ID, sub.Sockets[0].ID} {
		for _, o := range channelz.SocketByID(id).Data().Options {
			if o.Name == "grpc.not_parkable" {
				reasons[i] = o.Value
			}
		}
	}
	return reasons
}
