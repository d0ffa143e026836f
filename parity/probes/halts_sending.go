// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// releases are what ends the wait of a client that has no room for its message.
var releases = []answer{
	{"nothing", func(*rig.Raw, rig.Request) {}},
	{"RST CANCEL", func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, http2.ErrCodeCancel) }},
	{"RST NO_ERROR", func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, http2.ErrCodeNo) }},
	{"trailers only", headers(true, ok("grpc-status", "5")...)},
	{"trailers", full(ok(), nil, "grpc-status", "9")},
	{"OK", full(ok(), reply, "grpc-status", "0")},
	{"OK, RST NO_ERROR", func(r *rig.Raw, req rig.Request) {
		full(ok(), reply, "grpc-status", "0")(r, req)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeNo)
	}},
	{"GOAWAY after it", func(r *rig.Raw, req rig.Request) { _ = r.WriteGoAway(req.ID, http2.ErrCodeNo, nil) }},
	{"GOAWAY of an error, close", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteGoAway(req.ID, http2.ErrCodeInternal, []byte("broken"))
		_ = r.Close()
	}},
	{"close", func(r *rig.Raw, _ rig.Request) { _ = r.Close() }},
	{"half of the room", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteWindowUpdate(0, 1<<20)
		_ = r.WriteWindowUpdate(req.ID, 100_000)
	}},
	{"SETTINGS with a window", func(r *rig.Raw, _ rig.Request) {
		_ = r.WriteWindowUpdate(0, 1<<20)
		_ = r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	}},
}

// sendingProbes have a client send more than its peer has room for.
func sendingProbes() []probe.Probe {
	var out []probe.Probe
	for _, release := range releases {
		for _, kind := range []string{"unary", "ClientStream", "Bidi"} {
			out = append(out, probe.Probe{Name: "sending/" + release.name + "/" + kind, Run: func(p *probe.P) {
				addr := rig.RawServerSettings(p, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 10}}, func(r *rig.Raw) {
					for {
						req, err := r.Accept()
						if err != nil {
							return
						}
						stop := r.UntilQuiet(moment * 3 / 2) // the client waits then
						for err == nil {
							_, err = r.Next()
						}
						stop()
						release.do(r, req)
					}
				})
				cc := readyTo(p, addr)
				probe.Settle(moment / 4) // for the SETTINGS
				ctx, cancel := probe.WithTimeout(p.Context(), 5*moment)
				defer cancel()
				sendTooMuch(ctx, p, cc, kind)
			}})
		}
	}
	return out
}

func sendTooMuch(ctx context.Context, p *probe.P, cc *grpc.ClientConn, kind string) {
	big := rig.M(strings.Repeat("x", 200_000))
	if kind == "unary" {
		wait := within(p, "Invoke", func() string {
			out := new(rig.Msg)
			err := cc.Invoke(ctx, rig.Unary, big, out)
			return out.GetValue() + " " + rig.Err(err)
		})
		wait()
		return
	}
	desc, method := rig.BidiDesc, rig.Bidi
	if kind == "ClientStream" {
		desc, method = rig.ClientStreamDesc, rig.ClientStream
	}
	stream, err := cc.NewStream(ctx, desc, method)
	if err != nil {
		p.Printf("NewStream: %s", rig.Err(err))
		return
	}
	// One message is queued whatever room there is.
	p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(big)))
	wait := within(p, "SendMsg", func() string { return rig.Err(stream.SendMsg(big)) })
	wait()
	p.Printf("RecvMsg: %s", receive(stream)())
	p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("x"))))
	p.Printf("RecvMsg: %s", receive(stream)())
}
