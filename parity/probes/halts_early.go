// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/binarylog"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// earlyEnds end a stream before its client has sent a message.
var earlyEnds = []answer{
	{"trailers only", headers(true, ok("grpc-status", "5", "grpc-message", "no")...)},
	{"trailers", full(ok(), nil, "grpc-status", "5", "grpc-message", "no")},
	{"OK", full(ok(), nil, "grpc-status", "0")},
	{"a message and OK", full(ok(), reply, "grpc-status", "0")},
	{"RST CANCEL", func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, http2.ErrCodeCancel) }},
	{"HTTP 503", headers(true, ":status", "503", "content-type", "text/plain")},
}

// earlyProbes have a client send the first messages of a stream that is over: what the
// functions say, and what stats handlers and the binary log are told.
func earlyProbes() []probe.Probe {
	var out []probe.Probe
	for _, end := range earlyEnds {
		for _, kind := range []struct {
			name, method string
			desc         *grpc.StreamDesc
		}{{"ServerStream", rig.ServerStream, rig.ServerStreamDesc}, {"ClientStream", rig.ClientStream, rig.ClientStreamDesc}, {"Bidi", rig.Bidi, rig.BidiDesc}} {
			out = append(out, probe.Probe{
				Name: "early/" + end.name + "/" + kind.name, Env: []string{"GRPC_BINARY_LOG_FILTER=*"},
				Run: func(p *probe.P) { sendLate(p, end, kind.desc, kind.method) },
			})
		}
	}
	return out
}

func sendLate(p *probe.P, end answer, desc *grpc.StreamDesc, method string) {
	sink := &binSink{}
	binarylog.SetSink(sink)
	addr := rig.RawServer(p, func(r *rig.Raw) {
		for {
			f, err := r.Next()
			if err != nil {
				return
			}
			if f.Header().Type == http2.FrameHeaders {
				end.do(r, rig.Request{ID: f.Header().StreamID})
			}
		}
	})
	rec := newRecorder()
	cc := readyTo(p, addr, grpc.WithStatsHandler(rec))
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	stream, err := cc.NewStream(ctx, desc, method)
	p.Printf("NewStream: %s", rig.Err(err))
	if err != nil {
		return
	}
	probe.Settle(moment) // until the end has come
	p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("q"))))
	if desc.ClientStreams {
		p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("r"))))
	}
	p.Printf("CloseSend: %s", rig.Err(stream.CloseSend()))
	for said := `"`; said[0] == '"'; {
		said = receive(stream)()
		p.Printf("RecvMsg: %s", said)
	}
	probe.Settle(moment / 4)
	rec.print(p, "stats")
	sink.print(p)
}
