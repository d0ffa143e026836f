// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// enforcements are what servers think of pings.
var enforcements = []struct {
	name   string
	policy *keepalive.EnforcementPolicy
}{
	{"by default", nil},
	{"zero", &keepalive.EnforcementPolicy{}},
	{"an hour", &keepalive.EnforcementPolicy{MinTime: time.Hour}},
	{"an hour, permitted", &keepalive.EnforcementPolicy{MinTime: time.Hour, PermitWithoutStream: true}},
	{"a nanosecond", &keepalive.EnforcementPolicy{MinTime: 1}},
	{"a nanosecond, permitted", &keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}},
	{"negative, permitted", &keepalive.EnforcementPolicy{MinTime: -1, PermitWithoutStream: true}},
}

// pingings are what clients do; each returns the stream whose frames are printed.
var pingings = []struct {
	name string
	do   func(*rig.Raw) uint32
}{
	{"1 ping", func(r *rig.Raw) uint32 { return pings(r, 1) }},
	{"2 pings", func(r *rig.Raw) uint32 { return pings(r, 2) }},
	{"3 pings", func(r *rig.Raw) uint32 { return pings(r, 3) }},
	{"4 pings", func(r *rig.Raw) uint32 { return pings(r, 4) }},
	{"stream, 3 pings", func(r *rig.Raw) uint32 {
		r.Headers(1, false, rig.RequestFields(":path", rig.Bidi)...)
		return pings(r, 3)
	}},
	{"stream, 4 pings", func(r *rig.Raw) uint32 {
		r.Headers(1, false, rig.RequestFields(":path", rig.Bidi)...)
		return pings(r, 4)
	}},
	{"2 pings, call, 2 pings", func(r *rig.Raw) uint32 {
		pings(r, 2)
		ask(r, 1)
		answered(r, 1)
		return pings(r, 2)
	}},
	{"2 pings, call, 3 pings", func(r *rig.Raw) uint32 {
		pings(r, 2)
		ask(r, 1)
		answered(r, 1)
		return pings(r, 3)
	}},
	{"answers alone", func(r *rig.Raw) uint32 {
		for range 10 {
			_ = r.WritePing(true, [8]byte{1})
		}
		return 0
	}},
}

func pings(r *rig.Raw, n int) uint32 {
	for range n {
		_ = r.WritePing(false, [8]byte{1})
	}
	return 0
}

// answered reads until a stream has ended.
func answered(r *rig.Raw, id uint32) {
	defer r.UntilQuiet(2 * time.Second)()
	for {
		f, err := r.Next()
		if err != nil || f.Header().StreamID == id && f.Header().Flags.Has(http2.FlagHeadersEndStream) {
			return
		}
	}
}

func keepaliveProbes() []probe.Probe {
	var out []probe.Probe
	for _, e := range enforcements {
		for _, c := range pingings {
			out = append(out, probe.Probe{Name: "keepalive/" + e.name + ", " + c.name, Run: func(p *probe.P) {
				var opts []grpc.ServerOption
				if e.policy != nil {
					opts = append(opts, grpc.KeepaliveEnforcementPolicy(*e.policy))
				}
				r := rig.RawClient(p, rig.Pair{TCP: true, Server: opts}.Serve(p).Listener.Addr().String())
				r.Print(p, c.do(r))
			}})
		}
	}
	return append(out, otherKeepaliveProbes...)
}

// pacing is a connection whose pings are looked at.
type pacing struct {
	began   time.Time     // not later than the connection
	each    time.Duration // the least time between pings, and between a ping and the end
	most    int           // how many are looked at
	answers bool
}

// soon says whether what comes after n times comes sooner than it may. Late it may always be.
func (c pacing) soon(n int) string {
	if time.Since(c.began) < time.Duration(n)*c.each {
		return ", too soon"
	}
	return ""
}

// print prints what a peer sends until there have been enough pings, or the connection has ended.
func (c pacing) print(p *probe.P, r *rig.Raw) {
	for n := 0; n < c.most; {
		f, err := r.ReadFrame()
		if err != nil {
			if e, is := err.(net.Error); is && e.Timeout() {
				p.Printf("it goes on")
				return
			}
			p.Printf("end%s", c.soon(n+1))
			return
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			n++
			p.Printf("PING ack=%v%s", f.IsAck(), c.soon(n))
			if c.answers && !f.IsAck() {
				_ = r.WritePing(true, f.Data)
			}
		case *http2.GoAwayFrame:
			p.Printf("GOAWAY %v %q last=%d", f.ErrCode, f.DebugData(), f.LastStreamID)
		case *http2.SettingsFrame, *http2.WindowUpdateFrame:
		default:
			p.Printf("%v", f.Header().Type)
		}
	}
}

var otherKeepaliveProbes = []probe.Probe{
	{Name: "keepalive/server pings an idle client", Run: func(p *probe.P) {
		for _, answer := range []bool{true, false} {
			c := pacing{began: time.Now(), each: time.Second, most: 2, answers: answer}
			r := rig.RawClient(p, rig.Pair{TCP: true, Server: []grpc.ServerOption{
				grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: time.Second}),
			}}.Serve(p).Listener.Addr().String())
			p.Printf("answers: %v", answer)
			c.print(p, r)
		}
	}},
	{Name: "keepalive/server's least time", Run: func(p *probe.P) {
		c := pacing{began: time.Now(), each: time.Second, most: 2, answers: true}
		r := rig.RawClient(p, rig.Pair{TCP: true, Server: []grpc.ServerOption{
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Millisecond, Timeout: time.Hour}),
		}}.Serve(p).Listener.Addr().String())
		c.print(p, r)
	}},
	{Name: "keepalive/server pings under a stream", Run: func(p *probe.P) {
		c := pacing{began: time.Now(), each: time.Second, most: 1, answers: true}
		r := rig.RawClient(p, rig.Pair{TCP: true, Server: []grpc.ServerOption{
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: time.Second}),
		}}.Serve(p).Listener.Addr().String())
		r.Headers(1, false, rig.RequestFields(":path", rig.Bidi)...)
		c.print(p, r)
	}},
	{Name: "keepalive/idle and old connections", Limit: 20 * time.Second, Run: func(p *probe.P) {
		for _, params := range []keepalive.ServerParameters{
			{MaxConnectionIdle: time.Second},
			{MaxConnectionAge: time.Second},
			{MaxConnectionAge: time.Second, MaxConnectionAgeGrace: time.Second},
		} {
			r := rig.RawClient(p, rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.KeepaliveParams(params)}}.Serve(p).Listener.Addr().String())
			r.Headers(1, false, rig.RequestFields(":path", rig.Bidi)...)
			stop := r.UntilQuiet(3 * time.Second)
			for err := error(nil); err == nil; {
				var f http2.Frame
				if f, err = r.Next(); err != nil {
					break
				}
				if g, is := f.(*http2.GoAwayFrame); is {
					p.Printf("GOAWAY %v %q last=%d", g.ErrCode, g.DebugData(), g.LastStreamID)
					if g.LastStreamID < 1<<30 && params.MaxConnectionAgeGrace == 0 {
						_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
					}
				}
			}
			stop()
		}
	}},
	{Name: "keepalive/client's least time", Limit: 20 * time.Second, Run: func(p *probe.P) {
		done := make(chan struct{})
		c := pacing{began: time.Now(), each: 10 * time.Second, most: 1, answers: true}
		addr := rig.RawServer(p, func(r *rig.Raw) {
			c.print(p, r)
			close(done)
		})
		cc := channelTo(p, addr, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Second, Timeout: time.Second, PermitWithoutStream: true}))
		cc.Connect()
		<-done
	}},
	{Name: "keepalive/client without streams", Limit: 20 * time.Second, Run: func(p *probe.P) {
		done := make(chan struct{})
		addr := rig.RawServer(p, func(r *rig.Raw) {
			defer close(done)
			defer r.UntilQuiet(11 * time.Second)()
			pacing{most: 1}.print(p, r)
		})
		cc := channelTo(p, addr, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: time.Second}))
		cc.Connect()
		<-done
	}},
	{Name: "keepalive/client with a stream", Limit: 20 * time.Second, Run: func(p *probe.P) {
		opened, done := make(chan struct{}), make(chan struct{})
		c := pacing{began: time.Now(), each: 10 * time.Second, most: 1, answers: true}
		addr := rig.RawServer(p, func(r *rig.Raw) {
			<-opened
			c.print(p, r)
			close(done)
		})
		cc := channelTo(p, addr, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: time.Second}))
		stream, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		close(opened)
		<-done
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{Name: "keepalive/server that does not answer", Limit: 20 * time.Second, Run: func(p *probe.P) {
		c := pacing{began: time.Now(), each: 10 * time.Second, most: 9}
		addr := rig.RawServer(p, func(r *rig.Raw) { c.print(&probe.P{}, r) })
		cc := channelTo(p, addr, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: time.Second}))
		stream, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		err = stream.RecvMsg(new(rig.Msg))
		p.Printf("%s%s", rig.Err(err), pacing{began: c.began, each: 11 * time.Second}.soon(1))
		cc.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", cc.GetState())
	}},
	{Name: "keepalive/too many pings, then a call", Run: func(p *probe.P) {
		for _, debug := range []string{"too_many_pings", "else", ""} {
			n := 0
			addr := rig.RawServer(p, func(r *rig.Raw) {
				n++
				req, _ := r.AcceptAll()
				if n == 1 {
					_ = r.WriteGoAway(req.ID, http2.ErrCodeEnhanceYourCalm, []byte(debug))
					_ = r.Close()
					return
				}
				full(ok(), reply, "grpc-status", "0")(r, req)
				_, _ = r.Accept()
			})
			cc := channelTo(p, addr, quick, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Hour, Timeout: time.Second}))
			p.Printf("%q: %s", debug, call(p.Context(), cc))
			for cc.GetState() == connectivity.Ready && cc.WaitForStateChange(p.Context(), connectivity.Ready) {
			}
			p.Printf("%s", call(p.Context(), cc))
		}
	}},
	{Name: "keepalive/parameters printed", Run: func(p *probe.P) {
		p.Printf("%s", fmt.Sprintf("%+v %+v %+v", keepalive.ClientParameters{}, keepalive.ServerParameters{}, keepalive.EnforcementPolicy{}))
	}},
}
