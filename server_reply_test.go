// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	gz "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestReplyMetadata: a handler's metadata may hold what the published server lets through.
// What no client takes fails the RPC, also where the handler does not look at errors.
func TestReplyMetadata(t *testing.T) {
	setters := map[string]func(context.Context, metadata.MD) error{
		"SetHeader": SetHeader, "SendHeader": SendHeader, "SetTrailer": SetTrailer,
	}
	for name, set := range setters {
		for _, tt := range []struct {
			key, value string
			fails      bool
		}{
			{"x", "a", false},
			{"x", "\u00e4", false},
			{"x", "a\tb", false},
			{"x", "~", false},
			{"x-bin", "\x00\n", false},
			{"grpc-accept-encoding", "mine", false},
			{"x~", "a", false},
			{"!#$%&'*+-.^_`|~09az", "a", false},
			{"x~-bin", "\x00", false},
			{"x(", "a", true},
			{"x\u00e4", "a", true},
			{"x", "a\nb", true},
			{"x", "\x7f", true},
			{"X", "a", true},
			{"", "a", true},
			{"x y", "a", true},
		} {
			e := newEcho()
			e.unary = func(ctx context.Context, m *text) (*text, error) {
				_ = set(ctx, metadata.MD{tt.key: {tt.value}})
				return m, nil
			}
			e.stream = func(ss ServerStream) error {
				_ = set(ss.Context(), metadata.MD{tt.key: {tt.value}})
				_ = ss.SendMsg(&text{Value: "m"})
				return nil
			}
			for over, serve := range map[string]func(*testing.T, *echo) *testServer{
				"":                 func(t *testing.T, e *echo) *testServer { return serve(t, e) },
				" behind net/http": func(t *testing.T, e *echo) *testServer { return serveHTTP(t, e) },
			} {
				t.Run(name+" "+tt.key+" "+tt.value+over, func(t *testing.T) {
					c := connect(t, serve(t, e))
					r := c.unary(t.Context(), "m")
					s := c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
					if tt.fails {
						r.wantStatus(t, codes.Internal, "")
						s.wantEnd(codes.Internal, "")
						return
					}
					r.want(t, "m")
					md := r.header
					if name == "SetTrailer" {
						md = r.trailer
					}
					if got := md.Get(tt.key); !slices.Equal(got, []string{tt.value}) {
						t.Errorf("the client has %q", md)
					}
					if m, ok := s.recv(); !ok || m != "m" {
						t.Errorf("the stream brought %q, %v", m, ok)
					}
					s.wantEnd(codes.OK, "")
				})
			}
		}
	}
}

// TestReplyTexts: programs look for these.
func TestReplyTexts(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		check := func(what string, err error, code codes.Code, want string) {
			if s := status.Convert(err); s.Code() != code || s.Message() != want {
				t.Errorf("%s: %v", what, err)
			}
		}
		check("SetSendCompressor", SetSendCompressor(ctx, "odd"), codes.Unknown, `unable to set send compressor: compressor not registered "odd"`)
		check("SetSendCompressor", SetSendCompressor(ctx, "gzip"), codes.Unknown, `unable to set send compressor: client does not support compressor "gzip"`)
		check("SendHeader", SendHeader(ctx, nil), codes.OK, "")
		check("SendHeader", SendHeader(ctx, nil), codes.Internal, "transport: SendHeader called multiple times")
		check("SetHeader", SetHeader(ctx, metadata.Pairs("a", "b")), codes.Internal, "transport: SendHeader called multiple times")
		check("SetSendCompressor", SetSendCompressor(ctx, "identity"), codes.Unknown, "transport: set send compressor called after headers sent or stream done")
		return m, nil
	}
	connect(t, serve(t, e)).unary(t.Context(), "m").want(t, "m")
	connect(t, serveHTTP(t, e)).unary(t.Context(), "m").want(t, "m")
}

// TestReplyEncoding: replies are compressed only with what the client accepts, and a
// client with an encoding that is not known here learns which are (compression.md).
func TestReplyEncoding(t *testing.T) {
	zip := encoding.GetCompressor(gz.Name)
	for _, tt := range []struct {
		accept, want string
		opts         []ServerOption
	}{
		{accept: "", want: "gzip"}, // it sends so itself
		{accept: "gzip", want: "gzip"},
		{accept: "deflate, gzip", want: "gzip"},
		{accept: "identity"},
		{accept: "deflate"},
		{accept: "deflate", opts: []ServerOption{RPCCompressor(NewGZIPCompressor())}},
	} {
		t.Run(tt.accept, func(t *testing.T) {
			c := connect(t, serve(t, newEcho(), tt.opts...))
			call := transport.Call{Method: "/test.Echo/Unary", SendCompressor: "gzip", AcceptCompressors: tt.accept, MaxRecvMsgSize: 1 << 20}
			p := payload(t, "m", zip)
			s, err := c.NewStream(t.Context(), &call, &p, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); err != nil {
				t.Fatal(err, s.Status())
			}
			if got := s.RecvCompress(); got != tt.want {
				t.Errorf("the reply is encoded with %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		c := connect(t, serve(t, newEcho()))
		r := c.unaryCall(t.Context(), transport.Call{Method: "/test.Echo/Unary", SendCompressor: "odd"}, payload(t, "m", nil))
		r.wantStatus(t, codes.Unimplemented, "")
		if got := r.trailer.Get("grpc-accept-encoding"); len(got) != 1 || !strings.Contains(got[0], "gzip") {
			t.Errorf("grpc-accept-encoding is %q", got)
		}
	})
}

// TestServeHTTPWrapped: what those see that wrap a ResponseWriter, such as grpc-web.
func TestServeHTTPWrapped(t *testing.T) {
	s := NewServer()
	defer s.Stop()
	s.RegisterService(&echoDesc, newEcho())
	for _, tt := range []struct {
		method, contentType string
		proto, want         int
	}{
		{http.MethodPost, "application/grpc", 2, 0},
		{http.MethodGet, "text/html", 1, http.StatusMethodNotAllowed},
		{http.MethodPost, "text/html", 1, http.StatusUnsupportedMediaType},
		{http.MethodPost, "application/grpc", 1, http.StatusHTTPVersionNotSupported},
	} {
		r := httptest.NewRequest(tt.method, "/no/Body", nil)
		r.ProtoMajor = tt.proto
		r.Header.Set("Content-Type", tt.contentType)
		w := &wrapped{header: http.Header{}}
		s.ServeHTTP(w, r)
		if w.code != tt.want {
			t.Errorf("%v: status %d", tt, w.code)
		}
		if tt.want != 0 {
			continue
		}
		if got := w.header["Trailer"]; !slices.Equal(got, []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"}) {
			t.Errorf("announced are %q", got)
		}
		if w.header.Get("Grpc-Status") != "12" || w.header.Get("Grpc-Message") == "" {
			t.Errorf("the header is %q", w.header)
		}
	}
}

// wrapped is a ResponseWriter that remembers what it was told.
type wrapped struct {
	header http.Header
	code   int // of WriteHeader
}

func (w *wrapped) Header() http.Header         { return w.header }
func (w *wrapped) Write(b []byte) (int, error) { return len(b), nil }
func (w *wrapped) WriteHeader(code int)        { w.code = code }
func (w *wrapped) Flush()                      {}

// droppedReply is a codec and the pool of its buffers. When a reply is being sent, and its buffer
// freed, it looks whether the message that it was made of is kept.
type droppedReply struct {
	encoding.CodecV2
	mem.BufferPool
	message weak.Pointer[text]
	kept    chan bool
}

func (d *droppedReply) Marshal(v any) (mem.BufferSlice, error) {
	d.message = weak.Make(v.(*text))
	data := make([]byte, 8<<10)
	copy(data, []byte{0x7a, 0xfd, 0x3f}) // field 15 is all the rest
	return mem.BufferSlice{mem.NewBuffer(&data, d)}, nil
}

func (d *droppedReply) Put(*[]byte) {
	runtime.GC()
	d.kept <- d.message.Value() != nil
}

// TestReplyIsDropped: while a reply waits to be sent, as many may for one connection, the message
// that it was encoded from is garbage.
func TestReplyIsDropped(t *testing.T) {
	d := &droppedReply{CodecV2: codecFor(""), kept: make(chan bool, 1)}
	e := newEcho()
	e.unary = func(context.Context, *text) (*text, error) { return &text{Value: "reply"}, nil }
	cc := newTestClient(t, serve(t, e, ForceServerCodecV2(d)).addr)
	if err := cc.Invoke(testContext(t), unaryMethod, &text{}, new(text)); err != nil {
		t.Fatal(err)
	}
	if <-d.kept {
		t.Error("the message is kept while its reply is sent")
	}
}
