// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// turnEnds are what ends a stream on which one message went to and fro at a time, while each side
// waits for the next.
var turnEnds = []struct {
	name     string
	deadline time.Duration // 0: none
	end      func(p *probe.P, s *rig.Started, stream grpc.ClientStream, cancel func())
}{
	{"cancel", 0, func(_ *probe.P, _ *rig.Started, _ grpc.ClientStream, cancel func()) { cancel() }},
	{"deadline", 4 * time.Second, func(*probe.P, *rig.Started, grpc.ClientStream, func()) {}},
	{"CloseSend", 0, func(_ *probe.P, _ *rig.Started, s grpc.ClientStream, _ func()) { _ = s.CloseSend() }},
	{"an error", 0, func(_ *probe.P, _ *rig.Started, s grpc.ClientStream, _ func()) { _ = s.SendMsg(rig.M("error")) }},
	{"a panic, recovered", 0, func(_ *probe.P, _ *rig.Started, s grpc.ClientStream, _ func()) { _ = s.SendMsg(rig.M("panic")) }},
	{"Goexit elsewhere", 0, func(_ *probe.P, _ *rig.Started, s grpc.ClientStream, _ func()) { _ = s.SendMsg(rig.M("goexit")) }},
	{"a call beside", 0, func(p *probe.P, s *rig.Started, stream grpc.ClientStream, _ func()) {
		text, err := s.Call(p.Context(), "beside")
		p.Printf("%q %s", text, rig.Err(err))
		_ = stream.SendMsg(rig.M("error"))
	}},
	{"Stop", 0, func(_ *probe.P, s *rig.Started, _ grpc.ClientStream, _ func()) { s.Server.Stop() }},
	{"GracefulStop", 0, func(p *probe.P, s *rig.Started, stream grpc.ClientStream, _ func()) {
		stopped := make(chan struct{})
		go func() { defer close(stopped); s.Server.GracefulStop() }()
		p.Cleanup(func() { <-stopped })
		_ = stream.SendMsg(rig.M("error"))
	}},
	{"Close", 0, func(_ *probe.P, s *rig.Started, _ grpc.ClientStream, _ func()) { _ = s.Close() }},
}

var turnProbes = func() (all []probe.Probe) {
	for _, e := range turnEnds {
		all = append(all, probe.Probe{Name: "to and fro, then " + e.name, Limit: 16 * time.Second, Run: func(p *probe.P) {
			served := make(chan error, 1)
			handler := func(s grpc.ServerStream) (err error) {
				defer func() {
					if x := recover(); x != nil {
						err = status.Error(codes.Internal, fmt.Sprint(x))
					}
				}()
				for {
					m := new(rig.Msg)
					if err := s.RecvMsg(m); err != nil {
						served <- err
						return err
					}
					switch m.GetValue() {
					case "error":
						return status.Error(codes.Aborted, "enough")
					case "panic":
						panic("enough")
					case "goexit": // the message that follows is sent by another
						done := make(chan struct{})
						go func() {
							defer close(done)
							_ = s.SendMsg(rig.M("last"))
							runtime.Goexit()
						}()
						<-done
						return nil
					}
					if err := s.SendMsg(m); err != nil {
						return err
					}
				}
			}
			s := rig.Pair{TCP: true, Handlers: rig.Handlers{Stream: handler}}.Start(p)
			ctx, cancel := context.WithCancel(p.Context())
			defer cancel()
			if e.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, e.deadline)
				defer cancel()
			}
			stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
			if err != nil {
				panic(err)
			}
			wrong := 0
			for i := range 200 {
				want, m := fmt.Sprint(i), new(rig.Msg)
				if stream.SendMsg(rig.M(want)) != nil || stream.RecvMsg(m) != nil || m.GetValue() != want {
					wrong++
				}
			}
			p.Printf("%d wrong", wrong)
			heard := make(chan string, 1)
			go func() {
				m := new(rig.Msg)
				err := stream.RecvMsg(m)
				heard <- fmt.Sprintf("%q %s", m.GetValue(), rig.Err(err))
			}()
			<-probe.Quiet(moment / 4) // for both to wait
			start := time.Now()
			e.end(p, s, stream, cancel)
			p.Printf("%s", <-heard)
			if d := time.Since(start); d > e.deadline+moment*20 {
				p.Printf("it took long: %v", d)
			}
			p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
			if e.deadline > 0 {
				return // the server's own deadline and the client's reset run a race
			}
			select {
			case err := <-served:
				p.Printf("served: %s", rig.Err(err))
			case <-probe.Quiet(moment):
			}
		}})
	}
	return all
}()
