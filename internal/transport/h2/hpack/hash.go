// SPDX-License-Identifier: Apache-2.0

package hpack

import "hash/maphash"

var hashSeed = maphash.MakeSeed()

// pairHash has 16 bits of each string's hash, the name's on top. It only saves
// comparisons: equal fields have equal hashes, nothing more.
func pairHash(name, value string) uint32 {
	return uint32(maphash.String(hashSeed, name))<<16 | uint32(uint16(maphash.String(hashSeed, value)))
}
