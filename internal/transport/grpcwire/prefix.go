// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/binary"
	"math"
)

const (
	// PrefixLen is the size of the prefix of every message: the Compressed-Flag and the Message-Length.
	PrefixLen = 5

	// MaxMessageLen is the longest message that a Message-Length can announce.
	MaxMessageLen = math.MaxUint32
)

// Prefix returns the bytes to send before a message of n bytes, where n is its size on the wire, after
// compression.
func Prefix(compressed bool, n uint32) [PrefixLen]byte {
	var p [PrefixLen]byte
	if compressed {
		p[0] = 1
	}
	binary.BigEndian.PutUint32(p[1:], n)
	return p
}
