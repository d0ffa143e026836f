// SPDX-License-Identifier: Apache-2.0

package side

import (
	"encoding/binary"
	"fmt"
)

// raw is a message as it is, for a codec that does nothing.
type raw []byte

type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*raw), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*raw) = append(raw(nil), data...)
	return nil
}

// headSize is the least size of a message: its call, direction and number.
const headSize = 9

// message is the i-th one of a call from the client's side or the server's.
func message(call int, from Role, i, size int) *raw {
	b := make(raw, max(size, headSize))
	binary.BigEndian.PutUint32(b, uint32(call))
	b[4] = byte(from)
	binary.BigEndian.PutUint32(b[5:], uint32(i))
	for j := headSize; j < len(b); j++ {
		b[j] = byte(call + i + j)
	}
	return &b
}

// check says what is wrong with a message.
func (m raw) check(call int, from Role, i int) error {
	if len(m) < headSize {
		return fmt.Errorf("call %d: message %d has %d bytes", call, i, len(m))
	}
	if c, f, n := binary.BigEndian.Uint32(m), m[4], binary.BigEndian.Uint32(m[5:]); int(c) != call || int(f) != from || int(n) != i {
		return fmt.Errorf("call %d: message %d of side %d came where %d of %d was due; it is call %d's", call, n, f, i, from, c)
	}
	for j := headSize; j < len(m); j++ {
		if m[j] != byte(call+i+j) {
			return fmt.Errorf("call %d: message %d is altered at byte %d of %d", call, i, j, len(m))
		}
	}
	return nil
}
