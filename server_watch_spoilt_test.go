// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// newSpoilt returns a service whose handlers set trailers that can't be sent, and then succeed.
func newSpoilt() *echo {
	bad := metadata.Pairs("x y", "1")
	return &echo{
		unary: func(ctx context.Context, m *text) (*text, error) {
			_ = SetTrailer(ctx, bad)
			return m, nil
		},
		stream: func(s ServerStream) error {
			s.SetTrailer(bad)
			return nil
		},
	}
}

// TestSpoiltTrailerIsTold: if the client is told of a failure because the trailers can't be sent, so are those who
// watch the server, although the handler has returned a success.
func TestSpoiltTrailerIsTold(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	for name, http := range map[string]bool{"native": false, "behind net/http": true} {
		watch, page := newRecorder(), &diary{}
		ts := serve(t, newSpoilt(), StatsHandler(watch), serverDiary{diary: page})
		s, addr := ts.Server, ts.addr
		if http {
			addr = newHTTPServer(t, s.ServeHTTP)
		}
		cc := newTestClient(t, addr)
		wantSpoilt := func(what string, err error) {
			t.Helper()
			wantCode(t, name+", "+what, err, codes.Internal, "x y")
			told := within(t, watch.ended, "stats.End")
			wantCode(t, name+", stats.End of "+what, event[*stats.End](t, told).Error, codes.Internal, "x y")
			event[*stats.OutTrailer](t, told)
		}
		ctx := testContext(t)
		wantSpoilt("unary", call(ctx, cc, "x"))
		wantSpoilt("stream", downCall(ctx, cc))
		waitUntil(t, "channelz counts the ends", func() bool {
			d, _ := channelz.NodeByID(channelz.Server, s.channelz.ID())
			return d.CallsFailed == 2 && d.CallsSucceeded == 0
		})
		page.want(t, name+", telemetry", unaryMethod+" registered=true, received 3, ends Internal",
			"/test.Echo/Down registered=true, ends Internal")
	}
}

// TestSpoiltTrailerIsLogged: the binary log has the status that the client is told.
func TestSpoiltTrailerIsLogged(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := &serverSink{ended: make(chan struct{}, 1)}
	binarylog.SetSink(sink)
	defer binarylog.SetSink(nil)
	cc := newTestClient(t, serve(t, newSpoilt()).addr)
	for name, do := range map[string]func(context.Context, *ClientConn) error{
		"unary":  func(ctx context.Context, cc *ClientConn) error { return call(ctx, cc, "x") },
		"stream": downCall,
	} {
		wantCode(t, name, do(testContext(t), cc), codes.Internal)
		entries, _ := sink.take(t)
		if c := entries[len(entries)-1].GetTrailer().GetStatusCode(); c != uint32(codes.Internal) {
			t.Errorf("%s: the log has %v", name, codes.Code(c))
		}
	}
}
