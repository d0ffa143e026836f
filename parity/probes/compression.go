// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // what messages are compressed with
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
)

// turned "compresses" by turning each bit; fail says where it breaks.
type turned struct{ name, fail string }

func (t turned) Name() string { return t.name }

func (t turned) Compress(w io.Writer) (io.WriteCloser, error) {
	if t.fail == "compress" {
		return nil, errors.New("no compressing")
	}
	return turnedWriter{t, w}, nil
}

func (t turned) Decompress(r io.Reader) (io.Reader, error) {
	switch t.fail {
	case "decompress":
		return nil, errors.New("no decompressing")
	case "read":
		return errReader{}, nil
	}
	b, err := io.ReadAll(r)
	return bytes.NewReader(turn(b)), err
}

type turnedWriter struct {
	turned
	w io.Writer
}

func (w turnedWriter) Write(b []byte) (int, error) {
	if w.fail == "write" {
		return 0, errors.New("no writing")
	}
	return w.w.Write(turn(b))
}

func (w turnedWriter) Close() error {
	if w.fail == "close" {
		return errors.New("no closing")
	}
	return nil
}

func turn(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = ^b[i]
	}
	return out
}

// compressions are what the two sides are told about compressing.
var compressions = []struct {
	name   string
	dial   []grpc.DialOption
	server []grpc.ServerOption
	call   []grpc.CallOption
	reply  string // SetSendCompressor
}{
	{name: "nothing"},
	{name: "client gzip", call: []grpc.CallOption{grpc.UseCompressor("gzip")}},
	{name: "client turned", call: []grpc.CallOption{grpc.UseCompressor("turned")}},
	{name: "client GZIP", call: []grpc.CallOption{grpc.UseCompressor("GZIP")}},
	{name: "client Upper", call: []grpc.CallOption{grpc.UseCompressor("Upper")}},
	{name: "client identity", call: []grpc.CallOption{grpc.UseCompressor(encoding.Identity)}},
	{name: "client gzip, then identity", call: []grpc.CallOption{grpc.UseCompressor("gzip"), grpc.UseCompressor("identity")}},
	{name: "client gzip, then empty", call: []grpc.CallOption{grpc.UseCompressor("gzip"), grpc.UseCompressor("")}},
	{name: "client by default", dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))}},
	{name: "client by default, call identity", dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))}, call: []grpc.CallOption{grpc.UseCompressor("identity")}},
	{name: "client gzip, server turned", call: []grpc.CallOption{grpc.UseCompressor("gzip")}, reply: "turned"},
	{name: "client turned, server gzip", call: []grpc.CallOption{grpc.UseCompressor("turned")}, reply: "gzip"},
	{name: "client gzip, server identity", call: []grpc.CallOption{grpc.UseCompressor("gzip")}, reply: "identity"},
	{name: "server gzip", reply: "gzip"},
	{name: "server turned", reply: "turned"},
	{name: "server unknown", reply: "nope"},
	{name: "old client", dial: []grpc.DialOption{grpc.WithCompressor(grpc.NewGZIPCompressor())}},
	{name: "old client and call", dial: []grpc.DialOption{grpc.WithCompressor(grpc.NewGZIPCompressor())}, call: []grpc.CallOption{grpc.UseCompressor("turned")}},
	{name: "old client, identity", dial: []grpc.DialOption{grpc.WithCompressor(grpc.NewGZIPCompressor())}, call: []grpc.CallOption{grpc.UseCompressor("identity")}},
	{name: "old server", server: []grpc.ServerOption{grpc.RPCCompressor(grpc.NewGZIPCompressor())}},
	{name: "old server, client turned", server: []grpc.ServerOption{grpc.RPCCompressor(grpc.NewGZIPCompressor())}, call: []grpc.CallOption{grpc.UseCompressor("turned")}},
	{name: "old server, reply turned", server: []grpc.ServerOption{grpc.RPCCompressor(grpc.NewGZIPCompressor())}, reply: "turned"},
	{name: "old decompressors", dial: []grpc.DialOption{grpc.WithDecompressor(grpc.NewGZIPDecompressor())}, server: []grpc.ServerOption{grpc.RPCDecompressor(grpc.NewGZIPDecompressor())}, call: []grpc.CallOption{grpc.UseCompressor("gzip")}},
	{name: "old decompressors, client turned", dial: []grpc.DialOption{grpc.WithDecompressor(grpc.NewGZIPDecompressor())}, server: []grpc.ServerOption{grpc.RPCDecompressor(grpc.NewGZIPDecompressor())}, call: []grpc.CallOption{grpc.UseCompressor("turned")}},
	{name: "all old", dial: []grpc.DialOption{grpc.WithCompressor(grpc.NewGZIPCompressor()), grpc.WithDecompressor(grpc.NewGZIPDecompressor())}, server: []grpc.ServerOption{grpc.RPCCompressor(grpc.NewGZIPCompressor()), grpc.RPCDecompressor(grpc.NewGZIPDecompressor())}},
	{name: "compress fails", call: []grpc.CallOption{grpc.UseCompressor("no-compress")}},
	{name: "write fails", call: []grpc.CallOption{grpc.UseCompressor("no-write")}},
	{name: "close fails", call: []grpc.CallOption{grpc.UseCompressor("no-close")}},
	{name: "decompress fails", call: []grpc.CallOption{grpc.UseCompressor("no-decompress")}},
	{name: "read fails", call: []grpc.CallOption{grpc.UseCompressor("no-read")}},
	{name: "compress of the reply fails", reply: "no-compress"},
	{name: "write of the reply fails", reply: "no-write"},
	{name: "close of the reply fails", reply: "no-close"},
	{name: "decompress of the reply fails", reply: "no-decompress"},
	{name: "read of the reply fails", reply: "no-read"},
	{name: "limits of what is compressed", server: []grpc.ServerOption{grpc.MaxRecvMsgSize(50)}, call: []grpc.CallOption{grpc.UseCompressor("gzip")}},
	{name: "limits of the reply that is compressed", call: []grpc.CallOption{grpc.UseCompressor("gzip"), grpc.MaxCallRecvMsgSize(50)}},
	{name: "send limits of what is compressed", call: []grpc.CallOption{grpc.UseCompressor("gzip"), grpc.MaxCallSendMsgSize(60)}},
	{name: "send limits of the reply", server: []grpc.ServerOption{grpc.MaxSendMsgSize(60)}, reply: "gzip"},
	{name: "limits that gzip keeps", server: []grpc.ServerOption{grpc.MaxRecvMsgSize(103)}, call: []grpc.CallOption{grpc.UseCompressor("gzip"), grpc.MaxCallRecvMsgSize(103)}},
}

// registerTurned registers the compressors of these probes, which have a process of their own.
func registerTurned() {
	encoding.RegisterCompressor(turned{name: "turned"})
	encoding.RegisterCompressor(turned{name: "Upper"})
	for _, fail := range []string{"compress", "write", "close", "decompress", "read"} {
		encoding.RegisterCompressor(turned{name: "no-" + fail, fail: fail})
	}
}

// sizes tells how large messages were on the wire, and in which encoding.
type sizes struct {
	quietStats
	j *journal
}

func (s sizes) HandleRPC(_ context.Context, e stats.RPCStats) {
	switch e := e.(type) {
	case *stats.InHeader:
		s.j.add("headers came, %q", e.Compression)
	case *stats.OutHeader:
		s.j.add("headers went, %q", e.Compression)
	case *stats.InPayload:
		s.j.add("came %d, compressed %v", e.Length, e.CompressedLength != e.Length)
	case *stats.OutPayload:
		s.j.add("went %d, compressed %v", e.Length, e.CompressedLength != e.Length)
	}
}

func compressionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range compressions {
		for _, kind := range []string{"unary", "stream"} {
			out = append(out, probe.Probe{Name: "compression/" + c.name + ", " + kind, Alone: true, Run: func(p *probe.P) {
				registerTurned()
				client, server := &journal{}, &journal{}
				say := func(ctx context.Context) {
					md, _ := metadata.FromIncomingContext(ctx)
					server.add("encoding %q accepted %q", md["grpc-encoding"], md["grpc-accept-encoding"])
					names, err := grpc.ClientSupportedCompressors(ctx)
					server.add("%q %v", names, err)
					if c.reply != "" {
						server.add("SetSendCompressor: %s", rig.Err(grpc.SetSendCompressor(ctx, c.reply)))
					}
				}
				h := rig.Handlers{
					Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) { say(ctx); return m, nil },
					Stream: func(s grpc.ServerStream) error {
						say(s.Context())
						m := new(rig.Msg)
						if err := s.RecvMsg(m); err != nil {
							server.add("server receives %s", rig.Err(err))
							return err
						}
						err := s.SendMsg(m)
						server.add("server sends %s", rig.Err(err))
						return err
					},
				}
				s := rig.Pair{TCP: true, Handlers: h, Server: c.server, Dial: append(c.dial, grpc.WithStatsHandler(sizes{j: client}))}.Start(p)
				s.Ready(p)
				text := strings.Repeat("x", 101)
				reaches := true // the server; by chance where a stream's message could not be sent
				if kind == "unary" {
					_, err := s.Call(p.Context(), text, c.call...)
					p.Printf("%s", rig.Err(err))
				} else if stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, c.call...); err != nil {
					p.Printf("%s", rig.Err(err))
				} else {
					sent := stream.SendMsg(rig.M(text))
					reaches = sent == nil
					p.Printf("send %s", rig.Err(sent))
					_ = stream.CloseSend()
					for err == nil {
						err = stream.RecvMsg(new(rig.Msg))
						p.Printf("receive %s", rig.Err(err))
					}
				}
				probe.Settle(0)
				_ = s.Close()
				s.Server.GracefulStop()
				slices.Sort(client.lines) // two goroutines tell
				client.print(p)
				if reaches {
					server.print(p)
				}
			}})
		}
	}
	return append(out, rawCompressionProbes()...)
}

// packed is a message compressed with gzip, with its prefix.
func packed(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, rig.Payload(s))
	_ = w.Close()
	return rig.Frame(1, b.String())
}

// rawEncodings are requests, or replies, with fields and flags that need not agree.
var rawEncodings = []struct {
	name, encoding string
	message        []byte
}{
	{"none, plain", "", rig.Message("x")},
	{"none, flagged", "", rig.Frame(1, rig.Payload("x"))},
	{"gzip, packed", "gzip", packed("x")},
	{"gzip, plain", "gzip", rig.Message("x")},
	{"gzip, garbage", "gzip", rig.Frame(1, "garbage")},
	{"gzip, empty", "gzip", rig.Frame(1, "")},
	{"gzip, half", "gzip", rig.Frame(1, string(packed("hello")[5:20]))},
	{"gzip, more behind", "gzip", rig.Frame(1, string(packed("x")[5:])+"more")},
	{"gzip, flag 2", "gzip", rig.Frame(2, "x")},
	{"none, flag 255", "", rig.Frame(255, "x")},
	{"identity, plain", "identity", rig.Message("x")},
	{"identity, flagged", "identity", rig.Frame(1, rig.Payload("x"))},
	{"GZIP, packed", "GZIP", packed("x")},
	{"gzip and identity", "gzip,identity", packed("x")},
	{"unknown, plain", "nope", rig.Message("x")},
	{"empty field, plain", " ", rig.Message("x")},
}

func rawCompressionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range rawEncodings {
		for _, path := range []string{rig.Unary, rig.Bidi} {
			name := c.name + ", " + path[strings.LastIndex(path, "/")+1:]
			out = append(out, probe.Probe{Name: "compression/request of " + name, Run: func(p *probe.P) {
				r := rig.RawClient(p, rig.Pair{TCP: true}.Serve(p).Listener.Addr().String())
				r.Path = path
				fields := rig.RequestFields("grpc-accept-encoding", "identity")
				if c.encoding != "" {
					fields = rig.RequestFields("grpc-accept-encoding", "identity", "grpc-encoding", strings.TrimSpace(c.encoding))
				}
				if c.encoding == " " {
					fields = append(fields, "grpc-encoding", "")
				}
				r.Headers(1, false, fields...)
				_ = r.WriteData(1, true, c.message)
				r.Print(p, 1)
			}})
		}
		out = append(out, probe.Probe{Name: "compression/reply of " + c.name, Run: func(p *probe.P) {
			fields := ok()
			if c.encoding != "" {
				fields = ok("grpc-encoding", strings.TrimSpace(c.encoding))
			}
			callsOf(p, rig.RawServer(p, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					full(fields, c.message, "grpc-status", "0")(r, req)
				}
			}))
		}})
	}
	for _, accepted := range []string{"", "gzip", "identity", "identity,gzip", "deflate, gzip", "GZIP", "gzip;q=1", "*", "snappy"} {
		name := strings.ReplaceAll(accepted, "*", "all")
		out = append(out, probe.Probe{Name: "compression/client accepts " + name, Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				names, err := grpc.ClientSupportedCompressors(ctx)
				p.Printf("%q %v", names, err)
				return m, nil
			}}}.Serve(p)
			r := rig.RawClient(p, s.Listener.Addr().String())
			fields := rig.RequestFields("grpc-encoding", "gzip")
			if accepted != "" {
				fields = append(fields, "grpc-accept-encoding", accepted)
			}
			r.Headers(1, false, fields...)
			_ = r.WriteData(1, true, packed("x"))
			r.Print(p, 1)
		}})
	}
	return out
}
