// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/hex"
	"testing"
)

// Examples are from RFC 7541, appendix C, and RFC 9113.
func TestBytes(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"integer in its prefix (C.1.1)", AppendInt(nil, 0, 5, 10), "0a"},
		{"integer behind its prefix (C.1.2)", AppendInt(nil, 0, 5, 1337), "1f9a0a"},
		{"integer of a whole byte (C.1.3)", AppendInt(nil, 0, 8, 42), "2a"},
		{"integer at the limit", AppendInt(nil, 0x80, 7, 127), "ff00"},
		{"field that enters the table (C.2.1)", AppendNew(nil, "custom-key", "custom-header"), "400a637573746f6d2d6b65790d637573746f6d2d686561646572"},
		{"field that does not", AppendField(nil, "a", "b"), "0001610162"},
		{"reference (C.2.4)", AppendRef(nil, 2), "82"},
		{"newest entry", AppendRef(nil, FirstDynamic), "be"},
		{"table of no size", AppendTableSize(nil, 0), "20"},
		{"zeros, coded", AppendHuffman(nil, 8), "850000000000"},
		{"frame", AppendFrame(nil, Frame{Type: Ping, Flags: Ack, Stream: 0, Payload: make([]byte, 8)}), "0000080601000000000000000000000000"},
		{"header that lies", AppendHeader(nil, 1<<24-1, Frame{Type: Data, Stream: 1}), "ffffff000000000001"},
		{"settings", AppendSettings(nil, Setting{ID: MaxFrameSize, Value: 1 << 14}), "000500004000"},
		{"message", AppendMessage(nil, 1, []byte{7}), "010000000107"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := hex.EncodeToString(test.got); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
