// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// TestEndTellsWhatTheHandlerSaid has a client leave before the handler returns: that what
// the handler says reaches nobody is not its failure.
func TestEndTellsWhatTheHandlerSaid(t *testing.T) {
	for name, said := range map[string]error{
		"success": nil,
		"failure": status.Error(codes.Aborted, "aborted"),
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				close(began)
				<-ss.Context().Done()
				return said
			}
			watch := newRecorder()
			c := connect(t, serve(t, e, StatsHandler(watch)))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
			<-began
			r.Cancel(context.Canceled)
			told := within(t, watch.ended, "stats.End")
			if err := told[len(told)-1].(*stats.End).Error; status.Code(err) != status.Code(said) {
				t.Errorf("told %v, said %v", err, said)
			}
		})
	}
}

// TestSendHeaderAfterCancel: whoever sends headers after the client has left learns that it
// has, and not that they were sent.
func TestSendHeaderAfterCancel(t *testing.T) {
	began, result := make(chan struct{}), make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		close(began)
		<-ss.Context().Done()
		_ = ss.SendMsg(new(text))
		result <- ss.SendHeader(metadata.Pairs("a", "b"))
		return nil
	}
	c := connect(t, serve(t, e))
	r := c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
	<-began
	r.Cancel(context.Canceled)
	wantCode(t, "SendHeader", within(t, result, "SendHeader"), codes.Canceled, "context canceled")
}
