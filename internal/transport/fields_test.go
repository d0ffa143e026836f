// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
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
						if vs := s.callContext.Values(k); !reflect.DeepEqual(vs, got[k]) {
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
					wantStatus, wantMessage = "13", `malformed request: malformed binary metadata "x-bin"`
				}
				if reply["grpc-status"] != wantStatus || reply["grpc-message"] != wantMessage {
					t.Errorf("reply %q", reply)
				}
			})
		})
	}
}

// TestMalformedBinaryReply is the same on the other side.
func TestMalformedBinaryReply(t *testing.T) {
	bad := []string{"x-bin", "!"}
	ok, notFound := []string{"grpc-status", "0"}, []string{"grpc-status", "5", "grpc-message", "m"}
	const text = `malformed response: malformed binary metadata "x-bin"`
	for name, tt := range map[string]struct {
		answer [][]byte
		code   codes.Code
		text   string
	}{
		"headers":         {[][]byte{headers(false, responseFields, bad), headers(true, ok)}, codes.Internal, text},
		"trailers":        {[][]byte{headers(false, responseFields), headers(true, ok, bad)}, codes.Internal, text},
		"trailers only":   {[][]byte{headers(true, responseFields, notFound, bad)}, codes.Internal, text},
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
