// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestBinaryFields has a client send fields whose values are base64, or should be.
func TestBinaryFields(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		want   metadata.MD // nil: refused
	}{
		{[]string{"x-bin", "AQI="}, metadata.MD{"x-bin": {"\x01\x02"}}},
		{[]string{"x-bin", "AQI"}, metadata.MD{"x-bin": {"\x01\x02"}}},
		{[]string{"x-bin", "AQ, Ag==", "x-bin", "", "y", "!"}, metadata.MD{"x-bin": {"\x01", "\x02", ""}, "y": {"!"}}},
		{[]string{"x-bin", ""}, metadata.MD{"x-bin": {""}}},
		{[]string{"x-bin", "!"}, nil},
		{[]string{"x-bin", "A"}, nil},
		{[]string{"x-bin", "AQI=="}, nil},
		{[]string{"y", "z", "x-bin", "AQI,!,AQI"}, nil},
		{[]string{"grpc-status-details-bin", "!", "y", "z"}, metadata.MD{"y": {"z"}}},
	} {
		t.Run(strings.Join(tt.fields, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got metadata.MD
				s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
					got = s.IncomingHeader()
					for k := range got {
						if vs := s.asContext().Values(k); !reflect.DeepEqual(vs, got[k]) {
							t.Errorf("values of %s: %q", k, vs)
						}
					}
					_ = s.Finish(nil)
				})
				p := rawClient(t, s)
				p.write(headers(true, requestFields, tt.fields))
				reply := p.reply()
				for k, vs := range got {
					if k == ":authority" || k == "content-type" {
						delete(got, k)
					} else if len(vs) == 0 {
						t.Errorf("%s has no values", k)
					}
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("the handler has %q, want %q", got, tt.want)
				}
				wantStatus, wantMessage := "0", ""
				if tt.want == nil {
					wantStatus, wantMessage = "13", `malformed binary metadata in header "x-bin": illegal base64 data at input byte `
				}
				if reply["grpc-status"] != wantStatus || !strings.HasPrefix(reply["grpc-message"], wantMessage) {
					t.Errorf("reply %q", reply)
				}
			})
		})
	}
}

// TestMalformedBinaryReply is the same on the other side.
func TestMalformedBinaryReply(t *testing.T) {
	bad := []string{"x-bin", "!"}
	many := slices.Repeat([]string{"x-bin", strings.Repeat(",", 100)}, 3)
	ok, notFound := []string{"grpc-status", "0"}, []string{"grpc-status", "5", "grpc-message", "m"}
	const text = "transport: malformed x-bin: illegal base64 data at input byte 0"
	for name, tt := range map[string]struct {
		answer [][]byte
		code   codes.Code
		text   string
	}{
		"headers":         {[][]byte{headers(false, responseFields, bad), headers(true, ok)}, codes.Internal, text},
		"trailers":        {[][]byte{headers(false, responseFields), headers(true, ok, bad)}, codes.Internal, text},
		"trailers only":   {[][]byte{headers(true, responseFields, notFound, bad)}, codes.Internal, text},
		"too many":        {[][]byte{headers(false, responseFields, many)}, codes.Internal, `malformed response: too many values joined in binary metadata "x-bin"`},
		"not gRPC":        {[][]byte{headers(true, []string{":status", "404"}, bad)}, codes.Unimplemented, ""},
		"status details":  {[][]byte{headers(true, responseFields, notFound, []string{"grpc-status-details-bin", "!"})}, codes.Internal, ""},
		"nothing of this": {[][]byte{headers(false, responseFields), headers(true, notFound)}, codes.NotFound, "m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var answer []byte
				for _, f := range tt.answer {
					answer = append(answer, f...)
				}
				c := rawServer(t, answer)
				st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any"}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				st.AwaitEnd()
				if end := st.Status(); end.Code() != tt.code || tt.text != "" && end.Message() != tt.text {
					t.Errorf("the call ends with %v", status.Convert(end.Err()))
				}
				for _, md := range []metadata.MD{st.Header(), st.Trailer()} {
					for k, vs := range md {
						if len(vs) == 0 {
							t.Errorf("%s has no values", k)
						}
					}
				}
			})
		})
	}
}

// TestSentFields: whatever an application says, neither side sends what section 8 of RFC 9113
// forbids; the raw peers look for that.
func TestSentFields(t *testing.T) {
	names := []string{"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "te", "content-length", "host", ":status", ":path", ":x"}
	var pairs []string
	md := metadata.MD{}
	for _, name := range names {
		pairs = append(pairs, name, "7")
		md[name] = []string{"7"}
	}
	synctest.Test(t, func(t *testing.T) {
		answer := append(headers(false, responseFields), headers(true, []string{"grpc-status", "0"})...)
		c := rawServer(t, answer)
		st, err := c.NewStream(metadata.NewOutgoingContext(t.Context(), md), &Call{Method: "/test.Echo/Any", Auth: pairs, Picked: pairs}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		st.AwaitEnd()
		if end := st.Status(); end.Code() != codes.OK {
			t.Error(end)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
			if err := errors.Join(s.SetHeader(md), s.SetTrailer(md)); err != nil {
				t.Error(err)
			}
			_ = s.Finish(nil)
		})
		p := rawClient(t, s)
		p.write(headers(true, requestFields))
		if got := p.answer(); got.fields["grpc-status"] != "0" {
			t.Errorf("%q", got)
		}
	})
}

// TestJoinedBinaryFields: how many values a block may have by splitting.
func TestJoinedBinaryFields(t *testing.T) {
	paid := strings.Repeat("AAAAAAAA,", 400) + "AAAAAAAA"
	for name, tt := range map[string]struct {
		value string
		refs  int // to the entry, beside the field that makes it
		want  int // values, 0: refused
	}{
		"paid for":             {paid, 0, 401},
		"not too many":         {strings.Repeat(",", 260), 0, 261},
		"too many":             {strings.Repeat(",", 4000), 0, 0},
		"not joined":           {"AQ", 4000, 4001},
		"referred to":          {"AQ,Ag,Aw", 100, 303},
		"referred to too much": {"AQ,Ag,Aw", 200, 0},
		"long, once more":      {paid, 1, 802},
		"long, over and over":  {paid, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
					ran = true
					got := s.IncomingHeader()["x-bin"]
					if !reflect.DeepEqual(s.asContext().Values("x-bin"), got) || len(got) != tt.want {
						t.Errorf("the handler has %d values, want %d", len(got), tt.want)
					}
					single := len(got) / (tt.refs + 1)
					for i, v := range got {
						if v != got[i%single] {
							t.Fatalf("value %d is %q", i, v)
						}
					}
					_ = s.Finish(nil)
				})
				p := rawClient(t, s)
				var e hpack.Encoder
				b := e.AppendField(e.Begin(block(requestFields...)), "x-bin", tt.value, hpack.Incremental)
				b = append(b, bytes.Repeat([]byte{0x80 | hpack.StaticLen + 1}, tt.refs)...)
				p.write(fieldBlock(headersParams{StreamID: 1, Block: b, EndStream: true}))
				reply := p.reply()
				if ran != (tt.want > 0) || !ran && reply["grpc-message"] != `malformed request: too many values joined in binary metadata "x-bin"` {
					t.Errorf("the handler ran: %v, reply %q", ran, reply)
				}
			})
		})
	}
}
