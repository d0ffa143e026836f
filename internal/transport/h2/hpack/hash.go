// SPDX-License-Identifier: Apache-2.0

package hpack

import "hash/maphash"

var hashSeed = maphash.MakeSeed()

// pairHash returns 16 bits of each string's hash, those of the name on top. It only saves comparisons:
// equal fields have equal hashes, but equal hashes mean nothing.
func pairHash(name, value string) uint32 {
	return uint32(maphash.String(hashSeed, name))<<16 | uint32(uint16(maphash.String(hashSeed, value)))
}
