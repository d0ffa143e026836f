// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	_ "google.golang.org/grpc/encoding/gzip" // for what a server compresses
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// moment is how long a function may take before it counts as one that waits.
const moment = 200 * time.Millisecond

// halts are beginnings of answers after which the server sends nothing more and leaves the connection
// open.
var halts = []answer{
	{"nothing", func(*rig.Raw, rig.Request) {}},
	{"headers", headers(false, ok()...)},
	{"headers of 100", headers(false, ":status", "100")},
	{"headers without a status", headers(false, "content-type", "application/grpc")},
	{"headers of 503", headers(false, ":status", "503", "content-type", "text/html")},
	{"headers of html", headers(false, ":status", "200", "content-type", "text/html")},
	{"headers of html, body", endless([]string{":status", "200", "content-type", "text/html"}, []byte("<html>"))},
	{"headers with a grpc-status", headers(false, ok("grpc-status", "5")...)},
	{"headers with a bad binary field", headers(false, ok("a-bin", "!")...)},
	{"headers with an unknown encoding", headers(false, ok("grpc-encoding", "nope")...)},
	{"half a prefix", endless(ok(), reply[:3])},
	{"half a message", endless(ok(), reply[:7])},
	{"a message", endless(ok(), reply)},
	{"an empty message", endless(ok(), rig.Frame(0, ""))},
	{"two messages", endless(ok(), append(reply[:len(reply):len(reply)], reply...))},
	{"a message and a half", endless(ok(), append(reply[:len(reply):len(reply)], reply[:7]...))},
	{"a message and a bad prefix", endless(ok(), append(reply[:len(reply):len(reply)], 9, 0, 0, 0, 1, 1))},
	{"a message and one too large", endless(ok(), append(reply[:len(reply):len(reply)], 0, 0x7f, 0xff, 0xff, 0xff))},
	{"bad proto", endless(ok(), rig.Frame(0, "\xff\xff"))},
	{"bad flag", endless(ok(), rig.Frame(2, "x"))},
	{"bad flag, half", endless(ok(), []byte{2})},
	{"gzip garbage", endless(ok("grpc-encoding", "gzip"), rig.Frame(1, "x"))},
	{"compressed without encoding", endless(ok(), rig.Frame(1, "x"))},
	{"unknown encoding", endless(ok("grpc-encoding", "nope"), rig.Frame(1, "x"))},
	{"prefix of one too large", endless(ok(), []byte("\x00\x7f\xff\xff\xff"))},
	{"end without trailers", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteData(req.ID, true, reply)
	}},
	{"trailers", full(ok(), reply, "grpc-status", "0")},
	{"trailers of an error", full(ok(), nil, "grpc-status", "5")},
	{"trailers only", headers(true, ok("grpc-status", "5")...)},
	{"GOAWAY of all", goAway(0, http2.ErrCodeNo)},
	{"GOAWAY after it", goAway(1, http2.ErrCodeNo)},
	{"GOAWAY of an error", goAway(1, http2.ErrCodeEnhanceYourCalm)},
	{"GOAWAY of all for an error", goAway(0, http2.ErrCodeProtocol)},
	{"a message, GOAWAY", func(r *rig.Raw, req rig.Request) {
		endless(ok(), reply)(r, req)
		goAway(1, http2.ErrCodeNo)(r, req)
	}},
	{"a message, RST", func(r *rig.Raw, req rig.Request) {
		endless(ok(), reply)(r, req)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeInternal)
	}},
	{"half a message, RST", func(r *rig.Raw, req rig.Request) {
		endless(ok(), reply[:7])(r, req)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeInternal)
	}},
}

func goAway(last uint32, code http2.ErrCode) func(*rig.Raw, rig.Request) {
	return func(r *rig.Raw, _ rig.Request) { _ = r.WriteGoAway(last, code, []byte("leaving")) }
}

// sights are the frames that a raw peer has seen.
type sights struct {
	mu    sync.Mutex
	lines []string
	data  int
}

func (s *sights) see(f http2.Frame) {
	if g, ok := f.(*http2.GoAwayFrame); ok && g.ErrCode == http2.ErrCodeNo && len(g.DebugData()) == 0 {
		return // whether there is one before a drained connection ends is not to be seen by programs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, isData := f.(*http2.DataFrame)
	if isData {
		s.data += len(d.Data())
		if !d.StreamEnded() {
			return
		}
	}
	if s.data > 0 {
		s.lines = append(s.lines, fmt.Sprintf("DATA of %d", s.data))
		s.data = 0
	}
	switch {
	case isData:
		s.lines = append(s.lines, "END_STREAM")
	default:
		s.lines = append(s.lines, rig.Text(f))
	}
}

func (s *sights) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *sights) print(p *probe.P, who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Printf("%s has seen %q and %d", who, s.lines, s.data)
}

// haltingServer does what halt says once it has a request, or the beginning of one that has
// no end, and then only looks at what comes.
func haltingServer(p *probe.P, halt answer, whole bool) (addr string, seen *sights) {
	seen = new(sights)
	var once sync.Once
	addr = rig.RawServer(p, func(r *rig.Raw) {
		for {
			f, err := r.Next()
			if err != nil {
				return
			}
			if f.Header().Type == http2.FrameHeaders {
				seen.add("HEADERS")
			} else {
				seen.see(f)
			}
			d, isData := f.(*http2.DataFrame)
			if isData && (d.StreamEnded() || !whole) {
				once.Do(func() { halt.do(r, rig.Request{ID: f.Header().StreamID}) })
			}
		}
	})
	return addr, seen
}

// within prints what f says, and whether that takes long; wait waits for it.
func within(p *probe.P, label string, f func() string) (wait func() bool) {
	done := make(chan string, 1)
	go func() { done <- f() }()
	quiet, stop := probe.QuietOr(moment)
	defer stop()
	select {
	case said := <-done:
		p.Printf("%s: %s", label, said)
		return func() bool { return false }
	case <-quiet:
		p.Printf("%s waits", label)
	}
	return func() bool {
		select {
		case said := <-done:
			p.Printf("%s, at last: %s", label, said)
		case <-p.Context().Done():
			p.Printf("%s waits for ever", label)
		}
		return true
	}
}

func receive(s interface{ RecvMsg(any) error }) func() string {
	return func() string {
		out := new(rig.Msg)
		if err := s.RecvMsg(out); err != nil {
			if err == io.EOF {
				return "EOF"
			}
			return rig.Err(err)
		}
		return fmt.Sprintf("%q", out.GetValue())
	}
}

func haltProbes() []probe.Probe {
	var out []probe.Probe
	for _, halt := range halts {
		out = append(out,
			probe.Probe{Name: "halt/" + halt.name + "/unary", Run: func(p *probe.P) { haltUnary(p, halt) }},
			probe.Probe{Name: "halt/" + halt.name + "/ServerStream", Run: func(p *probe.P) {
				haltStream(p, halt, rig.ServerStreamDesc, rig.ServerStream)
			}},
			probe.Probe{Name: "halt/" + halt.name + "/ClientStream", Run: func(p *probe.P) {
				haltStream(p, halt, rig.ClientStreamDesc, rig.ClientStream)
			}},
			probe.Probe{Name: "halt/" + halt.name + "/Bidi", Run: func(p *probe.P) {
				haltStream(p, halt, rig.BidiDesc, rig.Bidi)
			}})
	}
	return out
}

func haltUnary(p *probe.P, halt answer) {
	addr, seen := haltingServer(p, halt, true)
	rec := newRecorder()
	cc := readyTo(p, addr, grpc.WithStatsHandler(rec))
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	out := new(rig.Msg)
	wait := within(p, "Invoke", func() string {
		err := cc.Invoke(ctx, rig.Unary, rig.M("q"), out)
		return fmt.Sprintf("%q %s", out.GetValue(), rig.Err(err))
	})
	probe.Settle(moment / 2)
	seen.print(p, "the server")
	cancel()
	if wait() {
		probe.Settle(moment / 2)
		seen.print(p, "the server")
	}
	rec.printDrained(p, "stats")
}

func haltStream(p *probe.P, halt answer, desc *grpc.StreamDesc, method string) {
	addr, seen := haltingServer(p, halt, !desc.ClientStreams)
	rec := newRecorder()
	cc := readyTo(p, addr, grpc.WithStatsHandler(rec))
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	stream, err := cc.NewStream(ctx, desc, method)
	p.Printf("NewStream: %s", rig.Err(err))
	if err != nil {
		return
	}
	p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("q"))))
	if !desc.ClientStreams {
		p.Printf("CloseSend: %s", rig.Err(stream.CloseSend()))
		waits := within(p, "Header", func() string {
			md, err := stream.Header()
			return rig.MD(md) + " " + rig.Err(err)
		})
		defer waits()
	}
	pending := func() bool { return false }
	for range 3 {
		said := make(chan bool, 1)
		pending = within(p, "RecvMsg", func() string {
			text := receive(stream)()
			said <- text[0] == '"'
			return text
		})
		if len(said) == 0 || !<-said {
			break
		}
	}
	p.Printf("the context: %v", stream.Context().Err())
	probe.Settle(moment / 4)
	seen.print(p, "the server")
	if desc.ClientStreams {
		p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("r"))))
		p.Printf("CloseSend: %s", rig.Err(stream.CloseSend()))
		probe.Settle(moment / 4)
		seen.print(p, "the server")
	}
	cancel()
	if pending() {
		probe.Settle(moment / 4)
		seen.print(p, "the server")
	}
	p.Printf("RecvMsg: %s", receive(stream)())
	probe.Settle(moment / 4)
	rec.printDrained(p, "stats")
}

// printDrained is print, with one of the two texts that the published module has for a stream
// that a GOAWAY leaves out.
func (r *recorder) printDrained(p *probe.P, title string) {
	r.mu.Lock()
	for i, e := range r.rpcs {
		r.rpcs[i] = strings.Replace(e, "the stream is rejected because server is draining the connection", "the connection is draining", 1)
	}
	r.mu.Unlock()
	r.print(p, title)
}

// readyTo is a channel that is connected.
func readyTo(p *probe.P, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	cc := channelTo(p, addr, opts...)
	cc.Connect()
	for s := cc.GetState(); s != connectivity.Ready && cc.WaitForStateChange(p.Context(), s); s = cc.GetState() {
	}
	return cc
}
