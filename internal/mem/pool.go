// SPDX-License-Identifier: Apache-2.0

package mem

// Pool is what public package mem calls a BufferPool.
type Pool interface {
	Get(length int) *[]byte
	Put(*[]byte)
}

// Forgetter is a Pool that can leave a buffer to its borrower, in place of Put.
type Forgetter interface {
	Forget(b *[]byte)
}

// ExactGetter is a Forgetter that can lend a buffer of about the size that is asked for: see
// Tiered.GetExact.
type ExactGetter interface {
	GetExact(length int) *[]byte
}
