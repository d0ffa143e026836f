// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/internal/xds/resource"
)

// TestHandshakeLimit: the context of a handshake ends with the deadline, and when the connection is closed.
func TestHandshakeLimit(t *testing.T) {
	l := listener(&resource.RouteConfig{})
	defer l.Close()
	now := func(c *conn) context.Context {
		ctx, _, _ := c.XDSHandshake()
		return ctx
	}
	wantOver := func(ctx context.Context, over bool) {
		t.Helper()
		if err := ctx.Err(); (err != nil) != over {
			t.Error(err)
		}
	}
	c, _ := accept(t, l)
	wantOver(now(c), false)
	_ = c.SetDeadline(time.Now().Add(time.Hour))
	first := now(c)
	at := time.Now().Add(2 * time.Hour)
	_ = c.SetDeadline(at)
	second := now(c)
	if got, ok := second.Deadline(); !ok || !got.Equal(at) {
		t.Errorf("%v", got)
	}
	wantOver(first, true) // its timer is not needed any more
	wantOver(second, false)
	_ = c.SetDeadline(time.Time{})
	wantOver(second, true)
	wantOver(now(c), false)
	_ = c.SetDeadline(at)
	third := now(c)
	wantOver(third, false)
	c.Close()
	wantOver(third, true)
	_ = c.SetDeadline(at) // too late
	wantOver(now(c), true)
}
