// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

func TestBinary(t *testing.T) {
	tests := []struct{ value, wire string }{
		{"", ""},
		{"\x00", "AA"},
		{"ab", "YWI"},
		{"abc", "YWJj"},
		{"\xab\xab\xab", "q6ur"},
		{"\xff\xfe\xfd\xfc", "//79/A"},
	}
	for _, tt := range tests {
		if got := string(AppendBinary([]byte("x"), tt.value)); got != "x"+tt.wire {
			t.Errorf("AppendBinary(%q) = %q, want %q", tt.value, got[1:], tt.wire)
		}
		if got := binaryLen(len(tt.value)); got != len(tt.wire) {
			t.Errorf("binaryLen(%d) = %d, want %d", len(tt.value), got, len(tt.wire))
		}
		padded := base64.StdEncoding.EncodeToString([]byte(tt.value))
		for _, wire := range []string{tt.wire, padded} {
			if got, err := decodeBinary(wire); err != nil || string(got) != tt.value {
				t.Errorf("decodeBinary(%q) = %q, %v; want %q", wire, got, err, tt.value)
			}
		}
	}
}

func TestDecodeBinaryInvalid(t *testing.T) {
	for _, wire := range []string{"A", "AAAAA", "AA=", "AAA==", "=", "==", "====", "A A", "YWJj=", "YWJj====", "-_8", "YW\nJj", "YWJj\r\n", "a,b"} {
		dst := []byte("kept")
		got, err := AppendDecodedBinary(dst, wire)
		if err == nil {
			t.Errorf("decodeBinary(%q) = %q, want an error", wire, got)
		}
		if string(got) != "kept" {
			t.Errorf("decodeBinary(%q) left %q of dst", wire, got)
		}
	}
}

func TestBinaryValues(t *testing.T) {
	tests := []struct {
		wire string
		want []string
		bad  bool
	}{
		{"", []string{""}, false},
		{"YWI", []string{"ab"}, false},
		{"YWI,YWJj", []string{"ab", "abc"}, false},
		{"YWI= , YWJj", []string{"ab", "abc"}, false},
		{"YWI,,AA==", []string{"ab", "", "\x00"}, false},
		{",", []string{"", ""}, false},
		{"YWI,!", []string{"ab"}, true},
	}
	for _, tt := range tests {
		got, err := AppendBinaryValues(nil, tt.wire)
		if !slices.Equal(got, tt.want) || (err != nil) != tt.bad {
			t.Errorf("AppendBinaryValues(%q) = %q, %v; want %q", tt.wire, got, err, tt.want)
		}
	}
	for range BinaryValues("a,b") {
		break // stopping early must not panic
	}
}

func TestBinaryAllocs(t *testing.T) {
	value := strings.Repeat("\x01\xfe", 100)
	wire := string(AppendBinary(nil, value))
	buf := make([]byte, 0, 512)
	t.Run("append", func(t *testing.T) {
		atMostAllocs(t, 0, func() { buf = AppendBinary(buf[:0], value) })
	})
	t.Run("decode into", func(t *testing.T) {
		atMostAllocs(t, 0, func() {
			var err error
			if buf, err = AppendDecodedBinary(buf[:0], wire); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func FuzzBinary(f *testing.F) {
	for _, s := range []string{"", "YWI", "YWI=", "YWI,YWJj", "q6ur", "====", "\x00\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		wire := AppendBinary(nil, v)
		if bytes.ContainsAny(wire, "=,") {
			t.Fatalf("%q is sent as %q", v, wire)
		}
		if got, err := decodeBinary(wire); err != nil || !bytes.Equal(got, v) {
			t.Fatalf("%q came back as %q, %v", v, got, err)
		}
		// v as something received.
		list, err := AppendBinaryValues(nil, v)
		if err == nil && len(list) != bytes.Count(v, []byte(","))+1 {
			t.Fatalf("%q: %d values", v, len(list))
		}
		if fromString, errString := AppendBinaryValues(nil, string(v)); !slices.Equal(list, fromString) || (err == nil) != (errString == nil) {
			t.Fatalf("%q: bytes and string differ", v)
		}
	})
}

func BenchmarkBinary(b *testing.B) {
	value := bytes.Repeat([]byte{1, 254}, 32)
	b.ReportAllocs()
	var wire, back []byte
	for b.Loop() {
		wire = AppendBinary(wire[:0], value)
		var err error
		if back, err = AppendDecodedBinary(back[:0], wire); err != nil {
			b.Fatal(err)
		}
	}
}
