// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

func TestHuffmanCodeWords(t *testing.T) {
	for c := range 256 {
		for n := 1; n <= 9; n++ {
			s := strings.Repeat(string([]byte{byte(c)}), n)
			got := appendHuff(nil, s)
			if want := oracle.AppendHuffmanString(nil, s); !bytes.Equal(got, want) {
				t.Fatalf("appendHuff(%q) = %x, want %x", s, got, want)
			}
			if huffLen(s) != len(got) {
				t.Fatalf("huffLen(%q) = %d, want %d", s, huffLen(s), len(got))
			}
			back, err := appendUnhuff(nil, got)
			if err != nil || string(back) != s {
				t.Fatalf("appendUnhuff(%x) = %q, %v; want %q", got, back, err, s)
			}
		}
	}
}

// TestHuffmanRefusals: section 5.2 of RFC 7541.
func TestHuffmanRefusals(t *testing.T) {
	for _, tc := range []struct {
		name string
		src  string
		want error
	}{
		{"nothing", "", nil},
		{"3 bits of padding", "\x1f", nil}, // 'a' is 00011
		{"8 bits of padding", "\x1f\xff", errHuffmanPadding},
		{"only padding", "\xff", errHuffmanPadding},
		{"padding with zeros", "\x18", errHuffmanPadding},
		{"EOS", "\xff\xff\xff\xff", errHuffmanEOS},
		{"EOS after a", "\x1f\xff\xff\xff\xff", errHuffmanEOS},
		{"most of EOS", "\xff\xff\xff", errHuffmanPadding},
		{"truncated long word", "\xff\xff\xf8", errHuffmanPadding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := appendUnhuff(nil, []byte(tc.src))
			wantReason(t, err, tc.want)
			_, err = unhuffLen([]byte(tc.src))
			wantReason(t, err, tc.want)
		})
	}
}

func FuzzHuffman(f *testing.F) {
	for _, s := range []string{
		"", "www.example.com", "no-cache", "a", "\x00\xff\xf9", "application/grpc", strings.Repeat("\x16", 9),
		"foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
	} {
		f.Add([]byte(s))
		f.Add(oracle.AppendHuffmanString(nil, s))
	}
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, s []byte) {
		coded := appendHuff([]byte("x"), string(s))
		if want := oracle.AppendHuffmanString([]byte("x"), string(s)); !bytes.Equal(coded, want) {
			t.Fatalf("appendHuff(%q) = %x, want %x", s, coded, want)
		}
		back, err := appendUnhuff([]byte("y"), coded[1:])
		if err != nil || string(back) != "y"+string(s) {
			t.Fatalf("appendUnhuff(%x) = %q, %v", coded[1:], back, err)
		}

		want, wantErr := oracle.HuffmanDecodeToString(s)
		got, err := appendUnhuff(nil, s)
		n, lenErr := unhuffLen(s)
		if (err != nil) != (wantErr != nil) || err != lenErr {
			t.Fatalf("decoding %x: %v and %v, oracle %v", s, err, lenErr, wantErr)
		}
		if err == nil && (string(got) != want || n != len(got)) {
			t.Fatalf("decoding %x: %q (%d), oracle %q", s, got, n, want)
		}
	})
}
