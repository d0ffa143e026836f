// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// awaitDrained waits until the channel has no connection that takes calls.
func (v *vanishing) awaitDrained() {
	v.Helper()
	if !v.cc.WaitForStateChange(testContext(v), connectivity.Ready) {
		v.Fatal("the channel is READY")
	}
}

// unavailable fails unless err is UNAVAILABLE, and says what it should.
func (v *vanishing) unavailable(err error, says string) {
	v.Helper()
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), says) {
		v.Errorf("%v, want UNAVAILABLE: %s", err, says)
	}
}

// awaitsEnd is a service whose unary calls wait for their end.
func awaitsEnd(v *vanishing) *echo {
	e := receives(v)
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if m.Value == "wait" {
			v.entered <- struct{}{}
			<-ctx.Done()
		}
		return m, nil
	}
	return e
}

// Clients with keepalive notice that the server vanished: what they sent is acknowledged within the
// Timeout (gRFC A18), and while they wait, they ask after Time, which is 10 s at least (gRFC A8).
func TestClientNoticesVanishedServer(t *testing.T) {
	asks := WithKeepaliveParams(keepalive.ClientParameters{Timeout: time.Second})
	always := WithKeepaliveParams(keepalive.ClientParameters{Timeout: time.Second, PermitWithoutStream: true})
	const (
		byPing = 11 * time.Second // since the last input
		noPong = "keepalive ping failed to receive ACK within timeout"
		lost   = "connection timed out"
	)
	receiving := func(v *vanishing, says string) {
		s := v.upToServer(v.Context())
		if says != noPong {
			go v.server.GracefulStop()
			v.awaitDrained()
		}
		v.quiet()
		v.down()
		v.unavailable(s.RecvMsg(new(text)), says)
		v.within(byPing)
	}
	runVanishing(t, []vanishCase{
		{name: "a unary call that waits", long: true, client: []DialOption{asks}, echo: awaitsEnd, run: func(v *vanishing) {
			done := make(chan error, 1)
			go func() { done <- call(v.Context(), v.cc, "wait") }()
			await(v, "the handler", v.entered)
			v.quiet()
			v.down()
			v.unavailable(await(v, "the call", done), noPong)
			v.within(byPing)
		}},
		{name: "a unary call on a parked connection", client: []DialOption{asks}, run: func(v *vanishing) {
			v.quiet() // it parks after less
			v.down()
			v.unavailable(call(v.Context(), v.cc, "after"), lost)
			v.within(time.Second)
		}},
		{name: "a stream that sends", client: []DialOption{asks}, echo: receives, run: func(v *vanishing) {
			s := v.upToServer(v.Context())
			v.down()
			for s.SendMsg(&text{Value: string(make([]byte, 1000))}) == nil { // the window ends it, if nothing else
			}
			err, says := s.RecvMsg(new(text)), lost
			if strings.HasSuffix(err.Error(), "EOF") {
				says = "error reading from server" // the system says its reason once, and has said it to a write
			}
			v.unavailable(err, says)
			v.within(time.Second)
		}},
		{name: "a stream that receives", long: true, client: []DialOption{asks}, echo: receives, run: func(v *vanishing) { receiving(v, noPong) }},
		{name: "drained", long: true, client: []DialOption{asks}, echo: receives, run: func(v *vanishing) { receiving(v, "received prior goaway") }},
		{name: "idle", long: true, client: []DialOption{always}, run: func(v *vanishing) {
			v.down()
			v.awaitDrained()
			v.within(byPing)
		}},
		{name: "idle without keepalive", run: func(v *vanishing) {
			v.down()
			ctx, cancel := context.WithTimeout(v.Context(), 2*time.Second)
			defer cancel()
			if err := call(ctx, v.cc, "lost"); status.Code(err) != codes.DeadlineExceeded {
				v.Error(err)
			}
			if state := v.cc.GetState(); state != connectivity.Ready {
				v.Error(state)
			}
			v.path.Up()
			if err := call(testContext(v), v.cc, "again"); err != nil {
				v.Error(err)
			}
		}},
		{name: "a handshake", early: true, client: []DialOption{WithConnectParams(ConnectParams{
			Backoff: backoff.DefaultConfig, MinConnectTimeout: time.Second,
		})}, run: func(v *vanishing) {
			v.cc.Connect()
			// On a machine that does much else an attempt may fail before there is a TCP connection.
			for state := v.cc.GetState(); state != connectivity.TransientFailure || v.cut.Load() == 0; state = v.cc.GetState() {
				if !v.cc.WaitForStateChange(testContext(v), state) {
					v.Fatal(state)
				}
			}
			v.within(time.Second)
			v.unavailable(call(testContext(v), v.cc, "x"), "")
		}},
	})
}
