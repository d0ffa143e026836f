// SPDX-License-Identifier: Apache-2.0

// Package xxh64 computes the hash XXH64 with seed 0, as xxHash's specification (version
// 0.2.0) has it. All languages' ring_hash uses it, so that their rings are the same.
package xxh64

import (
	"encoding/binary"
	"math/bits"
)

// The primes of the specification. They are variables because their sums and products
// are to wrap around.
var prime = [...]uint64{
	1: 0x9E3779B185EBCA87,
	2: 0xC2B2AE3D27D4EB4F,
	3: 0x165667B19E3779F9,
	4: 0x85EBCA77C2B2AE63,
	5: 0x27D4EB2F165667C5,
}

const (
	laneSize   = 8
	stripeSize = 4 * laneSize
)

// Sum returns the hash of b.
func Sum(b []byte) uint64 {
	size := uint64(len(b))
	h := prime[5]
	if len(b) >= stripeSize {
		h, b = stripes(b)
	}
	h += size
	for ; len(b) >= laneSize; b = b[laneSize:] {
		h = bits.RotateLeft64(h^round(0, binary.LittleEndian.Uint64(b)), 27)*prime[1] + prime[4]
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*prime[1], 23)*prime[2] + prime[3]
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime[5], 11) * prime[1]
	}
	return avalanche(h)
}

// stripes takes all whole stripes of b, of which there is one at least, and returns what
// is left.
func stripes(b []byte) (h uint64, rest []byte) {
	lanes := [4]uint64{prime[1] + prime[2], prime[2], 0, -prime[1]}
	for ; len(b) >= stripeSize; b = b[stripeSize:] {
		for i := range lanes {
			lanes[i] = round(lanes[i], binary.LittleEndian.Uint64(b[i*laneSize:]))
		}
	}
	for i, turn := range [4]int{1, 7, 12, 18} {
		h += bits.RotateLeft64(lanes[i], turn)
	}
	for _, lane := range lanes {
		h = (h^round(0, lane))*prime[1] + prime[4]
	}
	return h, b
}

func round(acc, lane uint64) uint64 {
	return bits.RotateLeft64(acc+lane*prime[2], 31) * prime[1]
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime[2]
	h = (h ^ h>>29) * prime[3]
	return h ^ h>>32
}
