// SPDX-License-Identifier: Apache-2.0

package side

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"testing"
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

// headSize is the least size of a message: its call, direction, number and size.
const headSize = 13

// message is the i-th one of a call from the client's side or the server's.
func message(call int, from Role, i, size int) *raw {
	b := make(raw, max(size, headSize))
	binary.BigEndian.PutUint32(b, uint32(call))
	b[4] = byte(from)
	binary.BigEndian.PutUint32(b[5:], uint32(i))
	binary.BigEndian.PutUint32(b[9:], uint32(len(b)))
	key := keyOf(call, from, i)
	for j := headSize; j < len(b); j++ {
		b[j] = octet(key, j)
	}
	return &b
}

// keyOf is different for each message, and octet for places that are any distance from each other.
func keyOf(call int, from Role, i int) uint32 {
	return uint32(call)*2246822519 ^ uint32(from)*3266489917 ^ uint32(i)*668265263
}

func octet(key uint32, j int) byte { return byte((uint32(j)*2654435761 ^ key) >> 13) }

// check says what is wrong with a message.
func (m raw) check(call int, from Role, i int) error {
	if len(m) < headSize {
		return fmt.Errorf("call %d: message %d has %d bytes", call, i, len(m))
	}
	if c, f, n := binary.BigEndian.Uint32(m), m[4], binary.BigEndian.Uint32(m[5:]); int(c) != call || int(f) != from || int(n) != i {
		return fmt.Errorf("call %d: message %d of side %d came where %d of %d was due; it is call %d's", call, n, f, i, from, c)
	}
	if size := binary.BigEndian.Uint32(m[9:]); int(size) != len(m) {
		return fmt.Errorf("call %d: message %d has %d bytes of %d", call, i, len(m), size)
	}
	key := keyOf(call, from, i)
	for j := headSize; j < len(m); j++ {
		if m[j] != octet(key, j) {
			return fmt.Errorf("call %d: message %d is altered at byte %d of %d", call, i, j, len(m))
		}
	}
	return nil
}

// TestMessages has what is written read.
func TestMessages(t *testing.T) {
	all := []Message{
		{Op: Begin, N: Server, M: 1<<31 - 1, D: 1 << 40},
		{Op: Deliver, Conn: 3, Data: []byte("bytes")},
		{Op: Over, Call: 7, N: 14, M: 5, Data: []byte("error reading from server: EOF")},
		{Op: Quiet},
	}
	var b []byte
	for _, m := range all {
		b = m.Append(b)
	}
	r := bufio.NewReader(bytes.NewReader(b))
	for _, want := range all {
		if m, err := Read(r); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("read %v, %v; want %v", m, err, want)
		}
	}
	if m, err := Read(r); err != io.EOF {
		t.Errorf("read %v, %v behind the end", m, err)
	}
	if _, err := Read(bufio.NewReader(bytes.NewReader(b[:4]))); err != io.EOF && err != io.ErrUnexpectedEOF {
		t.Errorf("half a message: %v", err)
	}
}
