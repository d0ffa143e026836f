// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// upToServer opens a stream and waits until its handler runs.
func (v *vanishing) upToServer(ctx context.Context) ClientStream {
	v.Helper()
	s, err := v.cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		v.Fatal(err)
	}
	if err := s.SendMsg(&text{Value: "first"}); err != nil {
		v.Fatal(err)
	}
	await(v, "the handler", v.entered)
	return s
}

// receives is a service whose streams wait for messages, and say how they ended.
func receives(v *vanishing) *echo {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		m := new(text)
		err := ss.RecvMsg(m)
		v.entered <- struct{}{}
		for err == nil {
			err = ss.RecvMsg(m)
		}
		v.left <- err
		return err
	}
	return e
}

// sends is a service whose streams, once the link is down, send until they can't. If they sent before,
// everything might be acknowledged, and the window used up, when the link goes down. Then nothing would be
// on its way, which only TCP's own keepalive notices.
func sends(v *vanishing) *echo {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		err := ss.RecvMsg(new(text))
		v.entered <- struct{}{}
		select {
		case <-v.isDown:
		case <-ss.Context().Done():
		}
		for err == nil {
			err = ss.SendMsg(&text{Value: string(make([]byte, 1000))})
		}
		v.left <- err
		return err
	}
	return e
}

// Servers notice that a client vanished: what they sent is acknowledged within the keepalive
// Timeout (gRFC A18), and where they sent nothing, they ask after Time (gRFC A9).
func TestServerNoticesVanishedClient(t *testing.T) {
	asks := KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: time.Second})
	acknowledged := KeepaliveParams(keepalive.ServerParameters{Time: time.Hour, Timeout: time.Second})
	never := KeepaliveParams(keepalive.ServerParameters{Time: math.MaxInt64})
	canceled := func(v *vanishing, err error) {
		v.Helper()
		if code := status.Code(err); code != codes.Canceled && code != codes.Unavailable {
			v.Errorf("the handler's stream ended with %v", err)
		}
	}
	sending := func(d time.Duration) func(*vanishing) {
		return func(v *vanishing) {
			v.upToServer(v.Context())
			v.down()
			close(v.isDown)
			canceled(v, await(v, "the handler", v.left))
			v.within(d)
			await(v, "the connection", v.connEnds)
		}
	}
	runVanishing(t, []vanishCase{
		{name: "a unary reply", server: []ServerOption{acknowledged}, echo: func(v *vanishing) *echo {
			e := newEcho()
			e.unary = func(_ context.Context, m *text) (*text, error) {
				if m.Value == "after" {
					v.down()
				}
				return m, nil
			}
			return e
		}, run: func(v *vanishing) {
			ctx, cancel := context.WithCancel(v.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx, v.cc, "after") }()
			await(v, "the connection", v.connEnds)
			v.within(time.Second)
			cancel()
			if err := <-done; status.Code(err) != codes.Canceled {
				v.Error(err)
			}
		}},
		{name: "a stream that sends", server: []ServerOption{acknowledged}, echo: sends, run: sending(time.Second)},
		{name: "a stream that sends, defaults", long: true, echo: sends, run: sending(20 * time.Second)},
		{name: "a stream that receives", server: []ServerOption{asks}, echo: receives, run: func(v *vanishing) {
			v.upToServer(v.Context())
			v.down()
			canceled(v, await(v, "the handler", v.left))
			v.within(time.Second)
		}},
		{name: "idle", server: []ServerOption{asks}, run: func(v *vanishing) {
			v.down()
			await(v, "the connection", v.connEnds)
			v.within(time.Second)
		}},
		{name: "idle without keepalive", server: []ServerOption{never}, run: func(v *vanishing) {
			v.down()
			notYet(v, v.connEnds, 3*time.Second)
			v.path.Up()
			if err := call(testContext(v), v.cc, "again"); err != nil {
				v.Error(err)
			}
			notYet(v, v.connEnds, time.Millisecond)
		}},
		{name: "drained", server: []ServerOption{asks}, echo: receives, run: func(v *vanishing) {
			v.upToServer(v.Context())
			stopped := make(chan struct{})
			go func() {
				v.server.GracefulStop()
				close(stopped)
			}()
			v.awaitDrained()
			v.down()
			canceled(v, await(v, "the handler", v.left))
			v.within(time.Second)
			await(v, "GracefulStop", stopped)
		}},
		{name: "a handshake", server: []ServerOption{ConnectionTimeout(time.Second)}, early: true, run: func(v *vanishing) {
			v.cc.Connect()
			await(v, "the handshake", v.closes)
			v.within(time.Second)
		}},
	})
}
