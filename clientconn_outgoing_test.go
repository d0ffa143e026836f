// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// oddCompressor is gzip by another name.
type oddCompressor struct{ Compressor }

func (oddCompressor) Type() string { return "odd" }

// TestOutgoing: what goes out in the request headers, as the published module has it.
func TestOutgoing(t *testing.T) {
	var got metadata.MD
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		return m, nil
	}
	s := serve(t, e, RPCDecompressor(oddDecompressor{NewGZIPDecompressor()}))
	for name, tt := range map[string]struct {
		md   metadata.MD
		opts []DialOption
		key  string
		want []string
		err  string
	}{
		"upper-case key":          {md: metadata.MD{"aB": {"c"}}, err: `header key "aB" contains illegal characters not in [0-9a-z-_.]`},
		"empty key":               {md: metadata.MD{"": {"c"}}, err: "there is an empty key in the header"},
		"accepted encodings":      {md: metadata.MD{"grpc-accept-encoding": {"mine"}}, key: "grpc-accept-encoding", want: []string{"gzip", "mine"}},
		"deprecated compressor":   {opts: []DialOption{WithCompressor(oddCompressor{NewGZIPCompressor()})}, key: "grpc-accept-encoding", want: []string{"gzip,odd"}},
		"compressor known anyway": {opts: []DialOption{WithCompressor(NewGZIPCompressor())}, key: "grpc-accept-encoding", want: []string{"gzip"}},
		"user agent":              {opts: []DialOption{WithUserAgent("me")}, key: "user-agent", want: []string{"me grpc-go/" + Version}},
		"empty user agent":        {opts: []DialOption{WithUserAgent("")}, key: "user-agent", want: []string{" grpc-go/" + Version}},
		"no user agent":           {key: "user-agent", want: []string{"grpc-go/" + Version}},
	} {
		t.Run(name, func(t *testing.T) {
			cc := newTestClient(t, s.addr, tt.opts...)
			err := call(metadata.NewOutgoingContext(testContext(t), tt.md), cc, "m")
			if tt.err != "" {
				if status.Code(err) != codes.Internal || status.Convert(err).Message() != tt.err {
					t.Errorf("the call ends with %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if vs := got[tt.key]; !slices.Equal(vs, tt.want) {
				t.Errorf("%s is %q, want %q", tt.key, vs, tt.want)
			}
		})
	}
}

type oddDecompressor struct{ Decompressor }

func (oddDecompressor) Type() string { return "odd" }
