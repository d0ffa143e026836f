// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// specialMessage is the one of the interop case special_status_message.
const specialMessage = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"

func TestPercent(t *testing.T) {
	tests := []struct{ text, wire, back string }{
		{"", "", ""},
		{"not found", "not found", ""},
		{"100%", "100%25", ""},
		{"%41", "%2541", ""},
		{"a\nb", "a%0Ab", ""},
		{"\x00\x1f\x7f", "%00%1F%7F", ""},
		{"!\"#$&'()*+,/:;=?@[]~", "!\"#$&'()*+,/:;=?@[]~", ""},
		{" a  b ", "%20a  b%20", ""},
		{" ", "%20", ""},
		{"  ", "%20%20", ""},
		{"\u00fc", "%C3%BC", ""},
		{"\ufffd", "%EF%BF%BD", ""},
		{"a\xffb", "a%EF%BF%BDb", "a\ufffdb"},
		{"\xe2\x98", "%EF%BF%BD%EF%BF%BD", "\ufffd\ufffd"},
		{"\xed\xa0\x80", "%EF%BF%BD%EF%BF%BD%EF%BF%BD", "\ufffd\ufffd\ufffd"},
		{
			specialMessage,
			"%09%0Atest with whitespace%0D%0Aand Unicode BMP %E2%98%BA and non-BMP %F0%9F%98%88%09%0A", "",
		},
	}
	for _, tt := range tests {
		if got := string(appendPercent([]byte("x"), tt.text)); got != "x"+tt.wire {
			t.Errorf("appendPercent(%q) = %q, want %q", tt.text, got[1:], tt.wire)
		}
		if got := encodePercent(tt.text); got != tt.wire {
			t.Errorf("encodePercent(%q) = %q, want %q", tt.text, got, tt.wire)
		}
		want := tt.back
		if want == "" {
			want = tt.text
		}
		if got := decodePercent(tt.wire); got != want {
			t.Errorf("decodePercent(%q) = %q, want %q", tt.wire, got, want)
		}
	}
}

func TestDecodePercentInvalid(t *testing.T) {
	tests := []struct{ wire, want string }{
		{"%", "%"},
		{"%4", "%4"},
		{"a%", "a%"},
		{"a%4", "a%4"},
		{"%41", "A"},
		{"%e2%98%ba", "\u263a"},
		{"%zz", "%zz"},
		{"%4g", "%4g"},
		{"%g4", "%g4"},
		{"%%41", "%A"},
		{"%%%", "%%%"},
		{"%4%41", "%4A"},
		{"100% sure", "100% sure"},
		{"%ff", "\xff"},
		{"\xff\n", "\xff\n"},
	}
	for _, tt := range tests {
		if got := decodePercent(tt.wire); got != tt.want {
			t.Errorf("decodePercent(%q) = %q, want %q", tt.wire, got, tt.want)
		}
		if got := decodePercent([]byte(tt.wire)); got != tt.want {
			t.Errorf("decodePercent of bytes %q = %q, want %q", tt.wire, got, tt.want)
		}
	}
}

func TestPercentAllocs(t *testing.T) {
	plain := "rpc failed: the item was not found in the inventory"
	t.Run("plain", func(t *testing.T) {
		atMostAllocs(t, 0, func() {
			if decodePercent(encodePercent(plain)) != plain {
				t.Fatal("changed")
			}
		})
	})
	t.Run("decode bytes", func(t *testing.T) {
		wire := []byte(plain)
		atMostAllocs(t, 1, func() { sinkString = decodePercent(wire) })
	})
	t.Run("escaped", func(t *testing.T) {
		wire := appendPercent(nil, specialMessage)
		buf := make([]byte, 0, 256)
		atMostAllocs(t, 2, func() {
			buf = appendPercent(buf[:0], specialMessage)
			sinkString = decodePercent(wire)
		})
	})
}

func FuzzPercent(f *testing.F) {
	for _, s := range []string{"", " ", "ok", "100%", specialMessage, "\xff\xfe", "%41%4", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wire := encodePercent(s)
		for i := range len(wire) {
			if c := wire[i]; c < 0x20 || c > 0x7e {
				t.Fatalf("%q: byte %#x at %d of %q", s, c, i, wire)
			}
		}
		if strings.Trim(wire, " ") != wire {
			t.Fatalf("%q: %q has space at an end", s, wire)
		}
		if other := string(appendPercent(nil, s)); other != wire {
			t.Fatalf("%q: appendPercent %q, encodePercent %q", s, other, wire)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s))
		}
		if got := decodePercent(wire); got != want {
			t.Fatalf("%q came back as %q", s, got)
		}
		// s as something received: any bytes, no error, and text without % untouched.
		got := decodePercent(s)
		if !strings.Contains(s, "%") && got != s {
			t.Fatalf("%q decoded to %q", s, got)
		}
		if len(got) > len(s) {
			t.Fatalf("%q grew to %q", s, got)
		}
	})
}

func BenchmarkPercent(b *testing.B) {
	for name, s := range map[string]string{"plain": "the item was not found in the inventory", "escaped": specialMessage} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 256)
			for b.Loop() {
				buf = appendPercent(buf[:0], s)
				sinkString = decodePercent(buf)
			}
		})
	}
}

var sinkString string
