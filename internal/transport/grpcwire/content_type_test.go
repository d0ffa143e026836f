// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseContentType(t *testing.T) {
	tests := []struct {
		v, subtype string
		ok         bool
	}{
		{"application/grpc", "", true},
		{"application/grpc+", "", true},
		{"application/grpc;", "", true},
		{"application/grpc+proto", "proto", true},
		{"application/grpc;proto", "proto", true},
		{"application/grpc+json", "json", true},
		{"application/grpc+vendor.x", "vendor.x", true},
		{"Application/GRPC+Proto", "proto", true},
		{"application/grpc+FlatBuffers", "flatbuffers", true},
		{"application/grpc+proto; charset=utf-8", "proto", true},
		{"application/grpc+proto;charset=utf-8", "proto", true},
		{"application/grpc; charset=utf-8", "", true},
		{"application/grpc ; charset=utf-8", "", true},
		{" application/grpc ", "", true},
		{"application/grpc-web", "", false},
		{"application/grpc-web+proto", "", false},
		{"application/grpcx", "", false},
		{"application/grpc proto", "", false},
		{"application/grp", "", false},
		{"application/json", "", false},
		{"text/html", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		subtype, ok := ParseContentType(tt.v)
		if subtype != tt.subtype || ok != tt.ok {
			t.Errorf("ParseContentType(%q) = %q, %v", tt.v, subtype, ok)
		}
		if subtype, ok := ParseContentType([]byte(tt.v)); subtype != tt.subtype || ok != tt.ok {
			t.Errorf("ParseContentType of bytes %q = %q, %v", tt.v, subtype, ok)
		}
	}
}

func TestContentType(t *testing.T) {
	for subtype, want := range map[string]string{
		"":      "application/grpc",
		"proto": "application/grpc+proto",
		"json":  "application/grpc+json",
		"Other": "application/grpc+other",
	} {
		for range 2 {
			if got := ContentType(subtype); got != want {
				t.Errorf("ContentType(%q) = %q, want %q", subtype, got, want)
			}
		}
	}
	// A peer that makes names up fills the memory of names to its bound, and gets right
	// answers beyond it.
	for i := range 10 * maxContentTypes {
		subtype := "x" + strconv.Itoa(i)
		if got := ContentType(subtype); got != "application/grpc+"+subtype {
			t.Fatalf("ContentType(%q) = %q", subtype, got)
		}
	}
	long := strings.Repeat("a", maxSubtype+1)
	contentTypes.Store(nil)
	if got := ContentType(long); got != "application/grpc+"+long || contentTypes.Load() != nil {
		t.Error("what a peer may make long is remembered")
	}
	ContentType("x")
	if n := len(*contentTypes.Load()); n > maxContentTypes {
		t.Errorf("%d names are remembered", n)
	}
}

func TestContentTypeAllocs(t *testing.T) {
	v := []byte("application/grpc+proto")
	ContentType("other")
	atMostAllocs(t, 0, func() {
		subtype, ok := ParseContentType(v)
		if !ok || ContentType(subtype) != string(v) {
			t.Fatal(subtype, ok)
		}
	})
}
