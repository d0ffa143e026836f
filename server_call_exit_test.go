// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/limits"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
)

// exitingWatch is a stats handler that leaves where it is told one event.
type exitingWatch struct {
	*recorder
	at    string
	leave func()
}

func (w exitingWatch) HandleRPC(_ context.Context, e stats.RPCStats) {
	if fmt.Sprintf("%T", e) == "*stats."+w.at {
		w.leave()
	}
}

func (w exitingWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if w.at == "TagRPC" {
		w.leave()
	}
	return ctx
}

// TestWatchThatExits: an RPC that a stats handler, or a limiter's Exempt, leaves by a panic that
// net/http recovers, is not counted for ever, and those who were told of its beginning are told of an end.
func TestWatchThatExits(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	abort := func() { panic(http.ErrAbortHandler) }
	for _, at := range []string{"Exempt", "TagRPC", "InHeader", "Begin", "OutTrailer", "End"} {
		for path, invoke := range map[string]func(context.Context, *ClientConn) error{
			"unary":  func(ctx context.Context, cc *ClientConn) error { return call(ctx, cc, "x") },
			"stream": downCall,
		} {
			t.Run(at+" "+path, func(t *testing.T) {
				watch := newRecorder()
				cfg := limits.Config{RPCs: 5}
				if at == "Exempt" {
					cfg.Exempt = func(string) bool { abort(); return false }
				}
				limiter := limits.New(cfg)
				e := newEcho()
				e.stream = func(ss ServerStream) error { return errors.Join(ss.RecvMsg(new(text)), ss.SendMsg(new(text))) }
				ts := serveHTTP(t, e, StatsHandler(watch), StatsHandler(exitingWatch{newRecorder(), at, abort}), limitsOf{limiter: limiter})
				cc := newTestClient(t, ts.addr)
				if err := invoke(testContext(t), cc); err == nil && at != "End" && at != "OutTrailer" {
					t.Error("a success")
				}
				waitUntil(t, "nothing is counted", func() bool {
					d, _ := channelz.NodeByID(channelz.Server, ts.channelz.ID())
					return d.CallsStarted == d.CallsFailed+d.CallsSucceeded && ts.running.n.Sum() == 0 && limiter.Usage().RPCs == 0
				})
				if at != "Exempt" && at != "TagRPC" && at != "InHeader" {
					within(t, watch.ended, "stats.End")
				}
			})
		}
	}
}
