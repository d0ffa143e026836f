// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestEncodings(t *testing.T) {
	tests := []struct {
		v    string
		want []string
	}{
		{"", nil},
		{" ", nil},
		{",", nil},
		{"gzip", []string{"gzip"}},
		{"identity,gzip", []string{"identity", "gzip"}},
		{" identity ,\tgzip , ", []string{"identity", "gzip"}},
	}
	for _, tt := range tests {
		got := slices.Collect(Encodings(tt.v))
		if !slices.Equal(got, tt.want) {
			t.Errorf("Encodings(%q) = %q", tt.v, got)
		}
	}
	for range Encodings("a,b") {
		break
	}
}

func TestAcceptsEncoding(t *testing.T) {
	tests := []struct {
		list, name string
		want       bool
	}{
		{"", "identity", true},
		{"", "", true},
		{"", "gzip", false},
		{"identity, gzip", "gzip", true},
		{"gzipx", "gzip", false},
		{"x,gzi,p", "gzip", false},
	}
	for _, tt := range tests {
		if got := AcceptsEncoding(tt.list, tt.name); got != tt.want {
			t.Errorf("AcceptsEncoding(%q, %q) = %v", tt.list, tt.name, got)
		}
	}
	list := []byte("identity,deflate,gzip")
	atMostAllocs(t, 0, func() {
		if !AcceptsEncoding(list, "gzip") {
			t.Fatal("not accepted")
		}
	})
}

func TestCheckCompressed(t *testing.T) {
	for _, encoding := range []string{"", "identity", "gzip"} {
		want := codes.Internal
		if encoding == "gzip" {
			want = codes.OK
		}
		if got := status.Code(CheckCompressed(encoding)); got != want {
			t.Errorf("%q: %v, want %v", encoding, got, want)
		}
	}
}

func TestUnsupportedEncoding(t *testing.T) {
	st := UnsupportedEncoding(codes.Unimplemented, "snappy")
	if st.Code() != codes.Unimplemented || st.Message() != `grpc: Decompressor is not installed for grpc-encoding "snappy"` {
		t.Errorf("got %v", st)
	}
}
