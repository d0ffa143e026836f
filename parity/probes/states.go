// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// stateProbes are the channel's states.
var stateProbes = []probe.Probe{
	{Name: "state/of a good server", Run: func(p *probe.P) {
		cc := channelTo(p, server(p))
		p.Printf("%v", cc.GetState())
		cc.Connect()
		states(p, cc, connectivity.Ready)
		_ = cc.Close()
		p.Printf("%v", cc.GetState())
	}},
	{Name: "state/of nobody", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/server closes at once", Run: func(p *probe.P) {
		cc := channelTo(p, rig.ConnServer(p, func(net.Conn) {}))
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
	}},
	{Name: "state/server closes after settings", Run: func(p *probe.P) {
		seen := make(chan struct{}) // READY may be over before it is looked at
		cc := channelTo(p, rig.RawServer(p, func(*rig.Raw) { <-seen }))
		cc.Connect()
		states(p, cc, connectivity.Ready)
		close(seen)
		cc.WaitForStateChange(p.Context(), connectivity.Ready)
		states(p, cc, connectivity.Idle)
	}},
	{Name: "state/server speaks HTTP 1", Run: func(p *probe.P) {
		cc := channelTo(p, rig.ConnServer(p, func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_, _ = io.Copy(io.Discard, c) // a reset would take the answer with it
		}))
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/server sends GOAWAY after settings", Run: func(p *probe.P) {
		ended := make(chan struct{})
		cc := channelTo(p, rig.RawServer(p, func(r *rig.Raw) {
			_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
			_, _ = r.Accept()
			close(ended)
		}))
		cc.Connect()
		<-ended
		states(p, cc, connectivity.Idle)
	}},
	{Name: "state/server stops gracefully", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.GracefulStop()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", s.GetState())
	}},
	{Name: "state/server stops", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.Stop()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", s.GetState())
	}},
	{Name: "state/idle timeout", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Dial: []grpc.DialOption{grpc.WithIdleTimeout(20 * time.Millisecond)}}.Start(p)
		for range 2 {
			p.Printf("%s", call(p.Context(), s))
			states(p, s.ClientConn, connectivity.Idle)
		}
	}},
	{Name: "state/WaitForStateChange with an ended context", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		p.Printf("%v %v", cc.WaitForStateChange(ctx, connectivity.Idle), cc.WaitForStateChange(ctx, connectivity.Ready))
	}},
	{Name: "state/after Close", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		p.Printf("%v", cc.Close())
		p.Printf("%s", rig.Err(cc.Close()))
		cc.Connect()
		cc.ResetConnectBackoff()
		p.Printf("%v", cc.GetState())
		p.Printf("%s", call(p.Context(), cc))
		_, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		p.Printf("%v", cc.WaitForStateChange(p.Context(), connectivity.Ready))
	}},
	{Name: "state/Dial with block", Run: func(p *probe.P) {
		ctx, cancel := probe.WithTimeout(p.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := grpc.DialContext(ctx, "127.0.0.1:1", grpc.WithInsecure(), grpc.WithBlock())
		p.Printf("%s", rig.Err(err))
		ctx, cancel = probe.WithTimeout(p.Context(), 300*time.Millisecond) // until a connection has failed
		defer cancel()
		_, err = grpc.DialContext(ctx, "127.0.0.1:1", grpc.WithInsecure(), grpc.WithReturnConnectionError())
		p.Printf("%s", rig.Err(err))
		_, err = grpc.Dial("127.0.0.1:1", grpc.WithInsecure(), grpc.WithBlock(), grpc.WithTimeout(100*time.Millisecond))
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "state/Dial that may fail", Run: func(p *probe.P) {
		dialer := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("plain dial error") })
		ctx, cancel := probe.WithTimeout(p.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := grpc.DialContext(ctx, "x", grpc.WithInsecure(), grpc.WithBlock(), dialer, grpc.FailOnNonTempDialError(true))
		p.Printf("%s", rig.Err(err))
		ctx, cancel = probe.WithTimeout(p.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = grpc.DialContext(ctx, "x", grpc.WithInsecure(), grpc.WithBlock(), dialer, grpc.WithReturnConnectionError())
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "state/call while connecting fails", Run: func(p *probe.P) {
		ctx, cancel := probe.WithTimeout(p.Context(), 200*time.Millisecond)
		defer cancel()
		cc := channelTo(p, "127.0.0.1:1")
		p.Printf("%s", call(ctx, cc, grpc.WaitForReady(true)))
	}},
	{Name: "state/deadline before the resolver speaks", Run: func(p *probe.P) {
		ctx, cancel := probe.WithTimeout(p.Context(), 50*time.Millisecond)
		defer cancel()
		cc, _ := manualChannel(p)
		p.Printf("%s", call(ctx, cc))
	}},
	{Name: "state/deadline while connecting", Run: func(p *probe.P) {
		ctx, cancel := probe.WithTimeout(p.Context(), 50*time.Millisecond)
		defer cancel()
		block := make(chan struct{})
		p.Cleanup(func() { close(block) })
		cc := channelTo(p, rig.ConnServer(p, func(net.Conn) { <-block }))
		p.Printf("%s", call(ctx, cc))
	}},
	{Name: "state/dialer's errors", Run: func(p *probe.P) {
		for _, err := range []error{
			errors.New("plain"), status.Error(codes.PermissionDenied, "denied"), context.DeadlineExceeded, context.Canceled,
			&net.OpError{Op: "dial", Err: errors.New("op")}, fmt.Errorf("w: %w", status.Error(codes.NotFound, "nf")),
		} {
			cc := channelTo(p, "passthrough:///addr", grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, err }))
			p.Printf("%v: %s", err, call(p.Context(), cc))
		}
	}},
	{Name: "state/handshake's errors", Run: func(p *probe.P) {
		cc := channelTo(p, server(p), grpc.WithTransportCredentials(failingCreds{insecure.NewCredentials()}))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/address that a dialer gets", Run: func(p *probe.P) {
		for _, target := range []string{"passthrough:///a b", "unix:/tmp/x.sock", "unix:rel", "unix:///tmp/y", "unix-abstract:abc", "127.0.0.1:5", "dns:///127.0.0.1", "[::1]"} {
			got := make(chan string, 100)
			cc := channelTo(p, target, grpc.WithContextDialer(func(_ context.Context, a string) (net.Conn, error) {
				got <- a
				return nil, errors.New("no")
			}))
			cc.Connect()
			p.Printf("%s: %q", target, <-got)
		}
	}},
}
