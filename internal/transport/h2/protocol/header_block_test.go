// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// A block is as long as HPACK coded it, whatever its frames are, and also if it is that of an earlier block.
func TestCodedLen(t *testing.T) {
	const headers = frame.FlagEndHeaders
	first := "\x82\x40\x01a\x03abc" // :method, and a field that goes into the table
	again := "\x82\xbe"
	long := "\x00\x01b\x7f\x81\x7f" + strings.Repeat("x", 16384) // a value over several buffers
	c := started(t, Server)
	var in Intake
	in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
	for _, tc := range []struct {
		name  string
		flags frame.Flags
		parts []string
		want  int
	}{
		{"first", headers, []string{first}, 8},
		{"by the table", headers, []string{again}, 2},
		{"with a memo", headers, []string{again}, 2},
		{"padded", headers | frame.FlagPadded, []string{"\x05" + again + "\x00\x00\x00\x00\x00"}, 2},
		{"with a priority", headers | frame.FlagPriority, []string{"\x00\x00\x00\x00\x07" + again}, 2},
		{"in three frames", 0, []string{again[:1], "", again[1:]}, 2},
		{"in three frames, other than the last", 0, []string{first[:2], first[2:5], first[5:]}, 8},
		{"in several buffers", 0, []string{long[:9000], long[9000:15000], long[15000:]}, len(long)},
		{"after it", headers, []string{"\x82"}, 1},
		{"empty", headers, []string{""}, 0},
	} {
		for i, p := range tc.parts {
			h := frame.Header{Type: frame.Headers, Flags: tc.flags, StreamID: 1, Length: uint32(len(p))}
			take := in.OnHeaders
			if i > 0 {
				h.Type, take = frame.Continuation, in.OnContinuation
			}
			last := i == len(tc.parts)-1
			if last {
				h.Flags |= headers
			}
			if _, whole, err := take(h, []byte(p), c.Config()); whole != last || err != nil {
				t.Fatalf("%s: whole: %v, %v", tc.name, whole, err)
			}
			if last && i > 0 {
				in.EndBlock(c.Config())
			}
		}
		if got := in.Block().CodedLen(); got != uint32(tc.want) {
			t.Errorf("%s: %d octets, want %d", tc.name, got, tc.want)
		}
		in.Block().SetMemo(tc.name, new(Shared))
	}
}
