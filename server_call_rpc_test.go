// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

func TestServerErrors(t *testing.T) {
	detailed, err := status.New(codes.NotFound, "no such text").WithDetails(&text{Value: "detail"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err     error
		code    codes.Code
		message string
	}{
		"status":   {status.Error(codes.Aborted, "a % b"), codes.Aborted, "a % b"},
		"details":  {detailed.Err(), codes.NotFound, "no such text"},
		"wrapped":  {fmt.Errorf("outer: %w", status.Error(codes.DataLoss, "inner")), codes.DataLoss, "outer: rpc error: code = DataLoss desc = inner"},
		"plain":    {errors.New("plain"), codes.Unknown, "plain"},
		"deadline": {context.DeadlineExceeded, codes.DeadlineExceeded, context.DeadlineExceeded.Error()},
		"canceled": {context.Canceled, codes.Canceled, context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEcho()
			e.unary = func(context.Context, *text) (*text, error) { return nil, test.err }
			e.stream = func(ServerStream) error { return test.err }
			c := connect(t, serve(t, e))
			r := c.unary(context.Background(), "x")
			r.wantStatus(t, test.code, test.message)
			if name == "details" && len(r.status.Details()) != 1 {
				t.Errorf("details = %v", r.status.Details())
			}
			s := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
			s.wantEnd(test.code, test.message)
		})
	}
}

func TestServerMetadata(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		in, _ := metadata.FromIncomingContext(ctx)
		if got := in.Get("x-in"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("x-in = %v", got)
		}
		if name, ok := Method(ctx); !ok || name != "/test.Echo/Unary" {
			t.Errorf("Method = %q, %v", name, ok)
		}
		for _, err := range []error{
			SetHeader(ctx, nil),
			SetHeader(ctx, metadata.Pairs("x-h", "1")),
			SetHeader(ctx, metadata.Pairs("x-h", "2", "x-bin", "\x00")),
			SendHeader(ctx, metadata.Pairs("x-h", "3")),
			SetTrailer(ctx, metadata.Pairs("x-t", "1")),
			SetTrailer(ctx, metadata.Pairs("x-t", "2")),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if err := SetHeader(ctx, metadata.Pairs("x-h", "4")); status.Code(err) != codes.Internal {
			t.Errorf("SetHeader after SendHeader: %v", err)
		}
		if err := SendHeader(ctx, nil); status.Code(err) != codes.Internal {
			t.Errorf("a second SendHeader: %v", err)
		}
		return m, nil
	}
	c := connect(t, serve(t, e))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-in", "1", "x-in", "2")
	r := c.unary(ctx, "x")
	r.want(t, "x")
	if got := r.header.Get("x-h"); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("x-h = %v", got)
	}
	if got := r.header.Get("x-bin"); !slices.Equal(got, []string{"\x00"}) {
		t.Errorf("x-bin = %q", got)
	}
	if got := r.trailer.Get("x-t"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("x-t = %v", got)
	}
}

func TestServerContextFunctionsElsewhere(t *testing.T) {
	ctx := context.Background()
	md := metadata.Pairs("k", "v")
	_, listErr := ClientSupportedCompressors(ctx)
	for name, err := range map[string]error{
		"SetHeader":  SetHeader(ctx, md),
		"SendHeader": SendHeader(ctx, md),
		"SetTrailer": SetTrailer(ctx, md),
	} {
		if status.Code(err) != codes.Internal {
			t.Errorf("%s without an RPC: %v", name, err)
		}
	}
	const text = "failed to fetch the stream from the given context"
	wantCode(t, "SetSendCompressor without an RPC", SetSendCompressor(ctx, "gzip"), codes.Unknown, text)
	wantCode(t, "ClientSupportedCompressors without an RPC", listErr, codes.Unknown, text)
	if name, ok := Method(ctx); ok {
		t.Errorf("Method without an RPC: %q", name)
	}
}

// fakeStream is a ServerTransportStream of a test of handlers.
type fakeStream struct{ header metadata.MD }

func (*fakeStream) Method() string                    { return "/fake/Method" }
func (s *fakeStream) SetHeader(md metadata.MD) error  { s.header = md; return nil }
func (s *fakeStream) SendHeader(md metadata.MD) error { return s.SetHeader(md) }
func (*fakeStream) SetTrailer(metadata.MD) error      { return errors.New("no trailers here") }

func TestServerTransportStreamOfATest(t *testing.T) {
	s := &fakeStream{}
	ctx := NewContextWithServerTransportStream(context.Background(), s)
	if name, ok := Method(ctx); !ok || name != "/fake/Method" {
		t.Errorf("Method = %q, %v", name, ok)
	}
	if err := SetHeader(ctx, metadata.Pairs("k", "v")); err != nil || s.header.Get("k")[0] != "v" {
		t.Errorf("SetHeader: %v, %v", err, s.header)
	}
	if err := SetTrailer(ctx, metadata.Pairs("k", "v")); err == nil {
		t.Error("SetTrailer: no error")
	}
	if err := SetSendCompressor(ctx, "gzip"); status.Code(err) != codes.Unknown {
		t.Errorf("SetSendCompressor: %v", err)
	}
}

func TestServerInterceptors(t *testing.T) {
	var order []string
	unary := func(name string) UnaryServerInterceptor {
		return func(ctx context.Context, req any, info *UnaryServerInfo, h UnaryHandler) (any, error) {
			order = append(order, name+info.FullMethod)
			resp, err := h(ctx, &text{Value: req.(*text).Value + name})
			return resp, err
		}
	}
	stream := func(name string) StreamServerInterceptor {
		return func(srv any, ss ServerStream, info *StreamServerInfo, h StreamHandler) error {
			order = append(order, fmt.Sprint(name, info.FullMethod, info.IsClientStream, info.IsServerStream))
			return h(srv, ss)
		}
	}
	c := connect(t, serve(t, newEcho(),
		ChainUnaryInterceptor(unary("b"), unary("c")), UnaryInterceptor(unary("a")), ChainUnaryInterceptor(unary("d")),
		ChainStreamInterceptor(stream("b")), StreamInterceptor(stream("a"))))
	c.unary(context.Background(), "x").want(t, "xabcd")
	m := "/test.Echo/Unary"
	if want := []string{"a" + m, "b" + m, "c" + m, "d" + m}; !slices.Equal(order, want) {
		t.Errorf("order = %v", order)
	}
	order = nil
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Up"})
	r.closeSend()
	r.wantEnd(codes.OK, "")
	m = "/test.Echo/Uptrue false"
	if want := []string{"a" + m, "b" + m}; !slices.Equal(order, want) {
		t.Errorf("order = %v", order)
	}
}

func TestServerOptionsSetTwice(t *testing.T) {
	u := func(context.Context, any, *UnaryServerInfo, UnaryHandler) (any, error) { return nil, nil }
	s := func(any, ServerStream, *StreamServerInfo, StreamHandler) error { return nil }
	h := func(ctx context.Context, _ *tap.Info) (context.Context, error) { return ctx, nil }
	for name, o := range map[string]ServerOption{
		"UnaryInterceptor":  UnaryInterceptor(u),
		"StreamInterceptor": StreamInterceptor(s),
		"InTapHandle":       InTapHandle(h),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s twice does not panic", name)
				}
			}()
			NewServer(o, o)
		}()
	}
}

func TestServerMessageSizes(t *testing.T) {
	gz := encoding.GetCompressor("gzip")
	c := connect(t, serve(t, newEcho(), MaxRecvMsgSize(100), MaxSendMsgSize(50)))
	unary := transport.Call{Method: "/test.Echo/Unary"}
	c.unary(context.Background(), strings.Repeat("x", 48)).want(t, strings.Repeat("x", 48))
	c.unary(context.Background(), strings.Repeat("x", 60)).
		wantStatus(t, codes.ResourceExhausted, "trying to send message larger than max (62 vs. 50)")
	c.unary(context.Background(), strings.Repeat("x", 99)).
		wantStatus(t, codes.ResourceExhausted, "grpc: received message larger than max (101 vs. 100)")
	zipped := unary
	zipped.SendCompressor = "gzip"
	bomb := payload(t, strings.Repeat("x", 8<<20), gz)
	if n := bomb.Data.Len(); n < 100 {
		t.Fatalf("the bomb has %d bytes", n)
	}
	c.unaryCall(context.Background(), zipped, bomb).wantStatus(t, codes.ResourceExhausted, "")
	small := payload(t, strings.Repeat("x", 200), gz)
	if n := small.Data.Len(); n >= 100 {
		t.Fatalf("the small bomb has %d bytes", n)
	}
	c.unaryCall(context.Background(), zipped, small).
		wantStatus(t, codes.ResourceExhausted, "grpc: received message after decompression larger than max 100")
}

func TestServerBadMessages(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	raw := func(b string, compressed bool) transport.Payload {
		return transport.Payload{Data: transport.OnePiece(mem.SliceBuffer(b)), Compressed: compressed}
	}
	call := transport.Call{Method: "/test.Echo/Unary"}
	c.unaryCall(context.Background(), call, raw("\xff\xff", false)).wantStatus(t, codes.Internal, "")
	c.unaryCall(context.Background(), call, raw("x", true)).wantStatus(t, codes.Internal, "")
	call.SendCompressor = "gzip"
	c.unaryCall(context.Background(), call, raw("no gzip", true)).wantStatus(t, codes.Internal, "")
	c.unaryCall(context.Background(), call, raw("", true)).wantStatus(t, codes.Internal, "")
	call.SendCompressor = "zip"
	r := c.unaryCall(context.Background(), call, raw("x", true))
	r.wantStatus(t, codes.Unimplemented, "")
	if m := r.status.Message(); m != `grpc: Decompressor is not installed for grpc-encoding "zip"` {
		t.Errorf("message = %q", m)
	}
}

func TestServerCardinality(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		m := new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		if err := ss.RecvMsg(m); !errors.Is(err, io.EOF) {
			t.Errorf("a second RecvMsg: %v", err)
		}
		return ss.SendMsg(m)
	}
	c := connect(t, serve(t, e))
	for _, method := range []string{"/test.Echo/Unary", "/test.Echo/Down"} {
		for n, code := range []codes.Code{codes.Internal, codes.OK, codes.Internal} {
			r := c.open(context.Background(), transport.Call{Method: method})
			for range n {
				r.send("x")
			}
			r.closeSend()
			if n == 1 {
				if m, ok := r.recv(); !ok || m != "x" {
					t.Errorf("got %q, %v", m, ok)
				}
			}
			r.wantEnd(code, "")
		}
	}
}

func TestServerCompression(t *testing.T) {
	gz := encoding.GetCompressor("gzip")
	long := strings.Repeat("long ", 100)
	type result struct {
		encoding   string
		compressed bool
	}
	for name, test := range map[string]struct {
		request string // encoding of the request
		accept  string
		set     string // what the handler asks for
		setErr  bool
		opts    []ServerOption
		want    result
	}{
		"none":             {},
		"as the request":   {request: "gzip", want: result{"gzip", true}},
		"set":              {accept: "other,gzip", set: "gzip", want: result{"gzip", true}},
		"set to none":      {request: "gzip", set: "identity", want: result{"identity", false}},
		"not accepted":     {accept: "other", set: "gzip", setErr: true},
		"not registered":   {accept: "other", set: "other", setErr: true},
		"old compressor":   {opts: []ServerOption{RPCCompressor(NewGZIPCompressor())}, want: result{"gzip", true}},
		"old decompressor": {request: "gzip", opts: []ServerOption{RPCDecompressor(NewGZIPDecompressor())}, want: result{"gzip", true}},
		"own decompressor": {request: "rev", opts: []ServerOption{RPCDecompressor(unreverser{}), RPCCompressor(reverser{})}, want: result{"rev", true}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEcho()
			e.unary = func(ctx context.Context, m *text) (*text, error) {
				if test.set == "" {
					return m, nil
				}
				if err := SetSendCompressor(ctx, test.set); (err != nil) != test.setErr {
					t.Errorf("SetSendCompressor: %v", err)
				}
				got, err := ClientSupportedCompressors(ctx)
				if test.accept != "" && (err != nil || strings.Join(got, ",") != test.accept) {
					t.Errorf("ClientSupportedCompressors = %v, %v", got, err)
				}
				return m, nil
			}
			c := connect(t, serve(t, e, test.opts...))
			call := transport.Call{Method: "/test.Echo/Unary", SendCompressor: test.request, AcceptCompressors: test.accept, MaxRecvMsgSize: 1 << 20}
			p := payload(t, long, map[string]encoding.Compressor{"gzip": gz, "rev": compressorFrom(reverser{})}[test.request])
			s, err := c.NewStream(context.Background(), &call, &p, true)
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err, s.Status())
			}
			if got := (result{s.RecvCompress(), m.Compressed}); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			mr := messageReader{codec: codecFor(""), encoding: s.RecvCompress(), decompressor: decompressorFrom(unreverser{}), max: 1 << 20}
			var back text
			if _, err := mr.read(m, &back); err != nil || back.Value != long {
				t.Errorf("got %q, %v", back.Value, err)
			}
			if _, err := s.Recv(); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}

// reverser is a Compressor that turns messages round.
type reverser struct{}

func (reverser) Type() string { return "rev" }

func (reverser) Do(w io.Writer, p []byte) error {
	p = bytes.Clone(p)
	slices.Reverse(p)
	_, err := w.Write(p)
	return err
}

// unreverser is its Decompressor.
type unreverser struct{}

func (unreverser) Type() string { return "rev" }

func (unreverser) Do(r io.Reader) ([]byte, error) {
	p, err := io.ReadAll(r)
	slices.Reverse(p)
	return p, err
}

func TestServerCodecs(t *testing.T) {
	for name, o := range map[string]ServerOption{
		"V2": ForceServerCodecV2(sliceCodec{plainCodec{}, "plain"}),
		"V1": ForceServerCodec(plainCodec{}),
		"V0": CustomCodec(plainCodec{}),
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, serve(t, newEcho(), o))
			call := transport.Call{Method: "/test.Echo/Unary", MaxRecvMsgSize: 100}
			p := transport.Payload{Data: transport.OnePiece(mem.SliceBuffer("as it is"))}
			s, err := c.NewStream(context.Background(), &call, &p, true)
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err, s.Status())
			}
			if got := string(m.Data.ReadOnlyData()); got != "as it is" {
				t.Errorf("got %q", got)
			}
			m.Data.Free()
		})
	}
	c := connect(t, serve(t, newEcho())) // falls back to protocol buffers
	c.unaryCall(context.Background(), transport.Call{Method: "/test.Echo/Unary", ContentSubtype: "nobody"}, payload(t, "x", nil)).want(t, "x")
}

// plainCodec sends a text as it is.
type plainCodec struct{}

func (plainCodec) Marshal(v any) ([]byte, error) { return []byte(v.(*text).Value), nil }
func (plainCodec) Unmarshal(b []byte, v any) error {
	v.(*text).Value = string(b)
	return nil
}
func (plainCodec) Name() string   { return "plain" }
func (plainCodec) String() string { return "plain" }
