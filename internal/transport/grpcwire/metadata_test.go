// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"strings"
	"testing"
)

func TestCheckPair(t *testing.T) {
	tests := []struct {
		key, value string
		send       bool
		err        string
	}{
		{"k", "v", true, ""},
		{"a-z_0.9", " !~", true, ""},
		{"k", "", true, ""},
		{"k-bin", "\x00\xff\n", true, ""},
		{"grpc-trace-bin", "\x00", true, ""},
		{"grpc-retry-pushback-ms", "10", true, ""},
		{":authority", "x", false, ""},
		{"content-type", "text/\n", false, ""},
		{"grpc-timeout", "1S", false, ""},
		{"", "v", false, "empty"},
		{"Key", "v", false, `"Key"`},
		{"a b", "v", false, `"a b"`},
		{"k\u00e9", "v", false, "k\u00e9"},
		{"a:b", "v", false, `"a:b"`},
		{"k", "a\nb", false, `"k" contains value with non-printable ASCII characters`},
		{"k", "a\tb", false, "non-printable"},
		{"k", "\x7f", false, "non-printable"},
		{"k", "caf\u00e9", false, "non-printable"},
		{"token", "secret\n", false, `"token"`},
		{strings.Repeat("K", 1000), "v", false, "..."},
	}
	for _, tt := range tests {
		send, err := CheckPair(tt.key, tt.value)
		if send != tt.send || (err == nil) != (tt.err == "") {
			t.Errorf("CheckPair(%q, %q) = %v, %v", tt.key, tt.value, send, err)
		}
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), tt.err) || len(err.Error()) > 300 {
			t.Errorf("CheckPair(%q, %q): error %q, want %q in it", tt.key, tt.value, err, tt.err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error %q shows the value", err)
		}
	}
}

func TestValidateKeyEveryByte(t *testing.T) {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyz_-."
	for c := range 256 {
		err := ValidateKey("a" + string([]byte{byte(c)}))
		if want := strings.IndexByte(allowed, byte(c)) >= 0; (err == nil) != want {
			t.Errorf("byte %#x: %v", c, err)
		}
	}
}

// TestCheckReplyPairEveryByte: a server sends every name that HTTP/2 allows, RFC 9113 section 8.2.1.
func TestCheckReplyPairEveryByte(t *testing.T) {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyz!#$%&'*+-.^_`|~" // a token, RFC 9110 section 5.6.2
	for c := range 256 {
		send, err := CheckReplyPair("a"+string([]byte{byte(c)}), "v")
		if want := strings.IndexByte(allowed, byte(c)) >= 0; send != want || (err == nil) != want {
			t.Errorf("byte %#x: %v, %v", c, send, err)
		}
	}
	if send, err := CheckReplyPair("", "v"); send || err == nil {
		t.Error("an empty key is sent")
	}
}

func TestCheckPairAllocs(t *testing.T) {
	atMostAllocs(t, 0, func() {
		if send, err := CheckPair("x-request-id", "0123456789"); !send || err != nil {
			t.Fatal(send, err)
		}
	})
}
