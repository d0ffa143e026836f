// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// answer is what a raw server does once it has a whole request.
type answer struct {
	name string
	do   func(*rig.Raw, rig.Request)
}

func headers(end bool, fields ...string) func(*rig.Raw, rig.Request) {
	return func(r *rig.Raw, req rig.Request) { r.Headers(req.ID, end, fields...) }
}

// ok are the headers of an ordinary answer, and more.
func ok(more ...string) []string {
	return append([]string{":status", "200", "content-type", "application/grpc"}, more...)
}

// full is headers, message and trailers.
func full(header []string, message []byte, trailer ...string) func(*rig.Raw, rig.Request) {
	return func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, header...)
		if message != nil {
			_ = r.WriteData(req.ID, false, message)
		}
		r.Headers(req.ID, true, trailer...)
	}
}

// endless is headers and a message, after which nothing comes.
func endless(header []string, message []byte) func(*rig.Raw, rig.Request) {
	return func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, header...)
		_ = r.WriteData(req.ID, false, message)
	}
}

var reply = rig.Message("reply")

// answers are those that tables do not make.
var answers = []answer{
	{"good", full(ok(), reply, "grpc-status", "0")},
	{"status 0 and a message", full(ok(), reply, "grpc-status", "0", "grpc-message", "fine")},
	{"status 00", full(ok(), reply, "grpc-status", "00")},
	{"status empty", full(ok(), reply, "grpc-status", "")},
	{"status x", full(ok(), reply, "grpc-status", "x")},
	{"status -1", full(ok(), reply, "grpc-status", "-1")},
	{"status +5", full(ok(), reply, "grpc-status", "+5")},
	{"status 17", full(ok(), reply, "grpc-status", "17")},
	{"status 4294967295", full(ok(), reply, "grpc-status", "4294967295")},
	{"status 4294967296", full(ok(), reply, "grpc-status", "4294967296")},
	{"status 99999999999999", full(ok(), reply, "grpc-status", "99999999999999")},
	{"status twice", full(ok(), reply, "grpc-status", "5", "grpc-status", "6")},
	{"status in headers and trailers", full(ok("grpc-status", "5"), reply, "grpc-status", "0")},
	{"no status", full(ok(), reply, "a", "b")},
	{"message without status", full(ok(), reply, "grpc-message", "b")},
	{"no trailers", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteData(req.ID, true, reply)
	}},
	{"no message", full(ok(), nil, "grpc-status", "0")},
	{"two messages", full(ok(), append(reply[:len(reply):len(reply)], reply...), "grpc-status", "0")},
	{"error and a message", full(ok(), reply, "grpc-status", "5", "grpc-message", "nf")},
	{"half a message", full(ok(), reply[:7], "grpc-status", "0")},
	{"half a prefix", full(ok(), reply[:3], "grpc-status", "0")},
	{"half a message, error", full(ok(), reply[:7], "grpc-status", "5")},
	{"bad flag", full(ok(), rig.Frame(2, "x"), "grpc-status", "0")},
	{"bad proto", full(ok(), rig.Frame(0, "\xff\xff"), "grpc-status", "0")},
	{"compressed without encoding", full(ok(), rig.Frame(1, "x"), "grpc-status", "0")},
	{"compressed identity", full(ok("grpc-encoding", "identity"), rig.Frame(1, "x"), "grpc-status", "0")},
	{"encoding unknown", full(ok("grpc-encoding", "nope"), rig.Frame(1, "x"), "grpc-status", "0")},
	{"encoding unknown, not compressed", full(ok("grpc-encoding", "nope"), reply, "grpc-status", "0")},
	{"gzip garbage", full(ok("grpc-encoding", "gzip"), rig.Frame(1, "x"), "grpc-status", "0")},
	{"too large a message", full(ok(), []byte("\x00\x7f\xff\xff\xff"), "grpc-status", "0")},
	{"length over int32", full(ok(), []byte("\x00\xff\xff\xff\xff"), "grpc-status", "0")},
	{"no end, good", endless(ok(), reply)},
	{"no end, bad proto", endless(ok(), rig.Frame(0, "\xff\xff"))},
	{"no end, gzip garbage", endless(ok("grpc-encoding", "gzip"), rig.Frame(1, "x"))},
	{"no end, encoding unknown", endless(ok("grpc-encoding", "nope"), rig.Frame(1, "x"))},
	{"no end, too large a message", endless(ok(), []byte("\x00\x7f\xff\xff\xff"))},
	{"trailers only", headers(true, ok("grpc-status", "5", "grpc-message", "nf")...)},
	{"trailers only OK", headers(true, ok("grpc-status", "0")...)},
	{"trailers only without status", headers(true, ok()...)},
	{"trailers only, metadata", headers(true, ok("grpc-status", "5", "k", "v", "k-bin", "AAE")...)},
	{"message escapes", headers(true, ok("grpc-status", "5", "grpc-message", "a%20b%0ac%zz%C3%A9%4")...)},
	{"message utf8", headers(true, ok("grpc-status", "5", "grpc-message", "é")...)},
	{"details", headers(true, ok("grpc-status", "5", "grpc-message", "m", "grpc-status-details-bin", "CAUSAW0")...)},
	{"details of another code", headers(true, ok("grpc-status", "5", "grpc-message", "m", "grpc-status-details-bin", "CAYSAW0")...)},
	{"details of another message", headers(true, ok("grpc-status", "5", "grpc-message", "n", "grpc-status-details-bin", "CAUSAW0")...)},
	{"details not base64", headers(true, ok("grpc-status", "5", "grpc-status-details-bin", "!!")...)},
	{"details not proto", headers(true, ok("grpc-status", "5", "grpc-status-details-bin", "/////w")...)},
	{"details and OK", full(ok(), reply, "grpc-status", "0", "grpc-status-details-bin", "CAUSAW0")},
	{"content-type html", headers(true, ":status", "200", "content-type", "text/html", "grpc-status", "5")},
	{"content-type missing", headers(true, ":status", "200", "grpc-status", "5")},
	{"content-type proto", full([]string{":status", "200", "content-type", "application/grpc+proto"}, reply, "grpc-status", "0")},
	{"content-type json", full([]string{":status", "200", "content-type", "application/grpc+json"}, reply, "grpc-status", "0")},
	{"content-type with parameter", full([]string{":status", "200", "content-type", "application/grpc;charset=utf8"}, reply, "grpc-status", "0")},
	{"content-type grpc-web", full([]string{":status", "200", "content-type", "application/grpc-web"}, reply, "grpc-status", "0")},
	{"content-type upper case", full([]string{":status", "200", "content-type", "APPLICATION/GRPC"}, reply, "grpc-status", "0")},
	{"no :status", headers(true, "content-type", "application/grpc", "grpc-status", "5")},
	{":status x", headers(true, ":status", "x", "content-type", "application/grpc", "grpc-status", "5")},
	{"200 html with a body", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ":status", "200", "content-type", "text/html")
		_ = r.WriteData(req.ID, true, []byte("<html>hello</html>"))
	}},
	{"502 html with a body", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ":status", "502", "content-type", "text/html")
		_ = r.WriteData(req.ID, true, []byte("<html>bad gateway</html>"))
	}},
	{"404 html and a grpc-status", headers(true, ":status", "404", "content-type", "text/html", "grpc-status", "5")},
	{"404 grpc and a grpc-status", headers(true, ":status", "404", "content-type", "application/grpc", "grpc-status", "5")},
	{"500 grpc, messages, trailers", full([]string{":status", "500", "content-type", "application/grpc"}, reply, "grpc-status", "0")},
	{"100 first", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ":status", "100")
		full(ok(), reply, "grpc-status", "0")(r, req)
	}},
	{"103 first, with fields", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ":status", "103", "link", "x")
		full(ok(), reply, "grpc-status", "0")(r, req)
	}},
	{"100 and end", headers(true, ":status", "100")},
	{"binary header", full(ok("a-bin", "AAE", "b-bin", "AAE=", "c-bin", "AAE,AAI"), reply, "grpc-status", "0", "d-bin", "/w")},
	{"bad binary header", full(ok("a-bin", "!"), reply, "grpc-status", "0")},
	{"bad binary trailer", full(ok(), reply, "grpc-status", "0", "a-bin", "!")},
	{"reserved headers", full(ok("grpc-foo", "x", "user-agent", "u", "te", "t"), reply, "grpc-status", "0", "grpc-bar", "y")},
	{"upper case header", full(ok("Upper", "x"), reply, "grpc-status", "0")},
	{"connection header", full(ok("connection", "close"), reply, "grpc-status", "0")},
	{"pseudo header in trailers", full(ok(), reply, ":status", "200", "grpc-status", "0")},
	{"data before headers", func(r *rig.Raw, req rig.Request) { _ = r.WriteData(req.ID, true, reply) }},
	{"data after the end", func(r *rig.Raw, req rig.Request) {
		full(ok(), reply, "grpc-status", "0")(r, req)
		_ = r.WriteData(req.ID, true, reply)
	}},
	{"headers twice, then end", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		r.Headers(req.ID, false, ok()...)
		r.Headers(req.ID, true, "grpc-status", "0")
	}},
	{"half a message, RST CANCEL", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteData(req.ID, false, reply[:7])
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeCancel)
	}},
	{"message, RST NO_ERROR", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteData(req.ID, false, reply)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeNo)
	}},
	{"trailers, RST NO_ERROR", func(r *rig.Raw, req rig.Request) {
		full(ok(), reply, "grpc-status", "7")(r, req)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeNo)
	}},
	{"close", func(r *rig.Raw, _ rig.Request) { _ = r.Close() }},
	{"headers, close", func(r *rig.Raw, req rig.Request) { r.Headers(req.ID, false, ok()...); _ = r.Close() }},
	{"goaway 0 and close", func(r *rig.Raw, _ rig.Request) {
		_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
		_ = r.Close()
	}},
	{"goaway with data and close", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteGoAway(req.ID, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
		_ = r.Close()
	}},
	{"goaway, then an answer", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteGoAway(req.ID, http2.ErrCodeNo, []byte("bye"))
		full(ok(), reply, "grpc-status", "0")(r, req)
	}},
	{"bad frame size", func(r *rig.Raw, req rig.Request) { _ = r.WriteRawFrame(http2.FrameRSTStream, 0, req.ID, []byte{0}) }},
	{"data on stream 0", func(r *rig.Raw, _ rig.Request) { _ = r.WriteRawFrame(http2.FrameData, 0, 0, []byte{0}) }},
	{"push promise", func(r *rig.Raw, req rig.Request) {
		_ = r.WritePushPromise(http2.PushPromiseParam{StreamID: req.ID, PromiseID: 2, BlockFragment: r.Block(":method", "GET"), EndHeaders: true})
	}},
	{"window overflow", func(r *rig.Raw, req rig.Request) { _ = r.WriteWindowUpdate(req.ID, 1<<31-1) }},
	{"window of 0", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteRawFrame(http2.FrameWindowUpdate, 0, req.ID, make([]byte, 4))
	}},
	{"unknown frame", func(r *rig.Raw, req rig.Request) {
		_ = r.WriteRawFrame(0x77, 0, req.ID, []byte("x"))
		full(ok(), reply, "grpc-status", "0")(r, req)
	}},
	{"headers of a server's stream", func(r *rig.Raw, _ rig.Request) { r.Headers(2, true, ok("grpc-status", "0")...) }},
	{"content-length too long", full(ok("content-length", "1000"), reply, "grpc-status", "0")},
	{"content-length garbage", full(ok("content-length", "x"), reply, "grpc-status", "0")},
	{"padding", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteDataPadded(req.ID, false, reply, make([]byte, 50))
		r.Headers(req.ID, true, "grpc-status", "0")
	}},
	{"empty data at the end", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteData(req.ID, true, nil)
	}},
}

// httpStatuses get a grpc-status rule of their own or fall under a rest.
var httpStatuses = []int{101, 199, 200, 201, 204, 301, 302, 400, 401, 403, 404, 405, 408, 415, 429, 431, 499, 500, 502, 503, 504, 505, 600}

func answerProbes() []probe.Probe {
	all := answers[:len(answers):len(answers)]
	for code := range http2.ErrCode(16) {
		all = append(all, answer{fmt.Sprintf("RST %v", code), func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, code) }})
		all = append(all, answer{fmt.Sprintf("headers, RST %v", code), func(r *rig.Raw, req rig.Request) {
			r.Headers(req.ID, false, ok()...)
			_ = r.WriteRSTStream(req.ID, code)
		}})
	}
	for _, s := range httpStatuses {
		all = append(all, answer{fmt.Sprintf("HTTP %d", s), headers(true, ":status", fmt.Sprint(s), "content-type", "text/plain")})
	}
	var out []probe.Probe
	for _, a := range all {
		out = append(out, probe.Probe{Name: "answer/" + a.name, Run: func(p *probe.P) {
			addr := rig.RawServer(p, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					a.do(r, req)
				}
			})
			callsOf(p, addr)
		}})
	}
	return out
}

// callsOf are a unary call and a stream, and all that they return. Each has a channel of
// its own: what one does to the connection is not to reach the other.
func callsOf(p *probe.P, addr string) {
	ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
	defer cancel()
	call := channelTo(p, addr)
	var header, trailer metadata.MD
	out := new(rig.Msg)
	err := call.Invoke(ctx, rig.Unary, rig.M("q"), out, grpc.Header(&header), grpc.Trailer(&trailer))
	p.Printf("unary: %q %s", out.GetValue(), rig.Err(err))
	p.Printf("header=%s trailer=%s", rig.MD(header), rig.MD(trailer))
	stream, err := channelTo(p, addr).NewStream(ctx, rig.ServerStreamDesc, rig.ServerStream)
	if err != nil {
		p.Printf("NewStream: %s", rig.Err(err))
		return
	}
	sent := stream.SendMsg(rig.M("q"))
	closed := stream.CloseSend()
	p.Printf("SendMsg: %s CloseSend: %s", rig.Err(sent), rig.Err(closed))
	for range 4 {
		err = stream.RecvMsg(out)
		if err != nil {
			break
		}
		p.Printf("RecvMsg: %q", out.GetValue())
	}
	if err == io.EOF {
		p.Printf("RecvMsg: EOF")
	} else {
		p.Printf("RecvMsg: %s", rig.Err(err))
	}
	md, err := stream.Header()
	p.Printf("Header: %s %s", rig.MD(md), rig.Err(err))
	p.Printf("Trailer: %s", rig.MD(stream.Trailer()))
}

func channelTo(p *probe.P, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	cc, err := grpc.NewClient(target, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, opts...)...)
	if err != nil {
		panic("NewClient: " + err.Error())
	}
	p.Cleanup(func() { _ = cc.Close() })
	return cc
}
