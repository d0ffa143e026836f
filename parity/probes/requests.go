// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// requests are header fields that change an ordinary request: name, value, ...
var requests = []struct {
	name    string
	changes []string
}{
	{"good", nil},
	{"GET", []string{":method", "GET"}},
	{"PUT", []string{":method", "PUT"}},
	{"no :method", []string{":method", ""}},
	{"no :path", []string{":path", ""}},
	{"no :scheme", []string{":scheme", ""}},
	{"scheme ftp", []string{":scheme", "ftp"}},
	{"scheme https", []string{":scheme", "https"}},
	{"no :authority", []string{":authority", ""}},
	{"host in place of :authority", []string{":authority", "", "host", "h"}},
	{"host and :authority agree", []string{"host", "probe"}},
	{"host and :authority differ", []string{"host", "other"}},
	{"path without a slash", []string{":path", "probe.Probe/Unary"}},
	{"path with one part", []string{":path", "/probe.Probe"}},
	{"path of slashes", []string{":path", "///"}},
	{"path with a query", []string{":path", rig.Unary + "?a=b"}},
	{"path with three parts", []string{":path", "/a" + rig.Unary}},
	{"path with one long part", []string{":path", "/" + strings.Repeat("probe.", 100)}},
	{"unknown long service", []string{":path", "/" + strings.Repeat("no.", 100) + "Such/Unary"}},
	{"path is *", []string{":path", "*"}},
	{"unknown service", []string{":path", "/no.Such/Unary"}},
	{"unknown method", []string{":path", "/probe.Probe/No"}},
	{"unknown method with escapes", []string{":path", "/probe.Probe/é%20"}},
	{"no content-type", []string{"content-type", ""}},
	{"content-type html", []string{"content-type", "text/html"}},
	{"content-type proto", []string{"content-type", "application/grpc+proto"}},
	{"content-type json", []string{"content-type", "application/grpc+json"}},
	{"content-type parameter", []string{"content-type", "application/grpc; charset=utf8"}},
	{"content-type grpc-web", []string{"content-type", "application/grpc-web"}},
	{"content-type upper case", []string{"content-type", "Application/GRPC"}},
	{"content-type empty subtype", []string{"content-type", "application/grpc+"}},
	{"no te", []string{"te", ""}},
	{"te gzip", []string{"te", "gzip"}},
	{"te upper case", []string{"te", "Trailers"}},
	{"connection", []string{"connection", "close"}},
	{"keep-alive", []string{"keep-alive", "1"}},
	{"upper case name", []string{"Upper", "x"}},
	{"space in a name", []string{"a b", "x"}},
	{"unknown pseudo header", []string{":foo", "x"}},
	{"newline in a value", []string{"a", "x\ny"}},
	{"null in a value", []string{"a", "x\x00y"}},
	{"utf8 in a value", []string{"a", "é"}},
	{"space before a value", []string{"a", " x"}},
	{"space after a value", []string{"a", "x "}},
	{"binary", []string{"a-bin", "AAE"}},
	{"binary padded", []string{"a-bin", "AAE="}},
	{"binary url alphabet", []string{"a-bin", "_-8"}},
	{"binary empty element", []string{"a-bin", "AAE,AAI"}},
	{"binary garbage", []string{"a-bin", "!"}},
	{"timeout 1H", []string{"grpc-timeout", "1H"}},
	{"timeout 8 digits", []string{"grpc-timeout", "99999999H"}},
	{"timeout 9 digits", []string{"grpc-timeout", "999999999S"}},
	{"timeout without unit", []string{"grpc-timeout", "1"}},
	{"timeout bad unit", []string{"grpc-timeout", "1x"}},
	{"timeout bad number", []string{"grpc-timeout", "xS"}},
	{"timeout negative", []string{"grpc-timeout", "-1S"}},
	{"timeout plus", []string{"grpc-timeout", "+1S"}},
	{"timeout 0", []string{"grpc-timeout", "0S"}},
	{"timeout 1n", []string{"grpc-timeout", "1n"}},
	{"timeout unit alone", []string{"grpc-timeout", "S"}},
	{"timeout 0n", []string{"grpc-timeout", "0n"}},
	{"encoding gzip", []string{"grpc-encoding", "gzip"}},
	{"encoding identity", []string{"grpc-encoding", "identity"}},
	{"encoding unknown", []string{"grpc-encoding", "nope"}},
	{"encoding empty", []string{"grpc-encoding", "x", "grpc-encoding", ""}},
	{"accept-encoding", []string{"grpc-accept-encoding", "gzip,identity"}},
	{"grpc- names of others", []string{"grpc-foo", "x", "grpc-trace-bin", "AAE", "grpc-tags-bin", "AAE", "grpc-previous-rpc-attempts", "3"}},
	{"grpc-status in a request", []string{"grpc-status", "5"}},
	{"content-length right", []string{"content-length", "8"}},
	{"content-length wrong", []string{"content-length", "9"}},
	{"user-agent", []string{"user-agent", "u/1"}},
	{"large header", []string{"big", strings.Repeat("x", 20000)}},
}

// talks are what a raw client does in place of an ordinary request, on stream 1.
var talks = []struct {
	name string
	do   func(*rig.Raw)
}{
	{"headers end the stream", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields()...) }},
	{"two messages", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, append(rig.Message("a"), rig.Message("b")...))
	}},
	{"half a message", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("abc")[:7])
	}},
	{"half a prefix", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("abc")[:3])
	}},
	{"bad flag", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Frame(7, "abc"))
	}},
	{"bad proto", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Frame(0, "\xff\xff"))
	}},
	{"compressed without encoding", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Frame(1, "abc"))
	}},
	{"compressed identity", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields("grpc-encoding", "identity")...)
		_ = r.WriteData(1, true, rig.Frame(1, "abc"))
	}},
	{"gzip garbage", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields("grpc-encoding", "gzip")...)
		_ = r.WriteData(1, true, rig.Frame(1, "abc"))
	}},
	{"too large a message", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, []byte("\x00\x7f\xff\xff\xff"))
	}},
	{"too large a message, open stream", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, false, []byte("\x00\x7f\xff\xff\xff"))
	}},
	{"message and no end", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields(":path", "/no/Such")...)
		_ = r.WriteData(1, false, rig.Message("abc"))
	}},
	{"trailers", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, false, rig.Message("abc"))
		r.Headers(1, true, "a", "b")
	}},
	{"trailers without end", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		r.Headers(1, false, "a", "b")
	}},
	{"even stream", func(r *rig.Raw) { r.Headers(2, true, rig.RequestFields()...) }},
	{"stream 0", func(r *rig.Raw) { r.Headers(0, true, rig.RequestFields()...) }},
	{"stream ids go back", func(r *rig.Raw) {
		r.Headers(5, false, rig.RequestFields()...) // nobody answers it
		r.Headers(1, true, rig.RequestFields()...)
	}},
	{"data before headers", func(r *rig.Raw) { _ = r.WriteData(1, true, []byte("x")) }},
	{"rst of an idle stream", func(r *rig.Raw) { _ = r.WriteRSTStream(1, http2.ErrCodeCancel) }},
	{"window of an idle stream", func(r *rig.Raw) { _ = r.WriteWindowUpdate(1, 10) }},
	{"window overflow", func(r *rig.Raw) { _ = r.WriteWindowUpdate(0, 1<<31-1) }},
	{"push promise", func(r *rig.Raw) {
		_ = r.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: r.Block("a", "b"), EndHeaders: true})
	}},
	{"goaway", func(r *rig.Raw) {
		_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("abc"))
	}},
	{"settings ack out of turn", func(r *rig.Raw) {
		_ = r.WriteSettingsAck()
		_ = r.WriteSettingsAck()
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("abc"))
	}},
	{"unknown frame", func(r *rig.Raw) {
		_ = r.WriteRawFrame(0x77, 0, 0, []byte("x"))
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("abc"))
	}},
	{"continuation", func(r *rig.Raw) {
		block := r.Block(rig.RequestFields("big", strings.Repeat("x", 3000))...)
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:10]})
		_ = r.WriteContinuation(1, true, block[10:])
		_ = r.WriteData(1, true, rig.Message("abc"))
	}},
	{"bad hpack", func(r *rig.Raw) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
	}},
	{"priority on itself", func(r *rig.Raw) { _ = r.WritePriority(1, http2.PriorityParam{StreamDep: 1}) }},
	{"settings bad window", func(r *rig.Raw) {
		_ = r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
	}},
	{"settings bad frame size", func(r *rig.Raw) { _ = r.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }},
	{"ping of 7 bytes", func(r *rig.Raw) { _ = r.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 7)) }},
	{"frame of 20000 bytes", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 20000))
	}},
}

func requestProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range requests {
		out = append(out, probe.Probe{Name: "request/" + c.name, Run: func(p *probe.P) {
			r := rig.RawClient(p, requestServer(p))
			r.Headers(1, false, rig.RequestFields(c.changes...)...)
			_ = r.WriteData(1, true, rig.Message("m"))
			r.Print(p, 1)
		}})
	}
	for _, c := range talks {
		for _, path := range []string{rig.Unary, rig.Bidi} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("talk/%s to %s", c.name, path[len("/probe.Probe/"):]), Run: func(p *probe.P) {
				r := rig.RawClient(p, requestServer(p))
				r.Path = path
				c.do(r)
				r.Print(p, 1)
			}})
		}
	}
	return out
}

// requestServer is a server that answers with what it was asked.
func requestServer(p *probe.P) string {
	tell := func(ctx context.Context) string {
		md, _ := metadata.FromIncomingContext(ctx)
		delete(md, "big")
		_, deadline := ctx.Deadline()
		method, _ := grpc.Method(ctx)
		return fmt.Sprintf("%s %s deadline=%v", method, rig.MD(md), deadline)
	}
	pair := rig.Pair{TCP: true, Handlers: rig.Handlers{
		Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			return rig.M(m.GetValue() + tell(ctx)), nil
		},
	}}
	return pair.Serve(p).Listener.Addr().String()
}
