// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// connWatch notes the events of connections.
type connWatch struct {
	mu    sync.Mutex
	notes []string
}

func (w *connWatch) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, what)
}

func (w *connWatch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notes)
}

func (w *connWatch) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	if p, ok := peer.FromContext(ctx); !ok || p.Addr != i.RemoteAddr {
		w.note("no peer")
	}
	w.note("TagConn")
	return ctx
}

func (w *connWatch) HandleConn(_ context.Context, s stats.ConnStats) {
	w.note(strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."))
}

func (*connWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (*connWatch) HandleRPC(context.Context, stats.RPCStats)                       {}

// TestConnectionThatNeverSpoke: stats handlers are told of the beginning and the end of a
// connection that the server closes before its SETTINGS.
func TestConnectionThatNeverSpoke(t *testing.T) {
	lis := listen(t)
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 24))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = lis.Close() })
	w := &connWatch{}
	cc := newTestClient(t, "passthrough:///"+lis.Addr().(*net.TCPAddr).String(), WithStatsHandler(w))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.Unavailable)
	waitUntil(t, "the end is told", func() bool { return slices.Contains(w.take(), "ConnEnd") })
	if got, want := w.take()[:3], []string{"TagConn", "ConnBegin", "ConnEnd"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestNilStatsHandlersAreLogged: a nil handler is ignored, and the log says so.
func TestNilStatsHandlersAreLogged(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(io.Discard, io.Discard, &log, 2))
	newTestClient(t, "passthrough:///x", WithStatsHandler(nil))
	NewServer(StatsHandler(nil)).Stop()
	for _, want := range []string{"grpc.WithStatsHandler ClientOption", "grpc.StatsHandler ServerOption"} {
		if !strings.Contains(log.String(), "ERROR: [core] ignoring nil parameter in "+want) {
			t.Errorf("the log does not name %s: %q", want, log.String())
		}
	}
}
