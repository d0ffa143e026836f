// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"strings"
	"testing"
)

func TestSkimmer(t *testing.T) {
	long := strings.Repeat("v", 300)
	for _, tt := range []struct {
		name   string
		fields []string // names and values
		want   bool
	}{
		{"in order", []string{":status", "200", "a", long, "content-type", "x", "b", ""}, false},
		{"none", []string{"a", long, "b", "c"}, false},
		{"only", []string{":status", "200", ":status", "404"}, false},
		{"indexed behind", []string{"a", long, ":status", "200"}, true},
		{"indexed name behind", []string{"content-type", "x", ":path", long}, true},
		{"literal behind", []string{":status", "200", "a", long, ":new", "x"}, true},
		{"behind an empty name", []string{"a", "b", "", "x", ":new", "x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, ix := range []Indexing{Incremental, WithoutIndexing, NeverIndexed} {
				var e Encoder
				e.Init(MaxEncoderTable)
				block := e.Begin([]byte{0x3f, 0xe1, 0x1f}) // a size update of more than an octet
				for i := 0; i < len(tt.fields); i += 2 {
					block = e.AppendField(block, tt.fields[i], tt.fields[i+1], ix)
				}
				for size := 1; size <= len(block); size++ {
					var s Skimmer
					got := false
					for rest := block; len(rest) > 0; rest = rest[min(size, len(rest)):] {
						got = s.Add(rest[:min(size, len(rest))])
					}
					if got != tt.want {
						t.Fatalf("in parts of %d octets: %v, want %v", size, got, tt.want)
					}
				}
			}
		})
	}
}

// TestSkimmerRaw: strings that are not in Huffman's code, what is in the dynamic table, and
// what can't be decoded.
func TestSkimmerRaw(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		want      bool
	}{
		{"plain names", "00 0161 0162 00 023a78 00", true},
		{"plain names in order", "00 023a78 00 00 0161 0162", false},
		{"of the dynamic table", "00 0161 0162 be", false},
		{"index 0", "80", false},
		{"integer without end", "00 0161 0162 ffffffffffffff 88", false},
	} {
		var s Skimmer
		if got := s.Add(unhex(t, tt.hex)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
