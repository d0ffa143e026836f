// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

type message = wrapperspb.BytesValue

// payload is random bytes behind their checksum. Most are small.
func payload() *message {
	n := rand.N(200)
	switch rand.N(40) {
	case 0:
		n = rand.N(256 << 10)
	case 1, 2, 3:
		n = rand.N(64 << 10)
	case 4, 5, 6, 7, 8, 9:
		n = rand.N(4 << 10)
	}
	return filled(n)
}

// small is payload without the large ones.
func small() *message { return filled(rand.N(200)) }

func filled(n int) *message {
	b := make([]byte, 4+n)
	seed := rand.Uint64()
	for i := 4; i < len(b); i++ { // fast, and half of it shrinks
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		b[i] = byte(seed) & 0xf3
	}
	binary.BigEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return &message{Value: b}
}

var errCorrupt = errors.New("a message arrived that is not the one that was sent")

// check checks the checksum.
func check(m *message) error {
	b := m.GetValue()
	if len(b) < 4 || binary.BigEndian.Uint32(b) != crc32.ChecksumIEEE(b[4:]) {
		return errCorrupt
	}
	return nil
}
